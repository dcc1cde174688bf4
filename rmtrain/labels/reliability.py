"""How far probabilities keep their promise: the expected calibration error, in bins of equal mass or equal width."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray


def expected_calibration_error(
    confidence: Float[NDArray[Any], " n"],
    correct: Bool[NDArray[Any], " n"],
    *,
    n_bins: int = 15,
    bins: Literal["mass", "width"] = "mass",
) -> float | None:
    """Mean over units of how far the mean confidence of their bin is from its share of right answers.

    Args:
        confidence: probability in [0, 1] of what was said; 0 and 1 themselves belong to the first and last bin.
        correct: whether it was right.
        n_bins: number of bins, >= 1; empty ones count nothing.
        bins: ``mass``: as many units in each, units of equal confidence in one; ``width``: [0, 1/n), …, [1 - 1/n, 1].

    Returns:
        The error in [0, 1]; None where there are no units.

    Source:
        Guo et al. 2017, equation 3, https://arxiv.org/abs/1706.04599; bins of equal mass as in Nguyen & O'Connor
        2015, section 4, https://arxiv.org/abs/1508.05154.
    """
    if not len(confidence):
        return None
    if bins == "width":
        place = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    else:
        edges = np.quantile(confidence, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
        place = np.searchsorted(edges, confidence, side="left")
    promised = np.bincount(place, weights=confidence, minlength=n_bins)
    kept = np.bincount(place, weights=correct.astype(np.float64), minlength=n_bins)
    return float(np.abs(promised - kept).sum() / len(confidence))
