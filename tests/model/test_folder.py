"""A reward model folder is read as it was written or refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.errors import ModelError
from rmtrain.model.folder import CARD, FORMAT_VERSION, WEIGHTS, check_files, file_digest, is_reward_model, read_card

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, example B.1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / WEIGHTS).write_bytes(b"abc")
    (tmp_path / CARD).write_text(
        json.dumps({"format_version": FORMAT_VERSION, "weights_sha256": ABC, "files_sha256": {WEIGHTS: ABC}})
    )
    return tmp_path


def test_a_digest_by_the_book(folder: Path) -> None:
    assert file_digest(folder / WEIGHTS) == ABC


def test_a_whole_folder_passes(folder: Path) -> None:
    assert is_reward_model(folder)
    check_files(folder, read_card(folder))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("[]", r"rmtrain\.json holds no mapping\. Copy the folder again"),
        ("null", r"rmtrain\.json holds no mapping"),
        ("{", r"rmtrain\.json is not JSON"),
        ("{}", r"format_version None\. Expected 'rmtrain\.model/1'.*the one that wrote it \(unknown\)"),
        ('{"format_version": "x", "versions": []}', r"format_version 'x'.*\(unknown\)"),
        ('{"format_version": "x", "versions": {"rmtrain": "9.1"}}', r"the one that wrote it \(9\.1\)"),
    ],
)
def test_a_card_that_is_none(content: str, match: str, folder: Path) -> None:
    (folder / CARD).write_text(content)
    with pytest.raises(ModelError, match=match):
        read_card(folder)


def test_an_absent_card_is_no_reward_model(tmp_path: Path) -> None:
    assert not is_reward_model(tmp_path)
    with pytest.raises(ModelError, match=r"is not a reward model folder: it has no rmtrain\.json\. Train one"):
        read_card(tmp_path)


def test_files_that_may_not_be_read_are_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = read_card(folder)

    def closed(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read \(Permission denied\)\. Mend its rights"):
        check_files(folder, card)
    monkeypatch.setattr(Path, "read_text", closed)
    with pytest.raises(ModelError, match=r"rmtrain\.json cannot be read \(Permission denied\)\. Mend its rights"):
        read_card(folder)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"files_sha256": {WEIGHTS: ABC, "config.json": ABC}}, r"has no config\.json\. Copy the whole folder"),
        ({"files_sha256": {WEIGHTS: "0"}, "weights_sha256": "0"}, r"has SHA-256 ba78\w+, but rmtrain\.json says 0\."),
        ({"files_sha256": {WEIGHTS: "0"}}, r"is not as rmtrain wrote it"),
        ({"files_sha256": None}, r"is not as rmtrain wrote it"),
        ({"files_sha256": {}, "weights_sha256": None}, r"is not as rmtrain wrote it"),
    ],
)
def test_files_that_were_exchanged(change: dict[str, Any], match: str, folder: Path) -> None:
    with pytest.raises(ModelError, match=match):
        check_files(folder, read_card(folder) | change)
