"""Simple models: constants that order nothing, and words with a line that separate what words can separate."""

import numpy as np
import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair
from rmtrain.model.evaluation.baselines import expected, majority, step_logistic, tfidf
from rmtrain.model.evaluation.figures import choose_cuts, figures

HEADS = {
    "correctness": HeadSettings(),
    "step_quality": HeadSettings(level="step", objective="ordinal"),
    "consistency": HeadSettings(objective="bradley_terry"),
}
WORDS = ("dreadful", "passable", "splendid")


def example(name, qualities, correct=None, said=True):
    return Example(
        trajectory_id=name,
        task_id="k",
        prefix="Task: judge\n",
        blocks=tuple(f"{WORDS[q]} work on part {i}\n" for i, q in enumerate(qualities)),
        trajectory_labels={"correctness": correct if said else None},
        step_labels={
            "step_quality": tuple(tuple(float(k == q) for k in range(3)) if said else None for q in qualities)
        },
    )


def easy(prefix, n=30):
    """Every other trajectory is all good, the others all bad; the words say which."""
    examples = [example(f"{prefix}{i}", [2, 2, 1] if i % 2 else [0, 0, 1], float(i % 2)) for i in range(n)]
    pairs = [
        Pair("consistency", examples[i].trajectory_id, examples[i + 1].trajectory_id, 0.0) for i in range(0, n - 1, 2)
    ]
    return examples, pairs


@pytest.mark.parametrize(
    ("label", "value"),
    [(None, None), (0.0, 0.0), (0.3, 0.3), ((0.5, 0.5), 0.5), ((0.25, 0.25, 0.5), 0.625), ((0.0, 0.0, 1.0), 1.0)],
)
def test_a_label_as_one_number(label, value):
    assert expected(label) == value


def test_majority_is_the_commonest_label():
    train = [example("a", [2, 2], 1.0), example("b", [0], 0.5), example("c", [2], 0.5), example("d", [1], said=False)]
    values = majority(HEADS, train, [example("t", [0, 0, 0]), example("u", [1])])
    assert [row.tolist() for row in values["correctness"]] == [[0.5]] * 2
    assert [row.tolist() for row in values["step_quality"]] == [[1.0] * 3, [1.0]]
    assert [row.tolist() for row in values["consistency"]] == [[0.0]] * 2


def test_a_head_without_labels_has_no_majority():
    assert "correctness" not in majority(HEADS, [example("a", [1], said=False)], [example("t", [0])])


def test_majority_orders_nothing():
    examples, pairs = easy("t")
    values = majority(HEADS, examples, examples)
    found = figures(HEADS, values, examples, pairs, choose_cuts(HEADS, values, examples))
    assert found["step_quality"].value == 0.0
    assert found["consistency"].value == 0.5
    assert found["correctness"].value <= 0.0


def test_words_separate_what_words_tell_apart():
    (train, train_pairs), (held, held_pairs), (test, test_pairs) = easy("a"), easy("b", 10), easy("c", 10)
    values = tfidf(HEADS, train, train_pairs, held, held_pairs, test)
    found = figures(HEADS, values, test, test_pairs, {"step_quality": (0.25, 0.75)})
    assert found["correctness"].value > 0.9
    assert found["step_quality"].value > 0.9
    assert found["consistency"].value == 1.0
    assert all(0 <= value <= 1 for name in ("correctness", "step_quality") for row in values[name] for value in row)
    assert [len(row) for row in values["step_quality"]] == [3] * 10
    assert [len(row) for row in values["consistency"]] == [1] * 10


def test_without_validation_it_gives_values_and_without_labels_none():
    train, _ = easy("a")
    train = [*train, example("none", [1], said=False)]
    values = tfidf(HEADS, train, [], [], [], train[:4])
    assert np.corrcoef(np.concatenate(values["correctness"]), [0, 1, 0, 1])[0, 1] > 0.9
    assert "consistency" not in values  # no pairs
    unsaid = [example(f"u{i}", [i % 3], said=False) for i in range(4)]
    assert tfidf(HEADS, unsaid, [], [], [], unsaid) == {}


def test_the_test_split_is_not_learned_from():
    (train, pairs), (test, _) = easy("a"), easy("c", 6)
    flipped = [
        Example(**{**vars(one), "trajectory_labels": {"correctness": 1 - one.trajectory_labels["correctness"]}})
        for one in test
    ]
    one, other = (tfidf(HEADS, train, pairs, [], [], each) for each in (test, flipped))
    assert [row.tolist() for row in one["correctness"]] == [row.tolist() for row in other["correctness"]]


def test_ties_teach_no_order_and_weights_count():
    train, pairs = easy("a", 8)
    ties = [Pair("consistency", p.trajectory_a, p.trajectory_b, 0.5) for p in pairs]
    assert "consistency" not in tfidf(HEADS, train, ties, [], [], train)
    against = [Pair("consistency", p.trajectory_a, p.trajectory_b, 1.0, 0.01) for p in pairs]
    scores = np.concatenate(tfidf(HEADS, train, [*pairs, *against], [], [], train)["consistency"])
    assert scores[1] > scores[0]  # the light pairs that say the opposite are outweighed


STEPS = HEADS["step_quality"]


def test_a_logistic_model_gives_probabilities_that_words_decide():
    train, test = easy("a")[0], easy("b", 4)[0]
    found = step_logistic("step_quality", STEPS, train, test, 10.0)
    assert [part.shape for part in found] == [(3, 3)] * 4
    assert np.allclose(np.concatenate(found).sum(axis=1), 1)
    assert [part.argmax(axis=1).tolist() for part in found] == [[0, 0, 1], [2, 2, 1]] * 2


def test_a_logistic_model_of_one_class_is_sure_of_it():
    found = step_logistic("step_quality", STEPS, [example("a", [2, 2])], [example("b", [0])], 1.0)
    assert found[0].tolist() == [[0.0, 0.0, 1.0]]


def test_without_a_common_word_the_counts_are_all_there_is():
    own = [
        Example(f"t{i}", "k", "", (f"one{i}", f"two{i}"), {}, {"step_quality": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))})
        for i in range(20)
    ]
    found = step_logistic("step_quality", STEPS, own, own[:1], 10.0)
    assert found[0].argmax(axis=1).tolist() == [0, 2]


def test_labels_that_favour_no_class_teach_a_logistic_model_nothing():
    split = Example("s", "k", "", ("splendid work",), {}, {"step_quality": ((0.5, 0.0, 0.5),)})
    train, test = easy("a")[0], easy("b", 4)[0]
    one, two = (step_logistic("step_quality", STEPS, rows, test, 1.0) for rows in (train, [*train, split]))
    assert np.allclose(np.concatenate(one), np.concatenate(two), atol=0.05)
