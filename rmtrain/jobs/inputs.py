"""What a job reads: the file it was told, what an earlier job of the same corpus left, or a log row by row."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from rmtrain.config.jobs import JobSettings
from rmtrain.config.source import SourceSettings
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import BadRow, IngestCounts
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Trajectory

MAKERS = ("ingest", "simulate")


def corpus_folder(settings: JobSettings) -> Path:
    """The folder that all artefacts of a corpus share."""
    return Path(settings.paths.runs) / settings.corpus


def trajectories_of(settings: JobSettings, given: str | None, setting: str = "trajectories") -> Path:
    """The file of trajectories to read.

    Args:
        settings: the job's; they say which corpus.
        given: the file as set; None for the newest of what job=ingest and job=simulate left in the corpus.
        setting: the setting that names it.

    Raises:
        DataError: the file does not exist, or none was given and neither job has left one.
    """
    if given is not None:
        return existing(given, setting, f"{command(settings, 'ingest')} source.path=FILE")
    places = [corpus_folder(settings) / maker / "trajectories.jsonl" for maker in MAKERS]
    made = [place for place in places if place.is_file()]
    if not made:
        raise DataError(
            f"no trajectories in {places[0]} or {places[1]}. Make some: {command(settings, 'ingest')} "
            f"source.path=FILE, or {command(settings, 'simulate')}; or name a file: {setting}=FILE"
        )
    return max(made, key=lambda place: place.stat().st_mtime_ns)


def existing(path: str | Path, setting: str, remedy: str) -> Path:
    """`path`, which has to exist.

    Args:
        path: file or folder to read.
        setting: the setting that names it.
        remedy: the command that makes it.

    Raises:
        DataError: it does not exist.
    """
    if not Path(path).exists():
        raise DataError(f"{setting}={path} does not exist. Make it: {remedy}; or name another: {setting}=PATH")
    return Path(path)


def command(settings: JobSettings, job: str) -> str:
    """The command that runs another job on the same corpus."""
    usual = JobSettings(job=job)
    words = ["python -m rmtrain", f"job={job}"]
    if settings.corpus != usual.corpus:
        words.append(f"corpus={settings.corpus}")
    if settings.paths.runs != usual.paths.runs:
        words.append(f"paths.runs={shlex.quote(settings.paths.runs)}")
    return " ".join(words)


def read_log(source: SourceSettings, counts: IngestCounts, bad: list[BadRow]) -> Iterator[Trajectory]:
    """The trajectories of a log, in order.

    Args:
        source: where it is and how it is written.
        counts: filled on the way.
        bad: takes the rows that could not be read.
    """
    for row in ingest(source, counts):
        if isinstance(row, BadRow):
            bad.append(row)
        else:
            yield row


def log_warnings(counts: IngestCounts, bad: list[BadRow]) -> Iterator[str]:
    """One sentence for each thing of a log that was left out."""
    if bad:
        yield f"{len(bad):,} of {counts.rows:,} rows could not be read and are in quarantine, the first: {bad[0]}"
    if counts.skipped:
        yield f"{len(counts.skipped):,} files were skipped, the first: {counts.skipped[0]}"
