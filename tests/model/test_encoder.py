import pytest
import torch

from rmtrain.config.model import EncoderSettings
from rmtrain.errors import ConfigError
from rmtrain.model.encoder import TrajectoryEncoder, positions


def settings(layers: int = 2, heads: int = 4, causal: bool = False, dropout: float = 0.0) -> EncoderSettings:
    return EncoderSettings(layers=layers, attention_heads=heads, causal=causal, dropout=dropout)


def test_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    encoder = TrajectoryEncoder(16, settings()).eval()
    vectors = torch.randn(1, 4, 16)
    alone = encoder(vectors, torch.ones(1, 3, dtype=torch.bool))
    padded = torch.cat([vectors, torch.full((1, 2, 16), 9.0)], dim=1)
    mask = torch.tensor([[True, True, True, False, False]])
    found = encoder(padded, mask)
    torch.testing.assert_close(found[:, :4], alone, atol=1e-6, rtol=0)
    assert (found[:, 4:] == 0).all()


@pytest.mark.parametrize(("causal", "leaks"), [(True, False), (False, True)])
def test_a_causal_encoder_does_not_look_ahead(causal: bool, leaks: bool) -> None:
    torch.manual_seed(0)
    encoder = TrajectoryEncoder(16, settings(causal=causal)).eval()
    one = torch.randn(1, 6, 16)
    other = one.clone()
    other[:, 4:] = torch.randn(1, 2, 16)
    mask = torch.ones(1, 5, dtype=torch.bool)
    difference = (encoder(one, mask) - encoder(other, mask))[:, :4].abs().max().item()
    assert (difference > 1e-3) if leaks else (difference <= 1e-6)


def test_without_layers_the_raw_vectors_pass() -> None:
    encoder = TrajectoryEncoder(16, settings(layers=0, heads=5))
    vectors = torch.randn(2, 3, 16)
    found = encoder(vectors, torch.tensor([[True, True], [True, False]]))
    assert encoder.width == 16
    torch.testing.assert_close(found[0], torch.nn.functional.layer_norm(vectors[0], (16,)))
    assert (found[1, 2] == 0).all()


def test_any_number_of_steps_has_a_position_of_its_own() -> None:
    found = positions(600, 16)
    assert found.shape == (600, 16)
    assert torch.cdist(found[:200], found[:200]).fill_diagonal_(1.0).min() > 1e-2
    torch.testing.assert_close(found[0], torch.tensor([0.0, 1.0] * 8))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (settings(heads=5), "attention_heads is 5, which does not divide the backbone's 16 .* 1, 2, 4, 8, 16"),
        (settings(layers=-1), "encoder.layers is -1"),
        (settings(dropout=1.0), r"encoder.dropout is 1.0. Expected a number in \[0, 1\)"),
    ],
)
def test_settings_that_cannot_be_built_are_refused(given: EncoderSettings, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        TrajectoryEncoder(16, given)
