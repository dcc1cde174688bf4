"""Predictions and labels to figures, each with the number it rests on, or no value and a reason.

A figure that is undefined (one class only, no labels) has no value; it never becomes 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray


@dataclass(frozen=True)
class Figure:
    """A number with the count behind it.

    Attributes:
        value: the figure, None where it is undefined.
        n: items it rests on.
        reason: why it is undefined, else None.
    """

    value: float | None
    n: int
    reason: str | None = None


def explained_share(values: Float[NDArray[Any], " n"], labels: Float[NDArray[Any], " n"]) -> Figure:
    """1 - MSE / MSE of the best constant: 1 is perfect, 0 no better than the mean label, below is worse.

    Args:
        values: predicted values in [0, 1].
        labels: labels in [0, 1].
    """
    n = len(labels)
    if n == 0:
        return Figure(None, 0, "no labels")
    constant = float(np.mean((labels - labels.mean()) ** 2))
    if constant < 1e-12:
        return Figure(None, n, f"all {n} labels are {float(labels[0]):g}")
    return Figure(1.0 - float(np.mean((values - labels) ** 2)) / constant, n)


def quadratic_kappa(predicted: Int[NDArray[Any], " n"], labels: Float[NDArray[Any], "n classes"]) -> Figure:
    """Cohen's kappa with quadratic weights, labels being distributions over the classes.

    A split label counts in each class by its probability, so the table holds expected counts; with
    certain labels it is the usual kappa.

    Args:
        predicted: class of each item, from 0.
        labels: probability of each class.

    Source:
        Cohen 1968, https://doi.org/10.1037/h0026256
    """
    return _kappa(predicted, labels, lambda distance: distance.astype(float) ** 2)


def plain_kappa(predicted: Int[NDArray[Any], " n"], labels: Float[NDArray[Any], "n classes"]) -> Figure:
    """Cohen's kappa without weights, labels being distributions over the classes, as for `quadratic_kappa`.

    Source:
        Cohen 1960, https://doi.org/10.1177/001316446002000104
    """
    return _kappa(predicted, labels, lambda distance: (distance > 0).astype(float))


def _kappa(
    predicted: Int[NDArray[Any], " n"],
    labels: Float[NDArray[Any], "n classes"],
    weigh: Callable[[NDArray[Any]], NDArray[Any]],
) -> Figure:
    n, classes = labels.shape
    if n == 0:
        return Figure(None, 0, "no labels")
    table = np.zeros((classes, classes))
    np.add.at(table, predicted, labels)  # rows: predicted, columns: labelled
    weights = weigh(np.abs(np.arange(classes)[:, None] - np.arange(classes)[None, :]))
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    expected = float((weights * chance).sum())
    if expected < 1e-12:
        return Figure(None, n, "predictions and labels are of one and the same class")
    return Figure(1.0 - float((weights * table).sum()) / expected, n)


def pair_accuracy(differences: Float[NDArray[Any], " n"], targets: Float[NDArray[Any], " n"]) -> Figure:
    """Share of pairs ordered as labelled; tied labels are left out, a difference of 0 counts one half.

    Args:
        differences: logit of side A minus logit of side B.
        targets: probability that A is preferred; 0.5 is a tie.
    """
    decided = targets != 0.5
    n = int(decided.sum())
    if n == 0:
        return Figure(None, 0, "no pairs without a tie" if len(targets) else "no pairs")
    d, y = differences[decided], targets[decided]
    return Figure(float(np.mean(np.where(d == 0, 0.5, (d > 0) == (y > 0.5)))), n)


def constant_bce(labels: Float[NDArray[Any], " n"]) -> float | None:
    """Mean binary cross-entropy, in nats, of the best constant prediction; None without labels."""
    if len(labels) == 0:
        return None
    p = float(labels.mean())
    return _entropy(np.array([p, 1.0 - p]))


def constant_ordinal(labels: Float[NDArray[Any], "n classes"]) -> float | None:
    """Mean cross-entropy, in nats, of the best constant distribution; None without labels."""
    return _entropy(labels.mean(axis=0)) if len(labels) else None


def _entropy(p: Float[NDArray[Any], " classes"]) -> float:
    kept = p[p > 0]
    return float(-(kept * np.log(kept)).sum())
