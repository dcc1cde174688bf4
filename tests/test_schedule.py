import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.config.model import HeadSettings, ScheduleSettings
from rmtrain.errors import ConfigError
from rmtrain.schedule import loss_weights

HEADS = {"a": HeadSettings(early=3.0, late=1.0), "b": HeadSettings(early=1.0, late=1.0)}


@pytest.mark.parametrize(
    ("epoch", "a", "b"),
    [
        (0, 3.0, 1.0),  # early 3 : 1 of 4
        (2, 8 / 3, 4 / 3),  # half way between 3 and 1 is 2; 2 : 1 of 4
        (4, 2.0, 2.0),  # late 1 : 1 of 4
    ],
)
def test_phased_weights_move_from_early_to_late(epoch: int, a: float, b: float) -> None:
    assert loss_weights(ScheduleSettings(), HEADS, epoch, 5) == pytest.approx({"a": a, "b": b})


@pytest.mark.parametrize(("epoch", "a"), [(0, 3.0), (2, 3.0), (5, 8 / 3), (8, 2.0), (10, 2.0)])
def test_phased_weights_rest_before_start_and_after_end(epoch: int, a: float) -> None:
    # 11 epochs: shares 0, 0.2, 0.5, 0.8, 1; moving between 0.2 and 0.8, so 0.5 is half way
    moving = ScheduleSettings(start=0.2, end=0.8)
    assert loss_weights(moving, HEADS, epoch, 11)["a"] == pytest.approx(a)


@pytest.mark.parametrize("kind", ["fixed", "uncertainty"])
def test_other_kinds_give_equal_shares(kind: str) -> None:
    assert loss_weights(ScheduleSettings(kind=kind, total=3.0), HEADS, 1, 5) == {"a": 1.5, "b": 1.5}


def test_one_epoch_has_early_weights() -> None:
    assert loss_weights(ScheduleSettings(), HEADS, 0, 1)["a"] == 3.0


positive = st.floats(0.01, 100)


@settings(deadline=None)
@given(
    relative=st.lists(st.tuples(positive, positive), min_size=1, max_size=6),
    total=positive,
    epoch=st.integers(0, 20),
    bounds=st.tuples(st.floats(0, 0.49), st.floats(0.5, 1)),
)
def test_weights_are_positive_and_sum_to_the_total(
    relative: list[tuple[float, float]], total: float, epoch: int, bounds: tuple[float, float]
) -> None:
    heads = {f"h{i}": HeadSettings(early=early, late=late) for i, (early, late) in enumerate(relative)}
    found = loss_weights(ScheduleSettings(total=total, start=bounds[0], end=bounds[1]), heads, epoch, 21)
    assert list(found) == list(heads)
    assert min(found.values()) > 0
    assert sum(found.values()) == pytest.approx(total)


@pytest.mark.parametrize(
    ("given", "heads", "match"),
    [
        (ScheduleSettings(kind="phase"), HEADS, "unknown schedule kind 'phase'.*Did you mean 'phased'"),
        (ScheduleSettings(total=0.0), HEADS, "schedule.total is 0.0, not a number > 0"),
        (ScheduleSettings(start=0.5, end=0.5), HEADS, "schedule.start is 0.5 and schedule.end 0.5"),
        (ScheduleSettings(), {"a": HeadSettings(late=0.0)}, "heads.a.late is 0.0, not a relative loss weight > 0"),
        (ScheduleSettings(), {}, "heads is empty"),
    ],
)
def test_what_is_not_allowed_is_refused(given: ScheduleSettings, heads: dict[str, HeadSettings], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        loss_weights(given, heads, 0, 2)
