"""Attention for training in bf16 on a CPU with matrix instructions, where torch's flash kernel is slow backwards.

The probabilities of one window fit in the cache, so plain matrix products take some 60 % of the flash
kernel's time, forward and backward together. Every other case is transformers' own `sdpa`.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "rmtrain"
MAX_TOKENS = 1024  # beyond, storing probabilities costs more memory than the speed is worth
_MASKED = -1e4


def install(model: Any) -> None:
    """Let a transformers model that uses `sdpa` attend through this module."""
    if model.config._attn_implementation == "sdpa" and getattr(model, "_supports_attention_backend", False):
        model.set_attn_implementation(NAME)


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention as transformers asks for it: [windows, heads, tokens, dim] in, [windows, tokens, heads, dim] out."""
    is_causal = options.get("is_causal")
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    if _fits(query, key, value, attention_mask, dropout, bool(is_causal)) and not _asks_for_more(options):
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        found: Tensor = WindowAttention.apply(  # type: ignore[no-untyped-call]
            query, key, value, attention_mask, scale
        )
        return found.transpose(1, 2).contiguous(), None
    output: tuple[Tensor, None] = sdpa_attention_forward(
        module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
    )
    return output


def has_matrix_instructions() -> bool:
    """Whether this CPU multiplies bf16 matrices in tiles."""
    return bool(torch.cpu._is_amx_tile_supported())


class WindowAttention(Function):
    """softmax(scale q k') v, window by window, keeping the probabilities for the way back."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        q, k, v = query * scale, key.contiguous(), value.contiguous()
        out = torch.empty(q.shape, dtype=q.dtype)
        probabilities = []
        for i in range(len(q)):
            scores = torch.bmm(q[i], k[i].transpose(1, 2))
            if mask is not None:
                scores.masked_fill_(~mask[i], _MASKED)
            probabilities.append(scores.softmax(-1))
            torch.bmm(probabilities[i], v[i], out=out[i])
        ctx.save_for_backward(q, k, v, *probabilities)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, *probabilities = ctx.saved_tensors
        g = gradient.contiguous()
        dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype) for x in (q, k, v))
        for i, p in enumerate(probabilities):
            torch.bmm(p.transpose(1, 2), g[i], out=dv[i])
            dp = torch.bmm(g[i], v[i].transpose(1, 2))
            ds = torch._softmax_backward_data(dp, p, -1, p.dtype)
            torch.bmm(ds, k[i], out=dq[i])
            torch.bmm(ds.transpose(1, 2), q[i], out=dk[i])
        return dq.mul_(ctx.scale), dk, dv, None, None


def _fits(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, is_causal: bool) -> bool:
    return (
        query.device.type == "cpu"
        and query.dtype == torch.bfloat16
        and query.requires_grad
        and torch.is_grad_enabled()
        and query.shape == key.shape == value.shape
        and query.shape[2] <= MAX_TOKENS
        and dropout == 0
        and (not is_causal if mask is None else mask.dtype == torch.bool)
        and has_matrix_instructions()
    )


def _asks_for_more(options: dict[str, Any]) -> bool:
    return any(options.get(name) is not None for name in ("softcap", "position_bias", "s_aux"))


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
