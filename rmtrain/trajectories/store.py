"""Records on disk: one JSON object a line, written whole or not at all, read one at a time.

The same two functions serve trajectories, verdicts, annotations and quarantined rows; a name that ends in
``.gz`` is compressed. What cannot be read back equal (NaN, half a surrogate pair) is refused when written.
"""

import gzip
import json
import os
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError

from rmtrain.errors import DataError
from rmtrain.trajectories.disk import remove_leftovers
from rmtrain.trajectories.schema import Trajectory

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)


@runtime_checkable
class Adapter(Protocol[Row_co]):
    """What turns a line into a record of one of several kinds; pydantic's `TypeAdapter` is one."""

    def validate_json(self, data: bytes, /) -> Row_co: ...


def write(path: Path | str, rows: Iterable[BaseModel]) -> int:
    """Write records to a file, replacing it only once all of them are safely on disk.

    Args:
        path: the file; missing folders are made. Equal rows give equal bytes, also when compressed.
        rows: records; they may come from reading the same file.

    Returns:
        Number of records written.

    Raises:
        DataError: a record cannot be stored, two trajectories have one id, or the file cannot be written (the
            disk is full, …); the old file is then unchanged.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    lines = _Lines(path, rows)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent, f".{target.name}.", ".part")
        with ExitStack() as stack:
            raw = file = stack.enter_context(part.open("wb"))
            if target.name.endswith(".gz"):
                file = cast(BufferedWriter, stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)))
            for line in lines:
                file.write(line)
        with part.open("rb+") as raw_again:  # a compressed file is complete only when closed
            os.fsync(raw_again.fileno())
        os.replace(part, target)
    except OSError as error:
        if lines.failed:
            raise
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}). What was there before is unchanged"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return lines.count


def read(path: Path | str, kind: type[Row] | Adapter[Row], unique: str | None = None) -> Iterator[Row]:
    """Read records one at a time.

    Args:
        path: a file that `write` made.
        kind: the record, or the adapter of a union of records.
        unique: a field whose value may occur once in the file; None asks it of ``trajectory_id`` where `kind` is
            `Trajectory`, else of no field.

    Raises:
        DataError: the file is absent or damaged, or a line is not such a record; the message starts with
            ``file:line``.
    """
    path = Path(path)
    adapter: Adapter[Row] = TypeAdapter(kind) if isinstance(kind, type) else kind
    key = "trajectory_id" if unique is None and kind is Trajectory else unique
    seen: dict[Any, int] = {}
    for number, line in _read_lines(path):
        where = f"{path}:{number}"
        try:
            if b"NaN" in line or b"Infinity" in line:  # pydantic would accept both where any value is allowed
                json.loads(line, parse_constant=_refuse_constant)
            row = adapter.validate_json(line)
        except ValidationError as error:
            raise DataError(f"{where}: {what_is_wrong(error)}") from error
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        if isinstance(row, BaseModel) and "schema_version" in type(row).model_fields.keys() - row.model_fields_set:
            expected = type(row).model_fields["schema_version"].default
            raise DataError(f"{where}: it has no schema_version. Expected: '{expected}'")
        if key is not None:
            value = getattr(row, key)
            if value in seen:
                raise DataError(f"{where}: {key} '{value}' is already in line {seen[value]}. Each may occur once")
            seen[value] = number
        yield row


class _Lines:
    """Records as lines; remembers whether an exception came from the records instead of the disk."""

    def __init__(self, path: Path, rows: Iterable[BaseModel]) -> None:
        self.path = path
        self.rows = rows
        self.count = 0
        self.failed = False

    def __iter__(self) -> Iterator[bytes]:
        seen: set[str] = set()
        try:
            for row in self.rows:
                self.count += 1
                if isinstance(row, Trajectory):
                    if row.trajectory_id in seen:
                        raise DataError(f"{self._here()}: trajectory_id '{row.trajectory_id}' is already in it")
                    seen.add(row.trajectory_id)
                yield self._line(row)
        except BaseException as error:
            self.failed = not isinstance(error, GeneratorExit)
            raise

    def _line(self, row: BaseModel) -> bytes:
        try:
            text = json.dumps(row.model_dump(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return text.encode("utf-8") + b"\n"
        except ValueError as error:  # NaN, infinity, half a surrogate pair
            raise DataError(f"{self._here()}: it cannot be stored as JSON ({error})") from error

    def _here(self) -> str:
        return f"{self.path}: row {self.count}"


def _read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
            while line := file.readline():
                number += 1
                if line.strip():
                    yield number, line
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}:{number + 1}: cannot be read from here on ({error})") from error


def what_is_wrong(error: ValidationError) -> str:
    """The first fault of a record, as a sentence without its place."""
    first = error.errors(include_url=False)[0]
    names = ".".join(str(part) for part in first["loc"])
    shown = repr(first["input"])
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    if first["type"] == "json_invalid":
        return f"not valid JSON ({first['ctx']['error']})"
    if first["loc"] and first["loc"][-1] == "schema_version":
        return f"schema_version {shown} is not known. Expected: {first['ctx']['expected']}"
    if first["type"] == "missing":
        return f"field '{names}' is missing"
    if first["type"] == "extra_forbidden":
        return f"field '{names}' is not known"
    what = first["msg"].removeprefix("Value error, ")
    return f"field '{names}' is {shown}: {what}" if names else what


def _refuse_constant(name: str) -> None:
    raise ValueError(f"not valid JSON ({name} is no value; an absent one is null)")


def replace_folder(made: Path, folder: Path) -> None:
    """Put a folder that is complete in the place of another, which is kept until then and deleted after.

    Args:
        made: the new folder, on the same disk.
        folder: where it belongs; it need not exist.
    """
    if folder.exists():
        old = folder.parent / f".{folder.name}.{uuid.uuid4().hex}.old"
        os.replace(folder, old)
        os.replace(made, folder)
        shutil.rmtree(old)
    else:
        os.replace(made, folder)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is on disk
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
