"""Step vectors to logits, one small head per declared dimension, and logits to values.

Heads are data: a further one is a few lines of YAML. What a head's logits mean depends on its objective
only: one logit of a value in [0, 1], cumulative logits of ordered classes, or one unbounded score.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from rmtrain.config.model import HeadSettings
from rmtrain.model.losses import MIN_GAP, ordinal_log_probabilities
from rmtrain.model.objectives import check_heads


def n_logits(head: HeadSettings) -> int:
    """Length of a head's output: cut points for ordered classes, else 1."""
    return head.classes - 1 if head.objective == "ordinal" else 1


class Head(nn.Module):
    """One output dimension.

    Args:
        settings: level and objective, already checked.
        width: length of the vectors it reads.
        dropout: in [0, 1).
    """

    def __init__(self, settings: HeadSettings, width: int, dropout: float) -> None:
        super().__init__()
        self.settings = settings
        self.query = nn.Parameter(torch.zeros(width)) if settings.level == "trajectory" else None
        hidden = max(width // 2, 8)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, 1)
        )
        if settings.objective == "ordinal":
            cuts = n_logits(settings)
            # cut points around 0 where equal classes would have them
            start = torch.logit(torch.arange(1, cuts + 1) / (cuts + 1))
            self.first_cut = nn.Parameter(start[0].clone())
            self.gaps = nn.Parameter(torch.log(torch.expm1(start.diff())))

    def forward(
        self, slots: Float[Tensor, "batch slots width"], step_mask: Bool[Tensor, "batch steps"]
    ) -> Float[Tensor, "batch *steps logits"]:
        """Logits of each step, or of each trajectory from its attention-pooled slots."""
        if self.query is None:
            x = slots[:, 1:]
        else:
            present = torch.cat([step_mask.new_ones(len(step_mask), 1), step_mask], dim=1)
            asked = (slots @ self.query / math.sqrt(slots.shape[-1])).masked_fill(~present, -math.inf)
            x = (asked.softmax(dim=-1)[..., None] * slots).sum(dim=1)
        logits: Tensor = self.mlp(x)
        if self.settings.objective == "ordinal":
            logits = logits - self.cut_points()
        assert logits.shape[-1] == n_logits(self.settings)
        return logits

    def cut_points(self) -> Float[Tensor, " cuts"]:
        """Ordered cut points on the latent scale."""
        rises = softplus(self.gaps) + MIN_GAP
        sums = (
            rises.new_ones(len(rises), len(rises)).tril() @ rises
        )  # cumsum, which CUDA has no deterministic kernel of
        return torch.cat([self.first_cut[None], self.first_cut + sums])


class Heads(nn.Module):
    """All heads, by name, in fp32."""

    def __init__(self, heads: dict[str, HeadSettings], width: int, dropout: float) -> None:
        super().__init__()
        check_heads(heads)
        self.heads = nn.ModuleDict({name: Head(head, width, dropout) for name, head in heads.items()})

    def forward(
        self, slots: Float[Tensor, "batch slots width"], step_mask: Bool[Tensor, "batch steps"]
    ) -> dict[str, Float[Tensor, "batch ..."]]:
        """Head name to its logits."""
        return {name: head(slots, step_mask) for name, head in self.heads.items()}


def class_probabilities(logits: Float[Tensor, "*items cuts"]) -> Float[Tensor, "*items classes"]:
    """Probability of each ordered class from cumulative logits."""
    return ordinal_log_probabilities(logits).exp()


def head_values(settings: HeadSettings, logits: Float[Tensor, "*items logits"]) -> Float[Tensor, "*items"]:
    """What a head says of each item.

    Returns:
        bce: probability in [0, 1]. ordinal: expected class divided by the highest, in [0, 1].
        bradley_terry: the logit, unbounded; only differences within a task mean something.
    """
    if settings.objective == "bce":
        return logits[..., 0].float().sigmoid()
    if settings.objective == "ordinal":
        # the expected class is the sum over cut points of the probability to be above
        return logits.float().sigmoid().mean(dim=-1)
    return logits[..., 0].float()
