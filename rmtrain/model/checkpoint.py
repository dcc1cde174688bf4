"""A reward model as a folder: weights, backbone configuration, tokenizer and card, and nothing that runs code.

The folder is whole: it holds the backbone even where that was frozen. It appears under its name only
when it is complete.
"""

import json
import shutil
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings, as_heads
from rmtrain.disk import replace_folder, unfinished
from rmtrain.errors import ConfigError, ModelError, first_line
from rmtrain.model.backbone import Backbone
from rmtrain.model.folder import CARD, FORMAT_VERSION, WEIGHTS, check_files, file_digest, is_reward_model, read_card
from rmtrain.model.network import Card, RewardNetwork
from rmtrain.model.pretrained import load_tokenizer, quiet, random_body, save_tokenizer, without_dropout
from rmtrain.trajectories.render import RenderOptions, render_hash

_VERSIONS = ("rmtrain", "torch", "transformers")


def save_model(model: RewardNetwork, folder: Path) -> Path:
    """Write a reward model folder, replacing one that is there.

    Returns:
        The folder.

    Raises:
        ModelError: it cannot be written; what was there before is unchanged.
    """
    if folder.is_dir() and any(folder.iterdir()) and not is_reward_model(folder):
        raise ModelError(
            f"{folder} holds something other than a reward model, which would be lost. Name another folder."
        )
    partial = unfinished(folder)
    try:
        partial.mkdir(parents=True)
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
        save_file(state, partial / WEIGHTS)
        with quiet():
            model.backbone.model.config.save_pretrained(partial)
            save_tokenizer(model.backbone.tokenizer, partial)
        card = {
            "format_version": FORMAT_VERSION,
            **asdict(model.card),
            "is_causal": model.backbone.is_causal,
            "weights_sha256": file_digest(partial / WEIGHTS),
            "files_sha256": {path.name: file_digest(path) for path in sorted(partial.iterdir())},
            "versions": {name: version(name) for name in _VERSIONS},
        }
        (partial / CARD).write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        replace_folder(partial, folder)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{folder} cannot be written ({getattr(error, 'strerror', None) or first_line(error)}). "
            "Free some space or mend its rights; what was there before is unchanged."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def load_model(folder: Path) -> RewardNetwork:
    """Read a reward model folder.

    Returns:
        The model in fp32 on the CPU, in evaluation mode; its outputs are those of the saved one.

    Raises:
        ModelError: a file is missing or damaged, or the folder was written for another format or text form.
    """
    raw = read_card(folder)
    try:
        card, is_causal = _card(raw), raw["is_causal"]
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / CARD} is not as rmtrain wrote it ({error}). Copy the folder again.") from error
    current = render_hash(RenderOptions(markers=card.encoder.markers))
    if card.render_hash != current:
        raise ModelError(
            f"{folder} was trained on text of form {card.render_hash}, but this version renders {current}. "
            "Train again: job=train"
        )
    check_files(folder, raw)
    try:
        with quiet():
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
            without_dropout(config)
            tokenizer = load_tokenizer(folder, trust_remote_code=False)
            body = random_body(config)
        backbone = Backbone(body, tokenizer, card.backbone)
        backbone.set_tune("frozen", 0)
        model = RewardNetwork(backbone, card)
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (ConfigError, OSError, RuntimeError, SafetensorError, ValueError) as error:
        raise ModelError(
            f"{folder / WEIGHTS} does not fit {CARD}: {first_line(error)}. Train again: job=train"
        ) from error
    backbone.is_causal = is_causal
    return model.eval()


def continued(
    folder: Path, backbone: BackboneSettings, heads: dict[str, HeadSettings], schedule: ScheduleSettings
) -> RewardNetwork:
    """A reward model to be trained further: its backbone, its trajectory encoder and those of its heads that are named.

    Args:
        folder: of the reward model.
        backbone: what of its backbone is trained; the other settings are not looked at.
        heads: those of the new model, all of them heads of the old one.
        schedule: how loss weights will move.

    Raises:
        ModelError: as `load_model`.
        ConfigError: the old model lacks a head or has another of that name, or `backbone.tune` is unknown or names
            too many layers.
    """
    old = load_model(folder)
    for name, head in heads.items():
        held = old.card.heads.get(name)
        if held is None or (held.level, held.objective, held.classes) != (head.level, head.objective, head.classes):
            raise ConfigError(
                f"{folder} has no head '{name}' of level {head.level}, objective {head.objective} and {head.classes} "
                f"classes to go on from. It has: {', '.join(old.card.heads)}. Name another model, or start without one."
            )
    card = replace(old.card, heads=dict(heads), schedule=schedule, backbone=str(folder), tune=backbone.tune)
    with torch.random.fork_rng(devices=[]):
        model = RewardNetwork(old.backbone, card)
    weights = old.scorer.state_dict()
    model.scorer.load_state_dict({name: weights[name] for name in model.scorer.state_dict()})
    model.backbone.set_tune(backbone.tune, backbone.top_layers)
    return model


def _card(raw: dict[str, Any]) -> Card:
    names = [field.name for field in fields(Card)]
    absent = [name for name in (*names, "is_causal") if name not in raw]
    if absent or not isinstance(raw["is_causal"], bool):
        raise ValueError(f"it has no {absent[0]}" if absent else "is_causal is neither true nor false")
    held = {name: raw[name] for name in names}
    typed = {
        **held,
        "heads": as_heads(held["heads"]),
        "encoder": EncoderSettings(**held["encoder"]),
        "schedule": ScheduleSettings(**held["schedule"]),
    }
    try:
        TypeAdapter(Card).validate_json(json.dumps(held), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    return Card(**typed)
