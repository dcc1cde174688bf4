"""Logs of a format that is found out: each file is what the first row of it that some importer knows says."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Converted, Importer, Raw
from rmtrain.trajectories.importers.rows import read_rows
from rmtrain.trajectories.importers.strict_json import kind_of


class Auto:
    """Importer that hands each file to the importer that knows it.

    Args:
        importers: the candidates; where several know a row, the first is taken.

    Attributes:
        chosen: the importer of the file that is being read; None where none knows it.
        why: the keys by which it was known, in words.
    """

    name = "auto"

    def __init__(self, importers: Sequence[Importer]) -> None:
        self.importers = tuple(importers)
        self.chosen: Importer | None = None
        self.why = ""

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        self.chosen, self.why = None, ""
        for raw in read_rows(path, file, is_message=_is_message):
            if raw.error is None and self._chooses(raw.payload):
                break
        reader = read_rows(path, file, is_message=_is_message) if self.chosen is None else self.chosen.read(path, file)
        yield from reader

    def signs(self, payload: Any) -> str | None:
        return next((signs for importer in self.importers if (signs := importer.signs(payload)) is not None), None)

    def convert(self, raw: Raw) -> Converted:
        if self.chosen is not None:
            return self.chosen.convert(raw)
        known = ", ".join(importer.name for importer in self.importers)
        keys = list(raw.payload) if isinstance(raw.payload, dict) else None
        held = kind_of(raw.payload) if keys is None else f"an object with {', '.join(keys[:9]) or 'nothing'}"
        raise DataError(
            f"it is {held}, which is no row of a known format ({known}). Where it holds chat messages, name their "
            "field: source=openai source.fields.messages=NAME"
        )

    def _chooses(self, payload: Any) -> bool:
        for importer in self.importers:
            signs = importer.signs(payload)
            if signs is not None:
                self.chosen, self.why = importer, signs
                return True
        return False


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value
