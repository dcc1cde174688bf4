"""Logits and labels to a sum of losses and what it is a sum over, in fp32 whatever the logits are.

Callers divide by a count of their choice, so batching and accumulation never change an objective. Items
without a label are taken out before anything is computed: they add exactly 0 to loss and gradient.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

LossSum = tuple[Float[Tensor, ""], float]

MIN_GAP = 1e-6  # least distance of neighbouring cumulative logits, so that no class has probability 0


def bce(logits: Float[Tensor, "*items"], targets: Float[Tensor, "*items"], mask: Bool[Tensor, "*items"]) -> LossSum:
    """Binary cross-entropy with soft targets.

    Args:
        logits: of the value being 1.
        targets: values in [0, 1]; anything where `mask` is False.
        mask: True where there is a label.

    Returns:
        Sum over labelled items, in nats, and their number.
    """
    total = binary_cross_entropy_with_logits(logits[mask].float(), targets[mask].float(), reduction="sum")
    return total, float(mask.sum())


def ordinal(
    logits: Float[Tensor, "*items cuts"], targets: Float[Tensor, "*items classes"], mask: Bool[Tensor, "*items"]
) -> LossSum:
    """Cross-entropy between a distribution over ordered classes and the one of cumulative logits.

    Args:
        logits: of the class being above each cut point, falling along the last axis.
        targets: probability of each class; classes = cuts + 1.
        mask: True where there is a label.

    Returns:
        Sum over labelled items, in nats, and their number.
    """
    log_p = ordinal_log_probabilities(logits[mask])
    return -(targets[mask].float() * log_p).sum(), float(mask.sum())


def ordinal_log_probabilities(logits: Float[Tensor, "*items cuts"]) -> Float[Tensor, "*items classes"]:
    """Log-probability of each ordered class, in fp32.

    With a > b the middle classes need log(sigmoid(a) - sigmoid(b)), which equals
    logsigmoid(a) + logsigmoid(-b) + log(1 - exp(b - a)) and so never takes the logarithm of a difference.
    """
    wide = logits.float()
    upper, lower = wide[..., :-1], wide[..., 1:]
    gap = (upper - lower).clamp_min(MIN_GAP)
    middle = logsigmoid(upper) + logsigmoid(-lower) + torch.log(-torch.expm1(-gap))
    return torch.cat([logsigmoid(-wide[..., :1]), middle, logsigmoid(wide[..., -1:])], dim=-1)


def bradley_terry(
    differences: Float[Tensor, " pairs"], targets: Float[Tensor, " pairs"], weights: Float[Tensor, " pairs"]
) -> LossSum:
    """Weighted cross-entropy of a preference under the Bradley-Terry model.

    Args:
        differences: logit of side A minus logit of side B.
        targets: probability in [0, 1] that A is preferred; 0.5 is a tie.
        weights: weight of each pair, >= 0.

    Returns:
        Weighted sum over pairs, in nats (ln 2 each at a difference of 0), and the sum of weights.

    Source:
        Bradley and Terry 1952, https://doi.org/10.2307/2334029; ties as soft targets.
    """
    d, y, w = differences.float(), targets.float(), weights.float()
    return -(w * (y * logsigmoid(d) + (1 - y) * logsigmoid(-d))).sum(), float(w.sum())
