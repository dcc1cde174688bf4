from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, r2_score

from rmtrain.model.metrics import (
    Figure,
    constant_bce,
    constant_ordinal,
    explained_share,
    pair_accuracy,
    plain_kappa,
    quadratic_kappa,
)


def test_explained_share_agrees_with_scikit_learn() -> None:
    random = np.random.default_rng(0)
    labels, values = random.random(40), random.random(40)
    assert explained_share(values, labels).value == pytest.approx(r2_score(labels, values))
    assert explained_share(labels, labels) == Figure(1.0, 40)
    assert explained_share(np.full(40, labels.mean()), labels).value == pytest.approx(0.0)


@pytest.mark.parametrize(("kappa", "weights"), [(quadratic_kappa, "quadratic"), (plain_kappa, None)])
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_kappa_of_certain_labels_agrees_with_scikit_learn(
    kappa: Callable[[Any, Any], Figure], weights: str | None, rows: list[tuple[int, int]]
) -> None:
    predicted, labels = np.array(rows).T
    found = kappa(predicted, np.eye(4)[labels])
    if len(set(predicted) | set(labels)) == 1:
        assert found == Figure(None, len(rows), "predictions and labels are of one and the same class")
    else:
        expected = cohen_kappa_score(predicted, labels, weights=weights, labels=[0, 1, 2, 3])
        assert found.value == pytest.approx(expected)


def test_kappa_of_a_split_label_is_that_of_its_shares() -> None:
    # one label half 0, half 1 counts as two items of half a weight
    split = quadratic_kappa(np.array([0, 1, 2]), np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1.0]]))
    doubled = cohen_kappa_score([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 2, 2], weights="quadratic")
    assert split.value == pytest.approx(doubled)
    assert split.n == 3


def test_pair_accuracy_leaves_ties_out_and_halves_no_difference() -> None:
    # right, wrong, undecided by the model, tied by the label
    found = pair_accuracy(np.array([1.0, -1.0, 0.0, 5.0]), np.array([0.75, 1.0, 0.0, 0.5]))
    assert found == Figure(0.5, 3)


def test_figures_that_are_undefined_have_a_reason_and_no_value() -> None:
    nothing = np.zeros(0)
    assert explained_share(nothing, nothing) == Figure(None, 0, "no labels")
    assert explained_share(np.array([0.2, 0.3]), np.array([0.5, 0.5])) == Figure(None, 2, "all 2 labels are 0.5")
    assert quadratic_kappa(np.zeros(0, dtype=int), np.zeros((0, 3))) == Figure(None, 0, "no labels")
    assert pair_accuracy(nothing, nothing) == Figure(None, 0, "no pairs")
    assert pair_accuracy(np.ones(1), np.array([0.5])) == Figure(None, 0, "no pairs without a tie")
    assert constant_bce(nothing) is None
    assert constant_ordinal(np.zeros((0, 3))) is None


def test_losses_of_the_best_constant_are_entropies() -> None:
    assert constant_bce(np.array([1.0, 0.0, 0.5, 0.5])) == pytest.approx(log(2))
    assert constant_ordinal(np.array([[1.0, 0, 0], [0, 0.5, 0.5]])) == pytest.approx(0.5 * log(2) + 0.5 * log(4))
    assert constant_bce(np.ones(3)) == 0.0
