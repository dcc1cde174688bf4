"""What a job says when it is done: what it made, where that lies, what to run next.

The same content twice: ``report.json`` in the run folder for programs, a few lines on the screen for people.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rmtrain.config.jobs import JobSettings
from rmtrain.disk import unfinished
from rmtrain.errors import DataError
from rmtrain.jobs.inputs import assignment, command
from rmtrain.trajectories.schema import digest

REPORT_VERSION = "rmtrain.report/1"
PACKAGES = ("rmtrain", "torch", "transformers", "lightning", "numpy")


@dataclass
class Report:
    """The outcome of one job.

    Attributes:
        job: name of the job.
        artefacts: what was made, name to path.
        counts: how many of what, e.g. ``{"trajectories": 412}``.
        figures: results, nested JSON; None where there is no value, never NaN.
        lines: what a person should see of the figures, ready to print.
        warnings: what a person should look at.
        next: commands that go on from here.
        settings: the settings the job ran with, environment values left out.
        settings_digest: SHA-256 of those, 64 hexadecimal digits.
        versions: package to version.
        started: ISO 8601, UTC.
        finished: likewise.
        duration_s: time between the two.
    """

    job: str
    artefacts: dict[str, Path] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    next: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_digest: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    started: str = ""
    finished: str = ""
    duration_s: float = 0.0

    def close(self, settings: Mapping[str, Any], started: datetime) -> None:
        """Add what is the same for every job: settings, versions, times."""
        finished = datetime.now(UTC)
        self.settings = settings
        self.settings_digest = digest(settings)
        self.versions = {"python": platform.python_version(), **_versions()}
        self.started, self.finished = started.isoformat(), finished.isoformat()
        self.duration_s = round((finished - started).total_seconds(), 3)

    def save(self, folder: Path) -> Path:
        """Write ``report.json``, whole or not at all.

        Returns:
            The file.

        Raises:
            ValueError: a figure is NaN or infinite.
            DataError: the file cannot be written.
        """
        content = {"schema_version": REPORT_VERSION, **asdict(self)}
        content["artefacts"] = {name: str(path) for name, path in self.artefacts.items()}
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        path = folder / "report.json"
        scratch = unfinished(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
            os.replace(scratch, path)
        except OSError as error:
            with suppress(OSError):
                scratch.unlink()
            raise DataError(
                f"{path} cannot be written ({error.strerror}). Free some space, or mend its rights."
            ) from error
        return path

    def text(self) -> str:
        """The report in a few lines, paths relative to where the command was run."""
        made = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in self.counts.items())
        lines = [f"{self.job}: {made or 'done'} ({self.duration_s:.1f} s)"]
        width = max((len(name) for name in self.artefacts), default=0)
        lines += [f"  {name:<{width}}  {short(path)}" for name, path in self.artefacts.items()]
        lines += self.lines
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += [f"next: {command}" for command in self.next]
        return "\n".join(lines)


def next_command(settings: JobSettings, job: str, folder: Path, **inputs: Path) -> str:
    """The command that goes on from a job's artefacts.

    Args:
        settings: those of the job that is done.
        job: the job to run next.
        folder: the run folder of the job that is done.
        inputs: setting to file; named in the command only where `folder` is not the usual place, in which the
            next job looks by itself.
    """
    words = [command(settings, job)]
    if job == "train":
        words.append("dataset=folder")  # it would train on the embedded corpus otherwise
        inputs = {f"{name}.path": path for name, path in inputs.items()}
    usual = Path(settings.paths.runs) / settings.corpus / settings.job
    if folder.resolve() != usual.resolve():
        words += [assignment(name, short(path)) for name, path in inputs.items()]
    return " ".join(words)


def table(header: Sequence[str], rows: Sequence[Sequence[str | int | float | None]]) -> list[str]:
    """Lines of a table: first column left, the others right, None as a dash."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return [
        "  "
        + "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]


def _cell(value: str | int | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else number(value)


def number(value: float) -> str:
    """A figure with three decimals, or in powers of ten where it is too long for a line."""
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.3g}"


def short(path: Path) -> str:
    """A path as one would type it here: relative to the current folder where it lies inside."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
