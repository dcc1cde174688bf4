"""The files of a reward model folder: their names, and whether they are those that were written."""

import hashlib
import json
from pathlib import Path
from typing import Any

from rmtrain.errors import ModelError

FORMAT_VERSION = "rmtrain.model/1"
CARD = "rmtrain.json"
WEIGHTS = "model.safetensors"
BACKBONE = "backbone.model."
"""What the names of the backbone's weights begin with."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_reward_model(folder: Path) -> bool:
    """Whether a folder is a reward model's, damaged or not."""
    return (folder / CARD).is_file()


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a reward model folder as plain data.

    Raises:
        ModelError: there is none, it does not read, or it is of another format.
    """
    path = folder / CARD
    try:
        if not is_reward_model(folder):
            raise ModelError(f"{folder} is not a reward model folder: it has no {CARD}. Train one: job=train")
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}). Mend its rights, or copy the folder.") from error
    except ValueError as error:
        raise ModelError(f"{path} is not JSON ({error}). Copy the folder again.") from error
    if not isinstance(raw, dict):
        raise ModelError(f"{path} holds no mapping. Copy the folder again.")
    if raw.get("format_version") != FORMAT_VERSION:
        versions = raw.get("versions")
        writer = versions.get("rmtrain", "unknown") if isinstance(versions, dict) else "unknown"
        raise ModelError(
            f"{path} has format_version {raw.get('format_version')!r}. Expected '{FORMAT_VERSION}': "
            f"train again with this version of rmtrain, or install the one that wrote it ({writer})."
        )
    return raw


def check_files(folder: Path, raw: dict[str, Any]) -> None:
    """Check that every file is there and the one that was written.

    Args:
        folder: the folder.
        raw: its card.

    Raises:
        ModelError: naming the first file that is not; or the card does not say which files there are.
    """
    files = raw.get("files_sha256")
    if not isinstance(files, dict) or files.get(WEIGHTS) is None or files[WEIGHTS] != raw.get("weights_sha256"):
        raise ModelError(
            f"{folder / CARD} is not as rmtrain wrote it (files_sha256 and weights_sha256 name no weights, or two). "
            "Copy the folder again."
        )
    for name, expected in files.items():
        try:
            received = file_digest(folder / name)
        except FileNotFoundError as error:
            raise ModelError(f"{folder} has no {name}. Copy the whole folder, or train again: job=train") from error
        except OSError as error:
            raise ModelError(
                f"{folder / name} cannot be read ({error.strerror}). Mend its rights, or copy the folder."
            ) from error
        if received != expected:
            raise ModelError(
                f"{folder / name} has SHA-256 {received}, but {CARD} says {expected}. "
                "The file is damaged or was exchanged: copy the folder again."
            )
