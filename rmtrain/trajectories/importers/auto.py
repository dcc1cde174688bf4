"""Logs of a format that is found out: each file is what the first row of it that some importer knows says."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Converted, Importer, Raw
from rmtrain.trajectories.importers.openai import is_message
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
        for raw in read_rows(path, file, is_message=is_message):
            if raw.error is None and (known := self._known(raw.payload)):
                self.chosen, self.why = known
                yield from self.chosen.read(path, file)
                return
        yield from read_rows(path, file, is_message=is_message)

    def signs(self, payload: Any) -> str | None:
        known = self._known(payload)
        return None if known is None else known[1]

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

    def _known(self, payload: Any) -> tuple[Importer, str] | None:
        """The first importer that knows a row, and by what."""
        for importer in self.importers:
            if (signs := importer.signs(payload)) is not None:
                return importer, signs
        return None
