"""Votes of annotators who err in ways of their own → the probability of each class, and each annotator's confusion.

Expectation and maximisation alternate: how probable each class of each item is, given how each annotator errs; how
each annotator errs, given those probabilities. It takes annotators to err independently of each other. Where they
do not, as models that learned from the same text, the probabilities are far too sure and the classes may be worse
than a majority's, so both are measured against gold answers and the probabilities calibrated before anything learns
from them (`rmtrain.labels.temperature`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

MISSING = -1


@dataclass(frozen=True)
class DawidSkene:
    """What the votes say.

    Attributes:
        probabilities: of each item and class; rows sum to 1.
        prior: of each class.
        confusion: of each annotator, true class (row) and vote (column); rows sum to 1.
        n_iterations: iterations that ran.
        converged: whether the last one changed no probability by more than the tolerance.
    """

    probabilities: Float[NDArray[Any], "items classes"]
    prior: Float[NDArray[Any], " classes"]
    confusion: Float[NDArray[Any], "annotators classes classes"]
    n_iterations: int
    converged: bool


def dawid_skene(
    votes: Int[NDArray[Any], "items annotators"],
    n_classes: int,
    *,
    smoothing: float = 0.01,
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
) -> DawidSkene:
    """Fit the model by expectation-maximisation, from the shares of votes.

    Args:
        votes: class of each vote, from 0; -1 where an annotator gave none.
        n_classes: number of classes, >= 2.
        smoothing: votes added to every cell of every confusion matrix and to every class, > 0; an annotator who
            was never wrong could otherwise never be doubted.
        max_iterations: most iterations, >= 1.
        tolerance: change of a probability below which the fit has converged, > 0.

    Raises:
        ValueError: an item has no vote, or a vote is no class.

    Source:
        Dawid & Skene 1979, Applied Statistics 28(1), sections 2 and 3, https://doi.org/10.2307/2346806.
    """
    n_items, n_annotators = votes.shape
    item, annotator = np.nonzero(votes != MISSING)
    vote = votes[item, annotator]
    if len(vote) and not (vote.min() >= 0 and vote.max() < n_classes):
        raise ValueError(f"votes run from {vote.min()} to {vote.max()}, but there are {n_classes} classes from 0")
    n_votes = np.bincount(item, minlength=n_items)
    if n_items and not n_votes.min():
        raise ValueError(f"item {int(n_votes.argmin())} has no vote")
    probabilities = _summed(np.eye(n_classes)[vote], item, n_items) / n_votes[:, None]
    prior, confusion = _maximised(probabilities, item, annotator, vote, n_annotators, smoothing)
    number, converged = 0, False
    while number < max_iterations and not converged:
        number += 1
        logs = np.log(prior) + _summed(np.log(confusion)[annotator, :, vote], item, n_items)
        logs -= logs.max(axis=1, keepdims=True)
        found = np.exp(logs)
        found /= found.sum(axis=1, keepdims=True)
        converged = bool(np.abs(found - probabilities).max(initial=0.0) <= tolerance)
        probabilities = found
        prior, confusion = _maximised(probabilities, item, annotator, vote, n_annotators, smoothing)
    return DawidSkene(probabilities, prior, confusion, number, converged)


def _maximised(
    probabilities: NDArray[Any],
    item: NDArray[Any],
    annotator: NDArray[Any],
    vote: NDArray[Any],
    n_annotators: int,
    smoothing: float,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The prior and the confusion matrices that the probabilities make most likely."""
    n_classes = probabilities.shape[1]
    prior = probabilities.sum(axis=0) + smoothing
    cells = _summed(probabilities[item], annotator * n_classes + vote, n_annotators * n_classes)
    confusion = cells.reshape(n_annotators, n_classes, n_classes).transpose(0, 2, 1) + smoothing
    return prior / prior.sum(), confusion / confusion.sum(axis=2, keepdims=True)


def _summed(rows: NDArray[Any], group: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """Sums of the rows of each group."""
    columns = [np.bincount(group, weights=column, minlength=n_groups) for column in rows.T]
    return np.stack(columns, axis=1)
