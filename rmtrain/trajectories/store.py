"""Records on disk: one JSON object a line, written whole or not at all, read one at a time.

The same functions serve trajectories, verdicts, annotations and quarantined rows; a name that ends in
``.gz`` is compressed. What cannot be read back equal (NaN, half a surrogate pair) is refused when written.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError

from rmtrain.disk import kind_at, remove_leftovers
from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Trajectory

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)


@runtime_checkable
class Adapter(Protocol[Row_co]):
    """What turns a line into a record of one of several kinds; pydantic's `TypeAdapter` is one."""

    def validate_json(self, data: bytes, /) -> Row_co: ...


class Writer:
    """One of the files that `writing` opens.

    Attributes:
        path: the file as it was named.
        count: records written so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._target = Path(os.path.realpath(path))
        self._part = self._target.with_name(f".{self._target.name}.{os.getpid()}.part")
        self._stack = ExitStack()
        self._seen: set[str] = set()

    def add(self, row: BaseModel) -> None:
        """Write one record.

        Raises:
            DataError: it cannot be stored, another trajectory has its id, or the disk is full.
        """
        self.count += 1
        if isinstance(row, Trajectory):
            if row.trajectory_id in self._seen:
                raise DataError(f"{self._here()}: trajectory_id '{row.trajectory_id}' is already in it")
            self._seen.add(row.trajectory_id)
        try:
            text = json.dumps(row.model_dump(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            line = text.encode("utf-8") + b"\n"
        except ValueError as error:  # NaN, infinity, half a surrogate pair
            raise DataError(f"{self._here()}: it cannot be stored as JSON ({error})") from error
        with self._disk():
            self._file.write(line)

    def _here(self) -> str:
        return f"{self.path}: row {self.count}"

    def _open(self) -> None:
        if kind_at(self._target) not in ("file", None):
            raise DataError(f"{self.path}: is a {kind_at(self._target)}, so nothing can be written there. Name a file")
        with self._disk():
            self._target.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self._target.parent, f".{self._target.name}.", ".part")
            file = self._stack.enter_context(self._part.open("wb"))
            if self._target.name.endswith(".gz"):
                packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
                file = cast(BufferedWriter, self._stack.enter_context(packed))
            self._file = file

    def _finish(self) -> None:
        with self._disk():
            self._stack.close()
            with self._part.open("rb+") as again:  # a compressed file is complete only when closed
                os.fsync(again.fileno())

    def _take_place(self) -> None:
        with self._disk():
            os.replace(self._part, self._target)
        _sync_folder(self._target.parent)

    def _clean(self) -> None:
        with suppress(OSError):
            self._stack.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(
                f"{self.path}: cannot be written ({error.strerror or error}). What was there before is unchanged. Free "
                "some space or mend its rights, or write elsewhere"
            ) from error


@contextmanager
def writing(*paths: Path | str) -> Iterator[tuple[Writer, ...]]:
    """Files to write records to; they take their places together once the block has ended without an exception.

    Args:
        paths: the files; missing folders are made. Equal rows give equal bytes, also when compressed.

    Returns:
        A context manager over one writer per path.

    Raises:
        DataError: a file cannot be written (the disk is full, …); the old files are then unchanged.
    """
    writers = tuple(Writer(Path(path)) for path in paths)
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise DataError(f"{paths[0]}: is named for two files at once. Name another for one of them")
    try:
        for writer in writers:
            writer._open()
        yield writers
        for writer in writers:
            writer._finish()
        for writer in writers:
            writer._take_place()
    finally:
        for writer in writers:
            writer._clean()


def write(path: Path | str, rows: Iterable[BaseModel]) -> int:
    """Write records to a file, replacing it only once all of them are safely on disk.

    Args:
        path: the file, as for `writing`.
        rows: records; they may come from reading the same file.

    Returns:
        Number of records written.

    Raises:
        DataError: a record cannot be stored, two trajectories have one id, or the file cannot be written (the
            disk is full, …); the old file is then unchanged.
    """
    with writing(path) as (file,):
        for row in rows:
            file.add(row)
    return file.count


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


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is on disk
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
