import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmtrain.config.model import BackboneSettings, HeadSettings, ScheduleSettings
from rmtrain.errors import ConfigError, ModelError
from rmtrain.model.checkpoint import continued, load_model, save_model
from rmtrain.model.folder import read_card
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import predict
from rmtrain.model.train import LabelledSet

KEYS = ("heads", "encoder", "schedule", "backbone", "backbone_digest", "tune", "render_hash", "is_causal")


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_a_reloaded_model_gives_the_same_bit_for_bit(
    kind: str,
    build: Callable[..., RewardNetwork],
    labelled: Callable[..., LabelledSet],
    bert_folder: Path,
    llama_folder: Path,
    tmp_path: Path,
) -> None:
    model = build(folder=bert_folder if kind == "bert" else llama_folder)
    examples = labelled(6).examples
    before = predict(model, examples).items
    loaded = load_model(save_model(model, tmp_path / "deep" / "model"))
    after = predict(loaded, examples).items
    for a, b in zip(before, after, strict=True):
        assert all(np.array_equal(a.logits[name], b.logits[name]) for name in a.logits)
    assert loaded.card == model.card
    assert loaded.backbone.is_causal == (kind == "llama")
    assert not loaded.training


def test_a_folder_holds_no_code_and_replaces_an_older_one(build: Callable[..., RewardNetwork], tmp_path: Path) -> None:
    save_model(build(heads={"old": HeadSettings()}), tmp_path / "model")
    folder = save_model(build(), tmp_path / "model")
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}
    assert list(read_card(folder)["heads"]) == ["correctness", "step_quality", "consistency"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def change(**values: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        card = json.loads((folder / "rmtrain.json").read_text())
        (folder / "rmtrain.json").write_text(json.dumps(card | values))

    return apply


def without(key: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        card = json.loads((folder / "rmtrain.json").read_text())
        del card[key]
        (folder / "rmtrain.json").write_text(json.dumps(card))

    return apply


def damage(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (change(format_version="rmtrain.model/0"), "format_version 'rmtrain.model/0'. Expected 'rmtrain.model/1'"),
        (change(render_hash="cafe"), "trained on text of form cafe, but this version renders"),
        (damage, r"model.safetensors has SHA-256 \w+, but rmtrain.json says"),
        (lambda folder: (folder / "rmtrain.json").unlink(), "is not a reward model folder: it has no rmtrain.json"),
        (lambda folder: (folder / "rmtrain.json").write_text("{"), "rmtrain.json is not JSON"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no model.safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer.json"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"tokenizer.json has SHA-256 \w+, but"),
        (lambda folder: (folder / "config.json").write_text("{}"), r"config.json has SHA-256 \w+, but"),
        (change(heads=None), "rmtrain.json is not as rmtrain wrote it"),
        (change(files_sha256=3), "rmtrain.json is not as rmtrain wrote it"),
        (change(files_sha256={}), "rmtrain.json is not as rmtrain wrote it"),
        (change(weights_sha256="0"), "rmtrain.json is not as rmtrain wrote it"),
        (change(is_causal=None), "rmtrain.json is not as rmtrain wrote it .is_causal is neither"),
        (change(tune=3), "rmtrain.json is not as rmtrain wrote it"),
        (change(encoder={"layers": "two"}), "rmtrain.json is not as rmtrain wrote it"),
        (change(encoder={"window": 3}), "rmtrain.json is not as rmtrain wrote it"),
        (change(heads={}), "does not fit rmtrain.json: heads is empty"),
        (change(heads={"a": {"objective": "none"}}), "does not fit rmtrain.json: heads.a: unknown objective 'none'"),
        *((without(key), f"rmtrain.json is not as rmtrain wrote it .it has no {key}") for key in KEYS),
        (without("files_sha256"), "rmtrain.json is not as rmtrain wrote it"),
        (without("weights_sha256"), "rmtrain.json is not as rmtrain wrote it"),
        (change(heads={"another": {}}), "does not fit rmtrain.json"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    spoil: Callable[[Path], None], match: str, build: Callable[..., RewardNetwork], tmp_path: Path
) -> None:
    folder = save_model(build(), tmp_path / "model")
    spoil(folder)
    with pytest.raises(ModelError, match=match):
        load_model(folder)


@pytest.mark.parametrize("size", [0, 30_000])  # at the first byte, and after some
def test_on_a_full_disk_the_older_model_stays_and_no_part_of_the_new_one(
    size: int, build: Callable[..., RewardNetwork], full_disk: Callable[..., Any], tmp_path: Path
) -> None:
    save_model(build(heads={"old": HeadSettings()}), tmp_path / "model")
    model = build()
    with full_disk(size), pytest.raises(ModelError, match=r"model cannot be written \(.+\)\. Free some space"):
        save_model(model, tmp_path / "model")
    assert list(load_model(tmp_path / "model").card.heads) == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_tokenizer_that_cannot_be_written_is_a_full_disk_too(
    build: Callable[..., RewardNetwork], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build()

    def full(folder: Path) -> None:
        raise Exception("No space left on device (os error 28)")  # what the library of tokenizers raises

    monkeypatch.setattr(model.backbone.tokenizer, "save_pretrained", full)
    with pytest.raises(ModelError, match=r"model cannot be written \(No space left on device"):
        save_model(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_no_folder(build: Callable[..., RewardNetwork], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"file/model cannot be written \(Not a directory\)"):
        save_model(build(), tmp_path / "file" / "model")


def test_a_model_goes_on_with_the_heads_that_are_named(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], tmp_path: Path
) -> None:
    model, examples = build(), labelled(6).examples
    folder = save_model(model, tmp_path / "model")
    heads = {"step_quality": model.card.heads["step_quality"]}
    further = continued(folder, BackboneSettings(tune="top", top_layers=1), heads, ScheduleSettings())
    assert list(further.card.heads) == ["step_quality"]
    assert (further.card.tune, further.card.backbone) == ("top", str(folder))
    assert any(parameter.requires_grad for parameter in further.backbone.parameters())
    for before, after in zip(predict(model, examples).items, predict(further, examples).items, strict=True):
        assert np.array_equal(before.logits["step_quality"], after.logits["step_quality"])


@pytest.mark.parametrize(
    "heads", [{"charm": HeadSettings()}, {"step_quality": HeadSettings(level="step", objective="ordinal", classes=4)}]
)
def test_a_head_that_the_model_lacks_is_not_made_up(
    heads: dict[str, HeadSettings], build: Callable[..., RewardNetwork], tmp_path: Path
) -> None:
    folder = save_model(build(), tmp_path / "model")
    with pytest.raises(
        ConfigError, match=r"has no head '.*' of level .*It has: correctness, step_quality, consistency"
    ):
        continued(folder, BackboneSettings(), heads, ScheduleSettings())


def test_a_folder_of_something_else_is_kept(build: Callable[..., RewardNetwork], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").touch()
    with pytest.raises(ModelError, match="holds something other than a reward model, which would be lost"):
        save_model(build(), tmp_path / "model")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["thesis.txt"]
