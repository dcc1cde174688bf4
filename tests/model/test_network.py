from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings
from rmtrain.errors import ConfigError
from rmtrain.model.network import RewardNetwork, new_model
from rmtrain.trajectories.render import RenderOptions, render_hash


def test_new_weights_follow_the_seed_and_leave_the_random_state_alone(
    bert_folder: Path, encoder: EncoderSettings
) -> None:
    def new(seed: int) -> torch.Tensor:
        backbone = BackboneSettings(name=str(bert_folder), package_path=None)
        model = new_model(backbone, encoder, {"a": HeadSettings()}, ScheduleSettings(), seed=seed)
        return torch.cat([parameter.flatten() for parameter in model.scorer.parameters()])

    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert torch.equal(new(1), new(1))
    assert not torch.equal(new(1), new(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_card_says_how_text_was_rendered(build: Callable[..., RewardNetwork], encoder: EncoderSettings) -> None:
    assert build().card.render_hash == render_hash()
    assert build(encoder=replace(encoder, markers=True)).card.render_hash == render_hash(RenderOptions(markers=True))


def test_windows_longer_than_the_backbone_are_refused(
    build: Callable[..., RewardNetwork], encoder: EncoderSettings
) -> None:
    with pytest.raises(ConfigError, match="window_tokens is 256, but the backbone reads at most 128"):
        build(encoder=replace(encoder, window_tokens=256))


def test_every_class_has_a_name(bert_folder: Path, encoder: EncoderSettings) -> None:
    backbone = BackboneSettings(name=str(bert_folder), package_path=None)
    heads = {"q": HeadSettings(level="step", objective="ordinal", classes=3, class_names=["bad", "good"])}
    with pytest.raises(ConfigError, match=r"heads\.q has 3 classes, but 2 class names: bad, good"):
        new_model(backbone, encoder, heads, ScheduleSettings())
