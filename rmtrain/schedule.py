"""Loss weights as a pure function of the epoch, so that a resumed run uses those of the epoch it is in.

Whatever the kind, they sum to the same total in every epoch: otherwise moving them would also move the
learning rate.
"""

from rmtrain.config.model import HeadSettings, ScheduleSettings
from rmtrain.errors import ConfigError, unknown

KINDS = ("phased", "fixed", "uncertainty")


def loss_weights(
    settings: ScheduleSettings, heads: dict[str, HeadSettings], epoch: int, epochs: int
) -> dict[str, float]:
    """Loss weight of every head in one epoch.

    ``phased`` moves each head's relative weight linearly from `early` to `late` while the share of
    epochs done goes from `settings.start` to `settings.end`, then scales all to the total. ``fixed``
    gives equal shares; so does ``uncertainty``, whose learned part lives in the module.

    Args:
        settings: how the weights move.
        heads: head name to its settings.
        epoch: the epoch, from 0.
        epochs: number of epochs, > 0; the last one has `late` weights where `settings.end` is 1.

    Returns:
        Head name to a loss weight > 0; they sum to `settings.total`.

    Raises:
        ConfigError: a kind, range or relative weight is not allowed.
    """
    check_schedule(settings, heads)
    if settings.kind != "phased":
        return dict.fromkeys(heads, settings.total / len(heads))
    share = epoch / max(epochs - 1, 1)
    progress = min(max((share - settings.start) / (settings.end - settings.start), 0.0), 1.0)
    relative = {name: (1 - progress) * head.early + progress * head.late for name, head in heads.items()}
    scale = settings.total / sum(relative.values())
    return {name: value * scale for name, value in relative.items()}


def check_schedule(settings: ScheduleSettings, heads: dict[str, HeadSettings]) -> None:
    """Refuse what `loss_weights` could not follow.

    Raises:
        ConfigError: no heads, an unknown kind, or a number outside its range.
    """
    if not heads:
        raise ConfigError("heads is empty: a reward model needs at least one. Add one under `heads` (see conf/heads).")
    if settings.kind not in KINDS:
        raise ConfigError(unknown("schedule kind", settings.kind, KINDS))
    if not settings.total > 0:
        raise ConfigError(f"schedule.total is {settings.total}, not a number > 0. Set the sum of the loss weights.")
    if not 0 <= settings.start < settings.end <= 1:
        raise ConfigError(
            f"schedule.start is {settings.start} and schedule.end {settings.end}. "
            "Expected shares of the epochs with 0 <= start < end <= 1."
        )
    for name, head in heads.items():
        for field, value in (("early", head.early), ("late", head.late)):
            if not value > 0:
                raise ConfigError(
                    f"heads.{name}.{field} is {value}, not a relative loss weight > 0. "
                    "Remove the head if it should not be trained."
                )
