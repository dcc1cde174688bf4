"""Settings of cross-validation: the folds, and the ways to make a model that are compared on them."""

from dataclasses import dataclass, field


@dataclass
class CandidateSettings:
    """One way to make a model."""

    model: str | None = None
    """Folder of a reward model to go on from, its heads included; None takes `backbone` and new heads."""
    annotators: bool = False
    """Let each training trajectory teach a second time, with the shares of its annotators' votes as labels."""


@dataclass
class FoldSettings:
    """How tasks are divided, and what is chosen inside the training folds."""

    number: int = 4
    """Folds, >= 2; all trajectories of a task are in one."""
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2, 3, 4])
    """One division into folds for each."""
    inner: int = 3
    """Folds of the training tasks by which epochs and cut points are chosen, >= 2."""
    epochs: list[int] = field(default_factory=lambda: [5, 15, 40])
    """Numbers of epochs to choose from, each > 0."""
