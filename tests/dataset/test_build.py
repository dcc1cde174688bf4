"""What becomes of each verdict, vote and comparison; what has no label stays None and what is unused is counted."""

import pytest

from rmtrain.config.dataset import SplitSettings
from rmtrain.config.model import HeadSettings
from rmtrain.dataset.build import build, collect_verdicts
from rmtrain.errors import ConfigError, DataError
from rmtrain.labels.aggregate import Labels, PairLabel
from rmtrain.trajectories.render import RenderOptions, render
from rmtrain.world.truth import Truth

ALL_TRAIN = SplitSettings(train=1.0, validation=0.0, calibration=0.0, test=0.0)


def pair(one, other, target=1.0, share=1.0, dimension="consistency"):
    a, b = sorted((one.trajectory_id, other.trajectory_id))
    return PairLabel(dimension, one.task.task_id, a, b, target, share, 2)


def made(trajectories, heads, verdicts=(), labels=None, truths=None, splits=ALL_TRAIN, options=None):
    return build(trajectories, verdicts, labels or Labels(), truths or {}, heads, splits, options or RenderOptions())


def test_each_head_gets_the_labels_of_its_name(episode, verdict, heads):
    one, two = episode(trial=0), episode(trial=1)
    labels = Labels(steps={"step_quality": {(one.trajectory_id, 1): (0.0, 0.5, 0.5)}}, pairs=[pair(one, two, 0.75)])
    built = made([one, two], heads, [verdict(one, 0.0), verdict(two), verdict(two, 1.0, dimension=None)], labels)
    first, second = built.splits["train"].examples
    assert first.trajectory_labels == {"correctness": 0.0}  # zero, and said so
    assert second.trajectory_labels == {"correctness": None}  # abstained
    assert first.step_labels == {"step_quality": (None, (0.0, 0.5, 0.5))}
    assert second.step_labels == {"step_quality": (None, None)}
    (found,) = built.splits["train"].pairs
    assert (found.head, found.target, found.pair_weight) == ("consistency", 0.75, 1.0)
    assert {found.trajectory_a, found.trajectory_b} == {one.trajectory_id, two.trajectory_id}
    assert not built.dropped


def test_the_text_is_what_the_model_will_read(episode, heads):
    one = episode(n_steps=3)
    for options in (RenderOptions(), RenderOptions(markers=True)):
        (example,) = made([one], heads, options=options).splits["train"].examples
        rendered = render(one, options)
        assert (example.prefix, example.blocks) == (rendered.prefix, rendered.blocks)
    assert (example.task_id, example.task_family, example.policy) == ("k", "f", "expert")


@pytest.mark.parametrize(
    ("value", "distribution"),
    [
        (0.0, (1.0, 0.0, 0.0)),
        (0.5, (0.0, 1.0, 0.0)),
        (0.75, (0.0, 0.5, 0.5)),  # position 1.5 of 0..2
        (1.0, (0.0, 0.0, 1.0)),
    ],
)
def test_a_rules_value_becomes_a_distribution_for_an_ordinal_head(value, distribution, episode, verdict, heads):
    one = episode(n_steps=2)
    said = [verdict(one, value, "step_quality", 0)]
    (example,) = made([one], heads, said).splits["train"].examples
    assert example.step_labels["step_quality"] == (pytest.approx(distribution), None)


def test_people_go_before_rules_on_a_step(episode, verdict, heads):
    one = episode(n_steps=2)
    said = [verdict(one, 0.0, "step_quality", i) for i in range(2)]
    labels = Labels(steps={"step_quality": {(one.trajectory_id, 0): (0.0, 0.0, 1.0)}})
    (example,) = made([one], heads, said, labels).splits["train"].examples
    assert example.step_labels["step_quality"] == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def test_votes_become_a_value_for_a_bce_head(episode):
    one = episode(n_steps=1)
    labels = Labels(steps={"safety": {(one.trajectory_id, 0): (0.25, 0.25, 0.5)}})
    (example,) = made([one], {"safety": HeadSettings(level="step")}, labels=labels).splits["train"].examples
    assert example.step_labels == {"safety": (0.625,)}  # (0 * 1/4 + 1 * 1/4 + 2 * 1/2) / 2


def test_true_values_stand_apart_from_labels(episode, heads):
    one = episode(n_steps=2)
    truth = Truth(
        trajectory_id=one.trajectory_id,
        correctness=0.5,
        tool_efficiency=None,
        consistency=-1.0,
        step_quality=(2, 0),
        faults=(None, "fabricates"),
    )
    (example,) = made([one], heads, truths={one.trajectory_id: truth}).splits["train"].examples
    assert example.truth == {"correctness": 0.5, "consistency": -1.0}  # no value is no entry
    assert example.step_truth == {"step_quality": (2.0, 0.0)}
    assert example.trajectory_labels == {"correctness": None}


def test_a_task_is_in_one_split_and_its_pairs_with_it(episode, heads):
    episodes = [episode(f"k{i}", trial) for i in range(40) for trial in range(2)]
    labels = Labels(pairs=[pair(episodes[i], episodes[i + 1]) for i in range(0, 80, 2)])
    built = made(episodes, heads, labels=labels, splits=SplitSettings())
    tasks = {name: {e.task_id for e in data.examples} for name, data in built.splits.items()}
    assert sum(map(len, tasks.values())) == 40
    assert len(set().union(*tasks.values())) == 40
    for data in built.splits.values():
        here = {example.trajectory_id for example in data.examples}
        assert all({p.trajectory_a, p.trajectory_b} <= here for p in data.pairs)
        assert len(data.pairs) == len(data.examples) / 2


def test_a_declared_split_goes_before_the_shares(episode, heads):
    built = made([episode(split="test"), episode(trial=1, split="test")], heads)
    assert len(built.splits["test"].examples) == 2
    assert set(built.splits) == {"train", "validation", "calibration", "test"}


def test_a_task_on_two_sides_is_refused(episode, heads):
    with pytest.raises(DataError, match="task 'k' is in test and train"):
        made([episode(split="test"), episode(trial=1)], heads)


def test_a_pair_across_tasks_is_refused(episode, heads):
    one, two = episode("k"), episode("l")
    with pytest.raises(DataError, match=r"joins trajectories of two tasks, '(k' and 'l|l' and 'k)'"):
        made([one, two], heads, labels=Labels(pairs=[pair(one, two)]))


def test_what_could_not_be_used_is_counted_once(episode, verdict, heads):
    one, two, empty = episode(), episode(trial=1), episode(trial=2, n_steps=0)
    labels = Labels(
        steps={
            "step_quality": {
                ("stranger", 0): (1.0, 0.0, 0.0),
                (one.trajectory_id, 2): (1.0, 0.0, 0.0),  # it has steps 0 and 1
                (one.trajectory_id, 0): (1.0, 0.0, 0.0),
            },
            "charm": {("stranger", 0): (1.0, 0.0, 0.0)},
            "correctness": {(one.trajectory_id, 0): (1.0, 0.0, 0.0)},
        },
        pairs=[pair(one, episode(trial=9)), pair(one, two, dimension="charm"), pair(one, two, dimension="correctness")],
    )
    verdicts = [verdict(episode(trial=8), 1.0), verdict(empty, 1.0)]
    built = made([one, two, empty], heads, verdicts, labels)
    assert dict(built.dropped) == {
        "trajectory without a step": 1,
        "rule labels of a trajectory that no verdict speaks of": 2,
        "verdicts on a trajectory that is not here": 1,  # the empty one is here
        "step labels on a trajectory that is not here": 1,
        "step labels past the last step of their trajectory": 1,
        "step labels on 'charm', which no step head learns": 1,
        "step labels on 'correctness', which no step head learns": 1,
        "pairs with a trajectory that is not here": 1,
        "pairs on 'charm', which no bradley_terry head learns": 1,
        "pairs on 'correctness', which no bradley_terry head learns": 1,
    }
    assert len(built.splits["train"].examples) == 2
    assert built.splits["train"].pairs == []


def test_the_last_verdict_of_a_dimension_counts(episode, verdict):
    one = episode()
    found = collect_verdicts([verdict(one, 0.0), verdict(one, 0.0, dimension=None), verdict(one, 1.0)])
    assert found == {one.trajectory_id: {"correctness": {None: 1.0}}}


@pytest.mark.parametrize(("shares", "total"), [((0.6, 0.1, 0.1, 0.1), "0.9"), ((1.2, -0.2, 0.0, 0.0), "1")])
def test_shares_have_to_sum_to_one(shares, total, episode, heads):
    with pytest.raises(ConfigError, match=rf"sum to {total}\. None may be negative, and they must sum to 1"):
        made([episode()], heads, splits=SplitSettings(*shares))


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_build_from_is_refused(n, episode, heads):
    with pytest.raises(DataError, match=r"there is no trajectory to build a dataset from.*job=ingest or job=simulate"):
        made([episode(n_steps=0)] * n, heads)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_head_of_other_classes_than_people_were_asked_for_is_refused(classes, episode, heads):
    one = episode()
    labels = Labels(steps={"step_quality": {(one.trajectory_id, 1): (0.0, 0.5, 0.5)}})
    heads["step_quality"] = HeadSettings(level="step", objective="ordinal", classes=classes)
    match = (
        rf"heads\.step_quality\.classes is {classes}, but people's labels on it have 3 classes \(the first: step 1 of "
    )
    with pytest.raises(ConfigError, match=rf"{match}'{one.trajectory_id}'\)\. Set heads\.step_quality\.classes=3"):
        made([one], heads, labels=labels)


def test_rules_alone_may_label_any_number_of_classes(episode, verdict):
    one = episode(n_steps=1)
    head = HeadSettings(level="step", objective="ordinal", classes=5)
    (example,) = made([one], {"step_quality": head}, [verdict(one, 0.5, "step_quality", 0)]).splits["train"].examples
    assert example.step_labels["step_quality"] == ((0.0, 0.0, 1.0, 0.0, 0.0),)
