"""Windows to step vectors, and step vectors to step vectors that know the other steps.

The first half is the backbone's, chunk by chunk, pooled by masks only, never by looking for a token.
The second is small and always fp32, so that what a step is worth does not hang on a precision setting.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from rmtrain.config.model import EncoderSettings
from rmtrain.errors import ConfigError
from rmtrain.model.backbone import Backbone
from rmtrain.model.chunks import Chunks


def embed(backbone: Backbone, chunks: Chunks) -> Float[Tensor, "batch slots dim"]:
    """Vectors of each trajectory: slot 0 its task prefix, then its steps; zeros where there is no step.

    The prefix vector is that of the first window, so that it never depends on how many follow.
    """
    pooled = []
    for chunk in chunks.chunks:
        hidden = backbone(chunk)
        with torch.autocast(hidden.device.type, enabled=False):
            windows = torch.split(hidden.float(), chunk.lengths)
            pooled += [pool @ window for pool, window in zip(chunk.pools, windows, strict=True)]
    nothing = pooled[0].new_zeros(1, pooled[0].shape[-1])
    found: Tensor = torch.cat([*pooled, nothing])[chunks.rows]
    return found


class TrajectoryEncoder(nn.Module):
    """A small transformer over the slots of a trajectory.

    Args:
        dim: length of the vectors.
        settings: layers, attention heads, causality, dropout.

    Attributes:
        width: length of the vectors it gives: contextual and raw side by side, or raw alone without layers.
    """

    def __init__(self, dim: int, settings: EncoderSettings) -> None:
        super().__init__()
        if settings.layers < 0:
            raise ConfigError(f"encoder.layers is {settings.layers}. Expected 0 (left out) or more.")
        if settings.layers and (settings.attention_heads < 1 or dim % settings.attention_heads):
            fitting = [n for n in range(1, 17) if dim % n == 0]
            raise ConfigError(
                f"encoder.attention_heads is {settings.attention_heads}, which does not divide the backbone's "
                f"{dim} dimensions. Expected one of: {', '.join(map(str, fitting))}."
            )
        if not 0 <= settings.dropout < 1:
            raise ConfigError(f"encoder.dropout is {settings.dropout}. Expected a number in [0, 1).")
        self.causal = settings.causal
        self.width = dim if settings.layers == 0 else 2 * dim
        self.norm = nn.LayerNorm(dim)
        self.position_scale = nn.Parameter(torch.full((dim,), 0.1))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                dim,
                settings.attention_heads,
                dim_feedforward=2 * dim,
                dropout=settings.dropout,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(settings.layers)
        )
        self.norm_out = nn.LayerNorm(dim)

    def forward(
        self, vectors: Float[Tensor, "batch slots dim"], step_mask: Bool[Tensor, "batch steps"]
    ) -> Float[Tensor, "batch slots width"]:
        """Vectors of prefix and steps in the light of each other; zeros where there is no step.

        Args:
            vectors: slot 0 the task prefix, then the steps.
            step_mask: True where there is a step; slots = steps + 1.
        """
        slots = vectors.shape[1]
        present = torch.cat([step_mask.new_ones(len(step_mask), 1), step_mask], dim=1)
        raw: Tensor = self.norm(vectors)
        if not self.layers:
            return raw.masked_fill(~present[..., None], 0.0)
        x = raw + self.position_scale * positions(slots, vectors.shape[2], vectors.device)
        ahead = None
        if self.causal:
            ahead = torch.ones(slots, slots, dtype=torch.bool, device=x.device).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=ahead, src_key_padding_mask=~present)
        both: Tensor = torch.cat([self.norm_out(x), raw], dim=-1)
        return both.masked_fill(~present[..., None], 0.0)


def positions(slots: int, dim: int, device: torch.device | None = None) -> Float[Tensor, "slots dim"]:
    """Sinusoidal positions, so that any number of steps has one.

    Source:
        Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762; wavelengths up to 1,000 slots.
    """
    rate = torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(1000.0) / dim))
    angle = torch.arange(slots, device=device)[:, None] * rate
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :dim]
