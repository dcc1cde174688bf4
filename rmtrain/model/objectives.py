"""What a head can be: its level, its objective with the figure it is judged by, and which settings make none."""

from dataclasses import dataclass

from rmtrain.config.model import HeadSettings
from rmtrain.errors import ConfigError, unknown

LEVELS = ("trajectory", "step")


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


def check_heads(heads: dict[str, HeadSettings]) -> None:
    """Refuse heads that cannot be built.

    Raises:
        ConfigError: no heads, an unknown level or objective, pairs of steps, or fewer than two classes.
    """
    if not heads:
        raise ConfigError(
            "heads is empty, every one was taken away: a reward model needs at least one. Leave out a `~heads.…`, or "
            "add one under `heads` (see conf/heads)."
        )
    for name, head in heads.items():
        if not name.isidentifier():
            raise ConfigError(f"head name '{name}' is not allowed. Expected letters, digits and underscores.")
        if head.level not in LEVELS:
            raise ConfigError(f"heads.{name}: {unknown('level', head.level, LEVELS)}")
        if head.objective not in OBJECTIVES:
            raise ConfigError(f"heads.{name}: {unknown('objective', head.objective, OBJECTIVES)}")
        if head.objective == "bradley_terry" and head.level != "trajectory":
            raise ConfigError(
                f"heads.{name} has objective bradley_terry at level {head.level}. Pairs compare whole trajectories: "
                "set level=trajectory, or another objective."
            )
        if head.objective == "ordinal" and head.classes < 2:
            raise ConfigError(f"heads.{name}.classes is {head.classes}. Expected 2 or more ordered classes.")
        if head.objective == "ordinal" and head.class_names is not None and len(head.class_names) != head.classes:
            raise ConfigError(
                f"heads.{name} has {head.classes} classes, but {len(head.class_names)} class names: "
                f"{', '.join(head.class_names)}. Name each, or set heads.{name}.class_names=null."
            )
