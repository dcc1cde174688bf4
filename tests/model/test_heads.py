from math import log

import pytest
import torch

from rmtrain.config.model import HeadSettings
from rmtrain.model.heads import Head, Heads, class_probabilities, head_values, n_logits


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        (HeadSettings(), (2, 1)),
        (HeadSettings(level="step"), (2, 3, 1)),
        (HeadSettings(objective="ordinal", classes=4), (2, 3)),
        (HeadSettings(level="step", objective="ordinal", classes=3), (2, 3, 2)),
        (HeadSettings(objective="bradley_terry"), (2, 1)),
    ],
)
def test_shapes_follow_level_and_objective(head: HeadSettings, shape: tuple[int, ...]) -> None:
    found = Head(head, 8, 0.0)(torch.randn(2, 4, 8), torch.ones(2, 3, dtype=torch.bool))
    assert found.shape == shape
    assert found.shape[-1] == n_logits(head)


def test_an_ordinal_head_starts_with_equal_classes_and_keeps_its_order() -> None:
    head = Head(HeadSettings(objective="ordinal", classes=4), 8, 0.0)
    # cut points where a latent of 0 gives each class 1/4
    assert head.cut_points().tolist() == pytest.approx([-log(3), 0.0, log(3)], abs=1e-5)
    with torch.no_grad():
        head.gaps.copy_(torch.tensor([-50.0, 3.0]))
    assert head.cut_points().diff().min() > 0


def test_a_trajectory_head_does_not_see_padding() -> None:
    head = Head(HeadSettings(), 8, 0.0)
    with torch.no_grad():
        head.query.copy_(torch.randn(8))
    slots = torch.randn(1, 5, 8)
    short = head(slots[:, :3], torch.ones(1, 2, dtype=torch.bool))
    padded = head(slots, torch.tensor([[True, True, False, False]]))
    torch.testing.assert_close(short, padded)


def test_values_by_hand() -> None:
    # P(y > 0) = 3/4 and P(y > 1) = 1/4: expected class 1 of at most 2
    cumulative = torch.tensor([log(3.0), -log(3.0)])
    assert head_values(HeadSettings(objective="ordinal", classes=3), cumulative).item() == pytest.approx(0.5)
    assert class_probabilities(cumulative).tolist() == pytest.approx([0.25, 0.5, 0.25])
    assert head_values(HeadSettings(), torch.tensor([log(3.0)])).item() == pytest.approx(0.75)
    assert head_values(HeadSettings(objective="bradley_terry"), torch.tensor([-7.5])).item() == -7.5


def test_the_expected_class_is_that_of_the_probabilities() -> None:
    logits = torch.tensor([2.0, 0.5, -0.3])
    expected = (class_probabilities(logits) * torch.arange(4)).sum() / 3
    torch.testing.assert_close(head_values(HeadSettings(objective="ordinal", classes=4), logits), expected)


def test_heads_are_named_and_each_has_its_own_weights() -> None:
    heads = Heads({"a": HeadSettings(), "b": HeadSettings(level="step")}, 8, 0.0)
    found = heads(torch.randn(2, 4, 8), torch.ones(2, 3, dtype=torch.bool))
    assert list(found) == ["a", "b"]
    assert {name.split(".")[1] for name, _ in heads.named_parameters()} == {"a", "b"}
