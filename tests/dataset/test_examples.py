"""Examples start without labels, and absent is not zero."""

import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, hard_class, unit_labels


def test_what_nobody_said_is_absent():
    example = Example("t", "k", "Task: x\n", ("a\n",))
    assert example.trajectory_labels == example.step_labels == example.truth == example.step_truth == {}
    assert example.task_family is None
    assert example.policy is None
    other = Example("u", "k", "Task: x\n", ("a\n",))
    assert example.trajectory_labels is not other.trajectory_labels


def test_a_comparison_weighs_one():
    assert Pair("consistency", "t", "u", 0.5).pair_weight == 1.0


def test_units_are_trajectories_or_steps_and_absent_stays_absent():
    whole, by_step = HeadSettings(), HeadSettings(level="step", objective="ordinal")
    one = Example("t", "k", "p", ("a", "b"), {"c": 0.0}, {"q": ((1.0, 0.0, 0.0), None)})
    assert unit_labels("c", whole, one) == (0.0,)
    assert unit_labels("q", by_step, one) == ((1.0, 0.0, 0.0), None)
    bare = Example("t", "k", "p", ("a", "b"))
    assert unit_labels("c", whole, bare) == (None,)
    assert unit_labels("q", by_step, bare) == (None, None)


@pytest.mark.parametrize(
    ("label", "found"),
    [((0.2, 0.7, 0.1), 1), ((0.5, 0.0, 0.5), None), ((0.0, 0.0, 1.0), 2), (0.3, None), (None, None)],
)
def test_the_class_that_a_label_favours(label, found):
    assert hard_class(label) == found
