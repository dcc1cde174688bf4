"""Attention inside windows that lie end to end: by its definition, and near it in bf16."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from rmtrain.model import attention
from rmtrain.model.attention import window_attention
from rmtrain.model.encoder import embed
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import make_reading
from rmtrain.model.train import LabelledSet

LENGTHS = [5, 1, 32, 41]


class Layer(nn.Module):
    """What asks for attention: three query heads share a head of keys and values."""

    def __init__(self, is_causal: bool, groups: int) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.num_key_value_groups = groups


def defined(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """softmax(q k' / sqrt(dim)) v over the whole sequence, where `seen`."""
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
    scores = (q @ k.transpose(2, 3)) * q.shape[-1] ** -0.5
    return (scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kv_heads", [6, 2])
@pytest.mark.parametrize("kind", ["all", "causal", "masked"])
def test_no_window_sees_another(kind: str, kv_heads: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    n = sum(LENGTHS)
    q, k, v = (torch.randn(1, heads, n, 8, dtype=dtype).requires_grad_() for heads in (6, kv_heads, kv_heads))
    window = torch.repeat_interleave(torch.arange(4), torch.tensor(LENGTHS))
    seen = window[:, None] == window[None, :]
    masks = None
    if kind == "causal":
        seen &= torch.ones(n, n).tril().bool()
    elif kind == "masked":
        masks = [torch.rand(length, length) > 0.5 for length in LENGTHS]
        masks = [mask | torch.eye(len(mask)).bool() for mask in masks]
        seen &= torch.block_diag(*masks).bool()
    found, _ = window_attention(
        Layer(kind == "causal", 6 // kv_heads), q, k, v, None, window_lengths=LENGTHS, window_masks=masks
    )
    wide = [x.detach().float().requires_grad_() for x in (q, k, v)]
    expected = defined(*wide, seen)
    close = {"atol": 1e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 3e-2, "rtol": 3e-2}
    torch.testing.assert_close(found.float(), expected, **close)
    gradient = torch.randn_like(expected)
    one = torch.autograd.grad(found, (q, k, v), gradient.to(dtype))
    for a, b in zip(one, torch.autograd.grad(expected, wide, gradient), strict=True):
        torch.testing.assert_close(
            a.float(), b, **({"atol": 1e-4, "rtol": 1e-3} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.1})
        )


@pytest.mark.parametrize("wish", attention.REFUSED)
def test_what_would_change_what_is_seen_is_refused(wish: str) -> None:
    q = torch.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match="Layer"):
        window_attention(Layer(False, 1), q, q, q, None, window_lengths=[3], **{wish: 2})


def test_a_backbone_in_bf16_is_as_near_to_fp32_as_with_the_usual_kernel(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gradients(bf16: bool) -> dict[str, Tensor]:
        model = build(tune="full")
        windows = model.windows(list(labelled(6).examples))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            vectors = embed(model.backbone, make_reading(model, 256).chunks(windows))
        vectors.pow(3).mean().backward()
        return {name: p.grad.clone() for name, p in model.backbone.named_parameters() if p.grad is not None}

    exact, half = gradients(False), gradients(True)
    monkeypatch.setattr(attention, "MAX_PLAIN", 0)
    usual = gradients(True)
    assert any(not torch.equal(half[name], usual[name]) for name in half), "both ways are the same"
    for name, expected in exact.items():
        scale = expected.abs().max()
        assert (half[name] - expected).abs().max() <= 0.05 * scale + 2 * (usual[name] - expected).abs().max(), name
