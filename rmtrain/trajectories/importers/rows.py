"""Files of JSON as raw rows: JSON Lines, a JSON array, single objects; each also compressed by gzip or zstd.

A JSON Lines file is streamed. A ``.json`` file is held in memory and its rows are parsed one by one, so that a
bad row in the middle of an array costs that row only, unless its syntax hides where the next one starts. A line
or ``.json`` file beyond its limit is a bad row and never held whole: a compressed file may hide a thousand times
its size.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Raw
from rmtrain.trajectories.importers.strict_json import JsonProblem, parse, parse_whole

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")

LINE_BYTES = 1 << 27  # longest line that is read, with its end
FILE_BYTES = 1 << 30  # largest .json file that is read

_CHUNK = 1 << 20  # bytes read at a time where the end is unknown
_KEPT = 1 << 16  # bytes kept of what is too long
_SPACE = re.compile(r"[ \t\r\n]*")
_BOM = "\ufeff"
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def has_suffix(path: Path) -> bool:
    """Whether the name ends like a file that `read_rows` reads."""
    return path.name.lower().endswith(SUFFIXES)


def read_rows(path: Path, file: str, is_message: Callable[[Any], bool] = lambda value: False) -> Iterator[Raw]:
    """Every row of a file, each parsed or with the reason why not.

    Args:
        path: a file with one of `SUFFIXES`.
        file: how the rows name the file.
        is_message: whether the first element of an array in a ``.json`` file shows that the whole array is one row.

    Raises:
        DataError: the file cannot be opened or read.
    """
    lines = ".jsonl" in path.name.lower()[-len(".jsonl.zst") :]
    try:
        with _open(path) as stream:
            if lines:
                yield from _lines(stream, file)
            else:
                yield from _values(stream, file, is_message)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def _open(path: Path) -> BufferedIOBase:
    name = path.name.lower()
    if name.endswith(".gz"):
        return gzip.GzipFile(path, "rb")
    return BufferedReader(_Zstd(path)) if name.endswith(".zst") else path.open("rb")


class _Zstd(RawIOBase):
    """A file compressed by zstd, read as its contents; a damaged one raises EOFError after its last sound byte."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._n_read = 0
        self._most = _CHUNK
        self._open()

    def _open(self) -> None:
        from pyarrow import CompressedInputStream

        self._file = self._path.open("rb")
        self._stream = CompressedInputStream(self._file, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            try:
                data = self._stream.read(min(len(buffer), self._most))
                break
            except OSError as error:
                if error.errno is not None:
                    raise
                if self._most == 1:
                    raise EOFError(str(error)) from error
            self._most = 1  # Arrow drops what it has read before the damage: go there again, byte by byte
            self._file.close()
            self._open()
            missing = self._n_read
            while missing and (skipped := self._stream.read(min(len(buffer), missing))):
                missing -= len(skipped)
        buffer[: len(data)] = data
        self._n_read += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _lines(stream: BufferedIOBase, file: str) -> Iterator[Raw]:
    number = 0
    while True:
        try:
            line, size = _line(stream)
        except _DAMAGED as error:
            yield Raw(file, number + 1, None, "", error=f"the compressed file is damaged from here on ({error})")
            return
        if not line:
            return
        number += 1
        text = line.decode("utf-8", "surrogateescape")
        if number == 1:
            text = text.removeprefix(_BOM)
        text = text.strip(" \t\r\n")
        if size > LINE_BYTES:
            yield Raw(
                file, number, None, text, error=f"is a line of {size:,} bytes, and at most {LINE_BYTES:,} are read"
            )
            continue
        if not text:
            continue
        try:
            yield Raw(file, number, None, text, payload=parse_whole(text))
        except JsonProblem as problem:
            yield Raw(file, number, None, text, error=str(problem))


def _line(stream: BufferedIOBase) -> tuple[bytes, int]:
    """The next line and its size in bytes; of a line beyond the limit its start only."""
    line = stream.readline(LINE_BYTES + 1)
    if len(line) <= LINE_BYTES:
        return line, len(line)
    size, part = len(line), line
    while part and not part.endswith(b"\n"):
        part = stream.readline(_CHUNK)
        size += len(part)
    return line[:_KEPT], size


def _values(stream: BufferedIOBase, file: str, is_message: Callable[[Any], bool]) -> Iterator[Raw]:
    data = bytearray()
    try:
        while len(data) <= FILE_BYTES and (chunk := stream.read(_CHUNK)):
            data += chunk
    except _DAMAGED as error:
        yield Raw(file, 1, None, "", error=f"the compressed file is damaged ({error})")
        return
    if len(data) > FILE_BYTES:
        start_of_it = data[:_KEPT].decode("utf-8", "surrogateescape")
        why = f"holds more than {FILE_BYTES:,} bytes, and a .json file is held whole. Write it as .jsonl, a row a line"
        yield Raw(file, 1, None, start_of_it, error=why)
        return
    text = data.decode("utf-8", "surrogateescape").removeprefix(_BOM)
    start = _skip(text, 0)
    in_array = text.startswith("[", start) and not _is_one_row(text, start, is_message)
    if in_array:
        start = _skip(text, start + 1)
    line, counted, row = 1, 0, 0
    closed = not in_array
    while start < len(text):
        if in_array and text[start] == "]":
            closed = True
            start = _skip(text, start + 1)
            if start < len(text):
                line += text.count("\n", counted, start)
                yield Raw(file, line, row + 1, text[start:], error="more follows the end of the JSON array")
            break
        row += 1
        line += text.count("\n", counted, start)
        counted = start
        try:
            parsed = parse(text, start)
        except JsonProblem as problem:
            rest = "" if row == 1 else "; what follows it in the file is lost with it"
            yield Raw(file, line, row, text[start:], error=f"{problem}{rest}")
            return
        yield Raw(file, line, row, text[start : parsed.end], payload=parsed.value, error=parsed.problem)
        start = _skip(text, parsed.end)
        if in_array and start < len(text) and text[start] != "]":
            if text[start] != ",":
                yield Raw(file, line, row + 1, text[start:], error="no comma stands before this row of the JSON array")
                return
            start = _skip(text, start + 1)
            if text.startswith("]", start):
                line += text.count("\n", counted, start)
                yield Raw(file, line, row + 1, "", error="a comma stands before the end of the JSON array")
                return
    if not closed:
        line += text.count("\n", counted)
        yield Raw(file, line, row + 1, "", error="the file ends inside its JSON array")


def _skip(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _is_one_row(text: str, start: int, is_message: Callable[[Any], bool]) -> bool:
    first = _skip(text, start + 1)
    try:
        return first < len(text) and text[first] != "]" and is_message(parse(text, first).value)
    except JsonProblem:
        return False
