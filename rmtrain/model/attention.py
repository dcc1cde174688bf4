"""Attention inside windows that lie end to end in one sequence, none of which sees another.

Everything else in a layer works token by token, so a backbone reads many windows in one call without a
padded token. Transformers offers the place for it (`AttentionInterface`), and within a window the
work is done by its own `sdpa`, save on a CPU in bf16, where torch's fused kernel is slow backwards: there
plain matrix products train a MiniLM a third faster.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME = "rmtrain_windows"
REFUSED = ("sliding_window", "position_bias", "softcap", "s_aux")  # what models ask for that this does not do
GRAIN = 32  # windows are made a multiple of it long, so that memory is asked for in few different sizes
MAX_PLAIN = 1024  # tokens of a window beyond which storing its probabilities costs more than the speed is worth


def window_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    window_lengths: Sequence[int],
    window_masks: Sequence[Tensor] | None = None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention as transformers asks for it: [1, heads, tokens, dim] in, [1, tokens, heads, dim] out.

    Args:
        module: the layer that asks; its `is_causal` holds within each window.
        query, key, value: of all windows; keys and values may have fewer heads.
        attention_mask: ignored, the windows say it all.
        window_lengths: tokens of each window.
        window_masks: for each window, which token (column) each token (row) may see.
        scaling: factor of the products, 1 / sqrt(dim) if None.
        options: further wishes of the model; those that change what is seen are refused.

    Raises:
        ValueError: the model wants attention that is more than this.
    """
    if any(options.get(name) is not None for name in REFUSED):
        raise ValueError(f"windows that lie end to end do not go with {type(module).__name__}")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    is_causal = options.get("is_causal")
    is_causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    parts = zip(*(torch.split(states, list(window_lengths), dim=2) for states in (query, key, value)), strict=True)
    found = []
    for number, (q, k, v) in enumerate(parts):
        mask = None if window_masks is None else window_masks[number]
        if _goes_plainly(q, k, is_causal and mask is None):
            found.append(_plain(q, k, v, mask, scaling))
        else:
            shaped = None if mask is None else mask[None, None]
            found.append(sdpa_attention_forward(module, q, k, v, shaped, scaling=scaling, is_causal=is_causal)[0])
    return torch.cat(found, dim=1), None


def _goes_plainly(query: Tensor, key: Tensor, is_causal: bool) -> bool:
    return (
        query.device.type == "cpu"
        and query.dtype == torch.bfloat16
        and query.shape == key.shape
        and query.shape[2] <= MAX_PLAIN
        and not is_causal
    )


def _plain(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    n = query.shape[2]
    extra = -n % GRAIN
    if extra:
        query, key, value = (functional.pad(states, (0, 0, 0, extra)) for states in (query, key, value))
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    with torch.no_grad():  # what gets no probability gets no gradient from softmax either
        scores[..., n:] = -torch.inf
        if mask is not None:
            scores[..., :n, :n].masked_fill_(~mask, -torch.inf)
    found = torch.matmul(torch.softmax(scores, dim=-1, dtype=query.dtype), value)
    return found[:, :, :n].transpose(1, 2)


AttentionInterface.register(NAME, window_attention)
AttentionMaskInterface.register(NAME, lambda *_, **__: None)  # no mask of the whole sequence is ever made
