"""What the model learns from, in memory: examples with labels per head, and preference pairs.

A label is a value in [0, 1] (objective ``bce``), a distribution over ordered classes (``ordinal``), or
None. None means that nobody said anything: it is masked in every loss and metric and never becomes 0.
"""

from dataclasses import dataclass, field

from rmtrain.config.model import HeadSettings

Value = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Example:
    """One trajectory as the model reads it.

    Attributes:
        trajectory_id: identity of the trajectory.
        task_id: groups trajectories; one task is in one split only.
        prefix: rendered task prefix.
        blocks: rendered text of each step, by step index.
        trajectory_labels: head name to label of the whole trajectory.
        step_labels: head name to one label per step.
        truth: head name to the true value where a simulated world knows it; evaluation only, never trained on.
        step_truth: likewise, one value per step.
        task_family: kind of task, for breakdowns.
        policy: what produced the trajectory, for breakdowns.
    """

    trajectory_id: str
    task_id: str
    prefix: str
    blocks: tuple[str, ...]
    trajectory_labels: dict[str, Value] = field(default_factory=dict)
    step_labels: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    truth: dict[str, float] = field(default_factory=dict)
    step_truth: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    task_family: str | None = None
    policy: str | None = None


@dataclass(frozen=True)
class Pair:
    """A comparison of two trajectories of one task, for one Bradley-Terry head.

    Attributes:
        head: the head that learns from it.
        trajectory_a: first side.
        trajectory_b: second side.
        target: probability in [0, 1] that A is preferred: 1 A clearly, 0.75 A slightly, 0.5 tie, 0 B clearly.
        pair_weight: weight of this pair in the head's loss; a ranking of k gives each of its pairs 1/(k-1).
    """

    head: str
    trajectory_a: str
    trajectory_b: str
    target: float
    pair_weight: float = 1.0


def unit_labels(name: str, head: HeadSettings, example: Example) -> tuple[Value, ...]:
    """The labels of one head on one example, by unit: the trajectory, or each step; None where nobody said anything."""
    if head.level == "step":
        return example.step_labels.get(name) or (None,) * len(example.blocks)
    return (example.trajectory_labels.get(name),)


def hard_class(label: Value) -> int | None:
    """The class that a distribution puts most on; None where two share it, and for any other label."""
    if not isinstance(label, tuple) or label.count(max(label)) > 1:
        return None
    return label.index(max(label))
