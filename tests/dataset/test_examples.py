"""Examples start without labels, and absent is not zero."""

from rmtrain.dataset.examples import Example, Pair


def test_what_nobody_said_is_absent():
    example = Example("t", "k", "Task: x\n", ("a\n",))
    assert example.trajectory_labels == example.step_labels == example.truth == example.step_truth == {}
    assert example.task_family is None
    assert example.policy is None
    other = Example("u", "k", "Task: x\n", ("a\n",))
    assert example.trajectory_labels is not other.trajectory_labels


def test_a_comparison_weighs_one():
    assert Pair("consistency", "t", "u", 0.5).pair_weight == 1.0
