"""Each objective's chance is what a constant really gets in its figure."""

import numpy as np

from rmtrain.model.metrics import explained_share, pair_accuracy, quadratic_kappa
from rmtrain.model.objectives import OBJECTIVES


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
