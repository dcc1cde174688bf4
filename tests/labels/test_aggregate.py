"""Labels worked by hand from a few answers, and what must not matter."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.labels.aggregate import aggregate, ranking_pairs
from rmtrain.labels.schema import Comparison, Ranking, StepLabel


def step(annotator, value, trajectory_id="t", step_index=0):
    return StepLabel(
        annotation_id=f"{annotator}{value}",
        annotator=annotator,
        dimension="step_quality",
        trajectory_id=trajectory_id,
        step_index=step_index,
        value=value,
    )


def compare(annotator, choice, confidence=None, a="t", b="u"):
    return Comparison(
        annotation_id=annotator,
        annotator=annotator,
        dimension="consistency",
        task_id="k",
        trajectory_a=a,
        trajectory_b=b,
        choice=choice,
        confidence=confidence,
    )


def rank(annotator, *order):
    return Ranking(
        annotation_id=annotator,
        annotator=annotator,
        dimension="consistency",
        task_id="k",
        order=tuple(tuple(level) for level in order),
    )


def pairs(labels):
    return {(p.trajectory_a, p.trajectory_b): (p.target, p.pair_weight, p.n_annotators) for p in labels.pairs}


def test_a_later_null_withdraws_an_answer() -> None:
    def said(value: int | None, who: str = "p") -> StepLabel:
        return StepLabel(
            annotation_id=who, annotator=who, dimension="step_quality", trajectory_id="t", step_index=0, value=value
        )

    assert aggregate([said(2), said(None)]).steps == {}
    assert aggregate([said(2), said(None), said(0, "q")]).steps["step_quality"] == {("t", 0): (1.0, 0.0, 0.0)}


def test_votes_become_their_shares():
    labels = aggregate([step("ann", 2), step("bob", 1), step("cyd", 2), step("ann", 0, step_index=1)])
    # three votes: 1 for class 1, 2 for class 2
    assert labels.steps == {"step_quality": {("t", 0): (0.0, 1 / 3, 2 / 3), ("t", 1): (1.0, 0.0, 0.0)}}
    assert labels.n_annotations == 4
    assert labels.pairs == []


def test_a_persons_later_answer_replaces_the_earlier():
    labels = aggregate([step("ann", 0), step("bob", 2), step("ann", 2)])
    assert labels.steps["step_quality"]["t", 0] == (0.0, 0.0, 1.0)
    # without the replacement it would be (1 + 0 + 0) / 3
    labels = aggregate([compare("ann", "A", "clear"), compare("bob", "B", "clear"), compare("ann", "B", "clear")])
    assert pairs(labels) == {("t", "u"): (0.0, 1.0, 2)}


@pytest.mark.parametrize(
    ("choice", "confidence", "target"),
    [
        ("A", "clear", 1.0),  # 0.5 + 0.5 * 1
        ("A", "slight", 0.75),  # 0.5 + 0.5 * 0.5
        ("tie", None, 0.5),
        ("tie", "clear", 0.5),  # a tie has no side to be confident of
        ("B", "slight", 0.25),
        ("B", "clear", 0.0),
        ("A", None, 1.0),
        ("B", None, 0.0),
    ],
)
def test_a_choice_becomes_a_target(choice, confidence, target):
    assert pairs(aggregate([compare("ann", choice, confidence)])) == {("t", "u"): (target, 1.0, 1)}
    swapped = aggregate([compare("ann", choice, confidence, a="u", b="t")])
    assert pairs(swapped) == {("t", "u"): (1 - target, 1.0, 1)}


def test_people_are_averaged_whichever_side_they_saw_first():
    labels = aggregate(
        [compare("ann", "A", "clear"), compare("bob", "A", "slight", a="u", b="t"), compare("cyd", "tie")]
    )
    # for t: 1, 1/4, 1/2
    assert pairs(labels) == {("t", "u"): (pytest.approx(7 / 12), 1.0, 3)}


def test_cannot_judge_by_one_is_a_dispute_and_by_all_drops_the_pair_both_counted():
    labels = aggregate(
        [
            compare("ann", "cannot_judge"),
            compare("bob", "B", "clear"),
            compare("ann", "cannot_judge", a="t", b="v"),
            compare("bob", "cannot_judge", "clear", a="v", b="t"),
        ]
    )
    assert pairs(labels) == {}
    assert labels.dropped == {
        "not everybody could judge the pair: a dispute that nobody arbitrated": 1,
        "nobody could judge the pair": 1,
    }
    assert labels.n_annotations == 4


def test_a_ranking_becomes_its_pairs():
    # t before u and v, which are tied: 3 pairs of weight 1/2
    assert ranking_pairs(rank("ann", ["t"], ["u", "v"])) == [
        ("t", "u", 1.0, 0.5),
        ("t", "v", 1.0, 0.5),
        ("u", "v", 0.5, 0.5),
    ]
    labels = aggregate([rank("ann", ["t"], ["u", "v"]), rank("bob", ["v"], ["u"], ["t"])])
    assert pairs(labels) == {("t", "u"): (0.5, 0.5, 2), ("t", "v"): (0.5, 0.5, 2), ("u", "v"): (0.25, 0.5, 2)}


@settings(deadline=None)
@given(st.permutations([f"t{i}" for i in range(6)]), st.integers(2, 6))
def test_a_ranking_of_k_has_all_pairs_and_weighs_k_halves(names, k):
    found = ranking_pairs(rank("ann", *([name] for name in names[:k])))
    assert {frozenset(pair[:2]) for pair in found} == {frozenset(pair) for pair in combinations(names[:k], 2)}
    assert len(found) == k * (k - 1) // 2
    assert sum(share for *_, share in found) == pytest.approx(k / 2)
    assert all(target == float(names.index(a) < names.index(b)) for a, b, target, _ in found)


def test_a_ranking_of_one_or_none_says_nothing():
    assert ranking_pairs(rank("ann", ["t"])) == []
    assert ranking_pairs(rank("ann")) == []


ANSWERS = st.one_of(
    st.builds(step, st.sampled_from("abc"), st.integers(0, 2), st.sampled_from("tu"), st.integers(0, 1)),
    st.builds(
        compare,
        st.sampled_from("abc"),
        st.sampled_from(["A", "B", "tie", "cannot_judge"]),
        st.sampled_from([None, "clear", "slight"]),
        st.sampled_from("tu"),
        st.sampled_from("vw"),
    ),
    st.builds(rank, st.sampled_from("abc"), st.just("t"), st.just("vw")),
)


def question(answer):
    if isinstance(answer, StepLabel):
        return answer.annotator, answer.trajectory_id, answer.step_index
    if isinstance(answer, Comparison):
        return answer.annotator, answer.trajectory_a, answer.trajectory_b
    return answer.annotator, "ranking"


@settings(deadline=None)
@given(st.lists(ANSWERS, unique_by=question, max_size=12).flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_the_order_of_annotators_does_not_matter(orders):
    one, other = (aggregate(answers) for answers in orders)
    assert one.dropped == other.dropped
    assert one.steps.keys() == other.steps.keys()
    for dimension, found in one.steps.items():
        assert found.keys() == other.steps[dimension].keys()
        for subject, distribution in found.items():
            assert distribution == pytest.approx(other.steps[dimension][subject])
            assert sum(distribution) == pytest.approx(1)
    key = lambda pair: (pair.trajectory_a, pair.trajectory_b, pair.pair_weight)  # noqa: E731
    for mine, theirs in zip(sorted(one.pairs, key=key), sorted(other.pairs, key=key), strict=True):
        assert key(mine) == key(theirs)
        assert mine.target == pytest.approx(theirs.target)
        assert mine.n_annotators == theirs.n_annotators
        assert mine.trajectory_a < mine.trajectory_b
