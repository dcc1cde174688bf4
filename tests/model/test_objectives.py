"""Each objective's chance is what a constant really gets in its figure, and heads that make no sense are refused."""

import numpy as np
import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.errors import ConfigError
from rmtrain.model.metrics import explained_share, pair_accuracy, quadratic_kappa
from rmtrain.model.objectives import OBJECTIVES, check_heads


def test_a_constant_gets_the_figure_of_chance():
    labels = np.array([0.0, 0.5, 1.0, 1.0])
    found = {
        "bce": explained_share(np.full(4, labels.mean()), labels),
        "ordinal": quadratic_kappa(np.full(4, 1), np.eye(3)[[0, 1, 2, 2]]),
        "bradley_terry": pair_accuracy(np.zeros(4), labels),
    }
    assert {name: figure.value for name, figure in found.items()} == {
        name: objective.chance for name, objective in OBJECTIVES.items()
    }


def test_no_two_objectives_share_a_name_in_charts():
    assert len({objective.key for objective in OBJECTIVES.values()}) == len(OBJECTIVES)


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (HeadSettings(level="turn"), "heads.x: unknown level 'turn'. Known: step, trajectory"),
        (HeadSettings(objective="ordinary"), "heads.x: unknown objective 'ordinary'.*Did you mean 'ordinal'"),
        (HeadSettings(level="step", objective="bradley_terry"), "heads.x has objective bradley_terry at level step"),
        (HeadSettings(objective="ordinal", classes=1), "heads.x.classes is 1"),
        (
            HeadSettings(objective="ordinal", class_names=["bad", "good"]),
            "heads.x has 3 classes, but 2 class names: bad, good",
        ),
    ],
)
def test_heads_that_cannot_be_built_are_refused(head: HeadSettings, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        check_heads({"x": head})


def test_names_and_number_of_heads_are_checked() -> None:
    with pytest.raises(ConfigError, match="heads is empty"):
        check_heads({})
    with pytest.raises(ConfigError, match=r"head name 'a.b' is not allowed"):
        check_heads({"a.b": HeadSettings()})
