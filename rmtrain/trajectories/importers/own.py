"""Our own rows, as every job writes them: read again, checked, ids kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Converted, Place, Raw
from rmtrain.trajectories.importers.rows import read_rows
from rmtrain.trajectories.schema import SCHEMA_VERSION, Trajectory
from rmtrain.trajectories.store import what_is_wrong


class Own:
    """Importer of ``trajectories.jsonl`` files."""

    name = "jsonl"

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        return read_rows(path, file)

    def signs(self, payload: Any) -> str | None:
        version = payload.get("schema_version") if isinstance(payload, dict) else None
        is_ours = isinstance(version, str) and version.startswith("rmtrain.trajectory/")
        return f"'schema_version' {version}" if is_ours else None

    def convert(self, raw: Raw) -> Converted:
        if self.signs(raw.payload) is None:
            raise DataError(f"it is no trajectory of ours: it lacks schema_version '{SCHEMA_VERSION}'")
        try:
            trajectory = Trajectory.model_validate(raw.payload, strict=False)
        except ValidationError as error:
            raise DataError(what_is_wrong(error)) from None
        steps = trajectory.steps
        placed: dict[Place, int] = {
            "task": 1 + bool(trajectory.task.context),
            "step": len(steps),
            "context": sum(len(step.context) for step in steps),
            "observation": sum(len(step.observations) for step in steps),
            "extra": len(trajectory.extra.get("trailing_messages", ())),
        }
        return Converted(trajectory, placed)
