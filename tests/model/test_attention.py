from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rmtrain.model import attention
from rmtrain.model.attention import WindowAttention
from rmtrain.model.encoder import embed
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import make_reading
from rmtrain.model.train import LabelledSet


def plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    scores = scale * q @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("masked", [False, True])
def test_values_and_gradients_are_those_of_the_definition(masked: bool) -> None:
    torch.manual_seed(0)
    mask = (torch.arange(7) < torch.tensor([7, 4])[:, None])[:, None, None, :].expand(2, 1, 7, 7) if masked else None
    one = [torch.randn(2, 7, 3, 8).transpose(1, 2).requires_grad_() for _ in range(3)]
    other = [x.detach().clone().requires_grad_() for x in one]
    gradient = torch.randn(2, 3, 7, 8)
    found = WindowAttention.apply(*one, mask, 0.3)
    expected = plain(*other, mask, 0.3)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        torch.autograd.grad(found, one, gradient), torch.autograd.grad(expected, other, gradient), strict=True
    ):
        torch.testing.assert_close(a, b)


@pytest.fixture
def gradients(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet]
) -> Callable[[bool], dict[str, Tensor]]:
    """Backbone gradients of one batch, in bf16 or not."""

    def run(bf16: bool) -> dict[str, Tensor]:
        model = build(tune="full")
        windows = model.windows(list(labelled(6).examples))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            vectors = embed(model.backbone, make_reading(model, 256).chunks(windows))
        vectors.pow(3).mean().backward()
        return {name: p.grad.clone() for name, p in model.backbone.named_parameters() if p.grad is not None}

    return run


def test_a_backbone_trains_through_it_in_bf16_only(
    gradients: Callable[[bool], dict[str, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[torch.dtype] = []
    apply = WindowAttention.apply

    def count(query: Tensor, *rest: object) -> Tensor:
        used.append(query.dtype)
        found: Tensor = apply(query, *rest)
        return found

    monkeypatch.setattr(attention, "has_matrix_instructions", lambda: True)
    monkeypatch.setattr(WindowAttention, "apply", count)
    exact = gradients(False)
    assert not used
    half = gradients(True)
    assert set(used) == {torch.bfloat16}
    n_used = len(used)
    monkeypatch.setattr(attention, "has_matrix_instructions", lambda: False)
    usual = gradients(True)
    assert len(used) == n_used
    for name, expected in exact.items():
        scale = expected.abs().max()
        # as near to fp32 as the usual kernel is, give or take rounding
        assert (half[name] - expected).abs().max() <= 0.05 * scale + 2 * (usual[name] - expected).abs().max(), name
