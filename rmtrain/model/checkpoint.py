"""A reward model as a folder: weights, backbone configuration, tokenizer and card, and nothing that runs code.

The folder is whole: it holds the backbone even where that was frozen. It appears under its name only
when it is complete.
"""

import json
import shutil
import uuid
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from rmtrain.config.model import EncoderSettings, ScheduleSettings, as_heads
from rmtrain.errors import ModelError
from rmtrain.model.backbone import WEIGHTS, Backbone, file_digest, quiet, without_dropout
from rmtrain.model.network import Card, RewardNetwork
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.store import replace_folder

FORMAT_VERSION = "rmtrain.model/1"
CARD = "rmtrain.json"
_VERSIONS = ("rmtrain", "torch", "transformers")


def save_model(model: RewardNetwork, folder: Path) -> Path:
    """Write a reward model folder, replacing one that is there.

    Returns:
        The folder.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.parent / f".{folder.name}.{uuid.uuid4().hex}.partial"
    partial.mkdir()
    try:
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
        save_file(state, partial / WEIGHTS)
        with quiet():
            model.backbone.model.config.save_pretrained(partial)
            model.backbone.tokenizer.save_pretrained(partial)
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
        card, files = _card(folder, raw), dict(raw["files_sha256"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / CARD} is not as rmtrain wrote it ({error}). Copy the folder again.") from error
    for name, expected in files.items():
        if not (folder / name).is_file():
            raise ModelError(f"{folder} has no {name}. Copy the whole folder, or train again: job=train")
        received = file_digest(folder / name)
        if received != expected:
            raise ModelError(
                f"{folder / name} has SHA-256 {received}, but {CARD} says {expected}. "
                "The file is damaged or was exchanged: copy the folder again."
            )
    with quiet():
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        without_dropout(config)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        with torch.random.fork_rng(devices=[]):
            body = AutoModel.from_config(  # type: ignore[no-untyped-call]
                config, attn_implementation="sdpa", dtype=torch.float32
            )
    backbone = Backbone(body, tokenizer, card.backbone)
    backbone.set_tune("frozen", 0)
    model = RewardNetwork(backbone, card)
    try:
        model.load_state_dict(load_file(folder / WEIGHTS))
    except (RuntimeError, SafetensorError) as error:
        raise ModelError(
            f"{folder / WEIGHTS} does not fit {CARD}: {str(error).splitlines()[0]}. Train again: job=train"
        ) from error
    backbone.is_causal = bool(raw["is_causal"])
    return model.eval()


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a reward model folder as plain data.

    Raises:
        ModelError: there is none, or it is of another format.
    """
    path = folder / CARD
    if not path.is_file():
        raise ModelError(f"{folder} is not a reward model folder: it has no {CARD}. Train one: job=train")
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is not JSON ({error}). Copy the folder again.") from error
    if raw.get("format_version") != FORMAT_VERSION:
        raise ModelError(
            f"{path} has format_version {raw.get('format_version')!r}. Expected '{FORMAT_VERSION}': "
            "train again with this version of rmtrain, or install the one that wrote it "
            f"({raw.get('versions', {}).get('rmtrain', 'unknown')})."
        )
    return raw


def _card(folder: Path, raw: dict[str, Any]) -> Card:
    held = {field.name: raw[field.name] for field in fields(Card)}
    held["heads"] = as_heads(held["heads"])
    held["encoder"] = EncoderSettings(**held["encoder"])
    held["schedule"] = ScheduleSettings(**held["schedule"])
    card = Card(**held)
    current = render_hash(RenderOptions(markers=card.encoder.markers))
    if card.render_hash != current:
        raise ModelError(
            f"{folder} was trained on text of form {card.render_hash}, but this version renders {current}. "
            "Train again: job=train"
        )
    return card
