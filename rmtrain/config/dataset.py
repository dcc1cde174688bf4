"""What a model learns from: where the examples come from, and how tasks are divided."""

from dataclasses import dataclass


@dataclass
class DatasetSettings:
    """The examples of a training run."""

    path: str | None = None
    """Folder that job=build wrote; None builds the embedded corpus from `world` and `verifiers`."""
    unlabelled_heads: str = "drop"
    """What to do with a head without any label or pair in training: drop (leave it out, and say so) | stop."""


@dataclass
class SplitSettings:
    """Shares of the tasks. All trajectories of a task lie in one split; a split that the source declares is kept."""

    train: float = 0.6
    """Share for fitting weights, in (0, 1]; the four shares sum to 1."""
    validation: float = 0.15
    """Share for choosing the epoch, in [0, 1)."""
    calibration: float = 0.1
    """Share for fitting calibration and reference distributions, in [0, 1)."""
    test: float = 0.15
    """Share for the figures that are reported, in [0, 1)."""
    seed: int = 0
    """Seed of the division."""
