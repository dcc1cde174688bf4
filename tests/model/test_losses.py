from math import exp, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.model.losses import bce, bradley_terry, ordinal, ordinal_log_probabilities

number = st.floats(-30, 30, width=32)
share = st.floats(0, 1, width=32)


def test_bce_of_soft_targets_by_hand() -> None:
    # sigmoid(log 3) = 3/4: -(0.5 log 3/4 + 0.5 log 1/4); second item masked; third: log 2
    logits = torch.tensor([log(3.0), 5.0, 0.0])
    total, n = bce(logits, torch.tensor([0.5, 0.2, 0.7]), torch.tensor([True, False, True]))
    assert total.item() == pytest.approx(-0.5 * log(3 / 16) + log(2))
    assert n == 2


def test_ordinal_by_hand() -> None:
    # P(y > 0) = 3/4, P(y > 1) = 1/4: classes 1/4, 1/2, 1/4
    logits = torch.tensor([[log(3.0), -log(3.0)]])
    assert ordinal_log_probabilities(logits).exp().tolist()[0] == pytest.approx([0.25, 0.5, 0.25])
    total, n = ordinal(logits, torch.tensor([[0.0, 0.5, 0.5]]), torch.tensor([True]))
    assert total.item() == pytest.approx(0.5 * log(2) + 0.5 * log(4))
    assert n == 1


@given(latent=number, cuts=st.lists(st.floats(0.01, 10), min_size=1, max_size=5))
def test_ordinal_probabilities_are_a_distribution(latent: float, cuts: list[float]) -> None:
    logits = latent - torch.tensor(cuts).cumsum(0)
    p = ordinal_log_probabilities(logits)
    assert torch.isfinite(p).all()
    assert p.exp().sum().item() == pytest.approx(1.0, abs=1e-4)


def test_two_ordered_classes_are_bce() -> None:
    logits = torch.linspace(-5, 5, 11)
    y = torch.linspace(0, 1, 11)
    everything = torch.ones(11, dtype=torch.bool)
    both = ordinal(logits[:, None], torch.stack([1 - y, y], dim=1), everything)[0]
    torch.testing.assert_close(both, bce(logits, y, everything)[0])


def test_bradley_terry_by_hand() -> None:
    # sigmoid(log 3) = 3/4; weights 1/2 and 2
    total, weight = bradley_terry(torch.tensor([log(3.0), 0.0]), torch.tensor([1.0, 0.5]), torch.tensor([0.5, 2.0]))
    assert total.item() == pytest.approx(0.5 * log(4 / 3) + 2 * log(2))
    assert weight == 2.5


@given(target=share)
def test_bradley_terry_at_no_difference_is_ln_2_whatever_the_target(target: float) -> None:
    total, _ = bradley_terry(torch.zeros(1), torch.tensor([target]), torch.ones(1))
    assert total.item() == pytest.approx(log(2))


@given(d=number, target=share)
def test_bradley_terry_is_the_same_with_sides_swapped(d: float, target: float) -> None:
    one, _ = bradley_terry(torch.tensor([d]), torch.tensor([target]), torch.ones(1))
    other, _ = bradley_terry(torch.tensor([-d]), torch.tensor([1 - target]), torch.ones(1))
    assert one.item() == pytest.approx(other.item(), rel=1e-4, abs=1e-5)


@given(scores=st.tuples(number, number), shift=number, target=share)
def test_bradley_terry_ignores_a_shift_of_both_sides(scores: tuple[float, float], shift: float, target: float) -> None:
    def loss(a: float, b: float) -> float:
        return bradley_terry(torch.tensor([a - b]), torch.tensor([target]), torch.ones(1))[0].item()

    assert loss(*scores) == pytest.approx(loss(scores[0] + shift, scores[1] + shift), rel=1e-3, abs=1e-3)


def test_bradley_terry_gradient_is_target_minus_probability() -> None:
    d = torch.tensor([0.3, -2.0], requires_grad=True)
    y = torch.tensor([0.75, 0.0])
    bradley_terry(d, y, torch.ones(2))[0].backward()
    torch.testing.assert_close(d.grad, torch.sigmoid(d.detach()) - y)


@pytest.mark.parametrize("extreme", [1e4, -1e4])
def test_extreme_logits_stay_finite(extreme: float) -> None:
    one = torch.tensor([extreme], requires_grad=True)
    cuts = torch.tensor([[extreme, extreme - 1e-8]], requires_grad=True)
    mask = torch.tensor([True])
    losses = [
        bce(one, torch.tensor([0.3]), mask)[0],
        ordinal(cuts, torch.tensor([[0.2, 0.5, 0.3]]), mask)[0],
        bradley_terry(one, torch.tensor([0.3]), torch.ones(1))[0],
    ]
    sum(losses, torch.zeros(())).backward()
    assert all(torch.isfinite(loss) for loss in losses)
    assert torch.isfinite(one.grad).all()
    assert torch.isfinite(cuts.grad).all()


def test_masked_items_add_exactly_nothing_even_where_they_are_not_numbers() -> None:
    nan = float("nan")
    logits = torch.tensor([[1.0, nan]], requires_grad=True)
    mask = torch.tensor([[True, False]])
    bce(logits, torch.tensor([[1.0, nan]]), mask)[0].backward()
    assert logits.grad.tolist() == [[pytest.approx(1 / (1 + exp(-1)) - 1), 0.0]]
    cuts = torch.tensor([[[2.0, 1.0], [nan, nan]]], requires_grad=True)
    ordinal(cuts, torch.tensor([[[0.0, 1.0, 0.0], [nan, nan, nan]]]), mask)[0].backward()
    assert cuts.grad[0, 1].tolist() == [0.0, 0.0]
    assert cuts.grad[0, 0].abs().min() > 0


def test_nothing_labelled_is_a_loss_of_zero_with_a_gradient() -> None:
    logits = torch.ones(2, requires_grad=True)
    total, n = bce(logits, torch.ones(2), torch.zeros(2, dtype=torch.bool))
    total.backward()
    assert (total.item(), n, logits.grad.tolist()) == (0.0, 0.0, [0.0, 0.0])


def test_losses_are_in_fp32_whatever_the_logits_are() -> None:
    mask = torch.tensor([True])
    half = torch.zeros(1, dtype=torch.bfloat16)
    assert bce(half, half, mask)[0].dtype == torch.float32
    assert ordinal(half[:, None], torch.tensor([[0.5, 0.5]]), mask)[0].dtype == torch.float32
    assert bradley_terry(half, half, torch.ones(1))[0].dtype == torch.float32
