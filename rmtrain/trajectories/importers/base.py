"""What an importer is: it reads a file as raw rows and turns one row into one trajectory.

The two halves are apart so that a row that cannot be converted still has its file, line and text: it goes to
quarantine and the rest of the file is read. To add a format, write an `Importer` and name it in
`rmtrain.trajectories.importers.ingest.IMPORTERS`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from rmtrain.trajectories.schema import Record, Trajectory

Place = Literal["task", "step", "context", "observation", "extra"]
_PARTICULARS = re.compile(r"'[^']*'|\d[\d,.]*")
_REASONS = 50  # kinds of reasons that are counted apart: hostile files may hold any number
_REASON_CHARS = 200
PLACES: tuple[Place, ...] = ("task", "step", "context", "observation", "extra")


@dataclass(frozen=True)
class Raw:
    """One row of a log, before anyone knows what it means.

    Attributes:
        file: the file as shown to people: its path below the source's folder.
        line: line it starts on, from 1.
        row: position in the file from 1 where a line may hold many rows (a JSON array), else None.
        text: the row as it stands in the file.
        payload: the parsed JSON; None where `error` is set.
        error: why it could not be parsed, a sentence without the place.
    """

    file: str
    line: int
    row: int | None
    text: str
    payload: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Converted:
    """A trajectory and the account of the messages it came from.

    Attributes:
        trajectory: the result.
        placed: number of messages by where they went; their sum is the number of messages in the row,
            a system prompt that stands beside them included.
    """

    trajectory: Trajectory
    placed: Mapping[Place, int]


class BadRow(Record):
    """A row in quarantine: where it stands, why it is there and its text, cut to a limit."""

    file: str
    line: int
    row: int | None = None
    reason: str
    raw: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " + (f"row {self.row}: " if self.row is not None else "")
        return where + self.reason


def quarantined(raw: Raw, reason: str, n_chars: int) -> BadRow:
    """A row that cannot be used, with at most `n_chars` characters of its text; what is no UTF-8 is written out."""
    reason, text = (said.encode("utf-8", "backslashreplace").decode("utf-8") for said in (reason, raw.text[:n_chars]))
    return BadRow(file=raw.file, line=raw.line, row=raw.row, reason=reason, raw=text)


@dataclass(frozen=True)
class SkippedFile:
    """A file of the folder that was not read, and why."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass
class QuarantineCounts:
    """What is in quarantine.

    Attributes:
        bad_rows: rows in quarantine.
        first_bad: the first of them.
        reasons: how often each kind of reason was given; names and numbers in it are left out.
    """

    bad_rows: int = 0
    first_bad: str | None = None
    reasons: dict[str, int] = field(default_factory=dict)

    def note(self, bad: BadRow) -> None:
        """Count one row more."""
        self.bad_rows += 1
        self.first_bad = self.first_bad or str(bad)
        kind = _PARTICULARS.sub("…", bad.reason)[:_REASON_CHARS]
        if kind not in self.reasons and len(self.reasons) >= _REASONS:
            kind = "other reasons"
        self.reasons[kind] = self.reasons.get(kind, 0) + 1


@dataclass
class IngestCounts(QuarantineCounts):
    """What became of everything that was read; filled while `ingest` runs.

    Attributes:
        formats: of each file that was read its format and, where that was found out, by which keys.
        files: files that hold rows of the format.
        rows: rows read; equals `trajectories` + `bad_rows`.
        trajectories: rows that became a trajectory.
        messages: messages in the rows that became trajectories, by where they went.
        skipped: files of the folder that were not read.
    """

    formats: dict[str, str] = field(default_factory=dict)
    files: int = 0
    rows: int = 0
    trajectories: int = 0
    messages: dict[Place, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    skipped: list[SkippedFile] = field(default_factory=list)


@runtime_checkable
class Importer(Protocol):
    """One log format."""

    name: str

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        """Every row of `path`, in order; `file` is how the rows name it."""
        ...

    def signs(self, payload: Any) -> str | None:
        """The keys by which a parsed row is known to be of this format, in words; None where it is not. Decides
        which files of a folder are read, and what ``auto`` takes a file for. It never raises: a folder may hold
        anything."""
        ...

    def convert(self, raw: Raw) -> Converted:
        """The trajectory of one row that was parsed.

        Raises:
            DataError: the row is not of this format; the message is a sentence without file and line.
        """
        ...
