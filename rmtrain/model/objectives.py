"""What a head can be trained to do, and the figure it is judged by: one line per objective."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """Facts about one objective.

    Attributes:
        measure: name of its figure, for people.
        key: name of its figure in metric keys.
        chance: what the best constant gets in it.
    """

    measure: str
    key: str
    chance: float


OBJECTIVES: dict[str, Objective] = {
    "bce": Objective("explained share", "r2", 0.0),
    "ordinal": Objective("quadratic kappa", "kappa", 0.0),
    "bradley_terry": Objective("pair accuracy", "accuracy", 0.5),
}
