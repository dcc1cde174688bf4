"""Probabilities that are too sure → the same order with one temperature, fitted where the right class is known."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from rmtrain.errors import DataError

FLOOR = 1e-4
"""Least probability: a class that nobody voted for is improbable and not impossible."""


def tempered(
    probabilities: Float[NDArray[Any], "items classes"], temperature: float
) -> Float[NDArray[Any], "items classes"]:
    """``p ** (1 / temperature)``, made to sum to 1: above 1 less sure, below 1 surer.

    Args:
        probabilities: rows sum to 1; those under `FLOOR` count as `FLOOR`.
        temperature: > 0.
    """
    logs = np.log(np.clip(probabilities, FLOOR, None)) / temperature
    found: NDArray[Any] = np.exp(logs - logs.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    return found


def fit_temperature(probabilities: Float[NDArray[Any], "items classes"], right: Int[NDArray[Any], " items"]) -> float:
    """The temperature in [0.05, 50] at which the right classes are most likely.

    Args:
        probabilities: as they are.
        right: the right class of each item, from 0.

    Raises:
        DataError: there are fewer than two items, or all are of one class: nothing shows how sure to be.

    Source:
        Guo et al. 2017, section 4.2, https://arxiv.org/abs/1706.04599.
    """
    if len(set(right.tolist())) < 2:
        raise DataError(
            f"a temperature cannot be fitted on {len(right)} items of {len(set(right.tolist()))} class. Expected gold "
            "labels of two classes at least: label more, or do without calibration."
        )
    rows = np.arange(len(right))

    def surprise(log_temperature: float) -> float:
        return float(-np.log(tempered(probabilities, np.exp(log_temperature))[rows, right]).mean())

    return float(np.exp(minimize_scalar(surprise, bounds=(np.log(0.05), np.log(50.0)), method="bounded").x))
