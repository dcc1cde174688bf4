"""Settings of the simulated tool world."""

from dataclasses import dataclass, field

FAMILIES = ("lookup", "calculation", "contradiction", "promise")


@dataclass
class AnnotatorSettings:
    """The simulated people who label steps, pairs and rankings."""

    count: int = 6
    """People available, at least `overlap`."""
    overlap: int = 2
    """Distinct people per item, >= 1."""
    noise: float = 0.08
    """Chance that a person gives a neighbouring step value, in [0, 1)."""
    severity: float = 0.04
    """Spread of people's severity: chance, per person between 0 and twice this, to mark one value lower."""
    position_bias: float = 0.15
    """Spread of people's preference for side A, in logits."""
    sharpness: float = 2.5
    """Logits per unit of difference in true consistency when two trajectories are compared, > 0."""
    ranked_share: float = 0.25
    """Share of tasks whose trajectories are ranked instead of compared in pairs, in [0, 1]."""


@dataclass
class WorldSettings:
    """How many tasks of which kind are simulated, and how."""

    n_tasks: int = 600
    """Tasks over all splits, >= 1; a split that gets none is named in a warning."""
    n_rollouts: int = 4
    """Trajectories per task, each by another policy, >= 1."""
    families: list[str] = field(default_factory=lambda: list(FAMILIES))
    """Task families to draw from: lookup, calculation, contradiction, promise."""
    leave_out: str | None = None
    """One of `families` whose tasks occur in the test split only; None leaves none out."""
    test_share: float = 0.18
    """Share of tasks for testing, in (0, 1)."""
    validation_share: float = 0.08
    """Share of tasks for validation, in (0, 1)."""
    calibration_share: float = 0.08
    """Share of tasks for calibration, in (0, 1)."""
    max_steps: int = 16
    """Calls after which the environment ends an episode."""
    seed: int = 0
    """Seed of everything in the world."""
    annotators: AnnotatorSettings = field(default_factory=AnnotatorSettings)
    """The simulated people."""
