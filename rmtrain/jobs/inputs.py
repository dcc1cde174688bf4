"""What a job reads: the file it was told, what an earlier job of the same corpus left, or a log row by row."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rmtrain.config.jobs import JobSettings
from rmtrain.config.model import EncoderSettings, HeadSettings
from rmtrain.config.source import SourceSettings
from rmtrain.dataset.store import Dataset
from rmtrain.disk import Kind, kind_at, recover
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.importers.base import BadRow, IngestCounts, QuarantineCounts
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import Writer, read

MAKERS = ("ingest", "simulate")
SHOWN_REASONS = 5
"""Kinds of reasons for quarantine that a report shows on the screen."""

_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.{1,2}/)[A-Za-z0-9_./@+-]*")  # read as text by Hydra without quotes
_NO_TEXT = ("null", "true", "false", "nan", "inf")  # what it would read as something else


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
        DataError: the file does not exist or does not start with a trajectory, none was given and neither job has
            left one, or the disk does not tell.
    """
    if given is not None:
        path = existing(given, setting, f"{command(settings, 'ingest')} source.path=FILE")
        try:
            next(read(path, Trajectory), None)
        except DataError as error:
            ingest = f"{command(settings, 'ingest')} {assignment('source.path', path)}"
            raise DataError(f"{error}. If it is a log, make trajectories of it first: {ingest}") from error
        return path
    places = [corpus_folder(settings) / maker / "trajectories.jsonl" for maker in MAKERS]
    made = [place for place in places if kind_at(place) == "file"]
    if not made:
        raise DataError(
            f"no trajectories in {places[0]} or {places[1]}. Make some: {command(settings, 'ingest')} "
            f"source.path=FILE, or {command(settings, 'simulate')}; or name a file: {setting}=FILE"
        )
    return max(made, key=lambda place: place.stat().st_mtime_ns)


def annotation_store(settings: JobSettings) -> Path:
    """The file of all annotations of a corpus, wherever they came from."""
    return corpus_folder(settings) / "annotations" / "annotations.jsonl"


def existing(path: str | Path, setting: str, remedy: str, expected: Kind = "file") -> Path:
    """`path`, which has to exist and be what is expected.

    Args:
        path: file or folder to read.
        setting: the setting that names it.
        remedy: the command that makes it.
        expected: what it has to be.

    Raises:
        DataError: it does not exist, is something else, or the disk does not tell.
    """
    recover(Path(path))
    kind = kind_at(path)
    if kind is None:
        raise DataError(f"{setting}={path} does not exist. Make it: {remedy}; or name another: {setting}=PATH")
    if kind != expected:
        raise DataError(f"{setting}={path} is a {kind}. Expected a {expected}: {setting}=PATH, or make it: {remedy}")
    return Path(path)


def check_dataset(dataset: Dataset, encoder: EncoderSettings, heads: Mapping[str, HeadSettings]) -> None:
    """Refuse a dataset that reads or is labelled otherwise than a model of these settings expects.

    Raises:
        ConfigError: what differs, and what to do.
    """
    expected = render_hash(RenderOptions(markers=encoder.markers))
    if dataset.render_hash != expected:
        raise ConfigError(
            f"{dataset.folder} was rendered with markers={dataset.markers} (hash {dataset.render_hash}), but this run "
            f"reads markers={encoder.markers} (hash {expected}). Build it again, or set encoder.markers alike."
        )
    for name, head in heads.items():
        held = dataset.heads.get(name)
        wanted = {"level": head.level, "objective": head.objective, "classes": head.classes}
        if held != wanted:
            raise ConfigError(
                f"head '{name}' is {wanted}, but {dataset.folder} was built "
                f"{'without it' if held is None else f'with {held}'}. Build it again with these heads: job=build"
            )


def refuse_replacing(given: Path, made: Iterable[Path], remedy: str = "hydra.run.dir=FOLDER") -> None:
    """Refuse to write a result over what it is made from.

    Args:
        given: what the job reads.
        made: the files that it writes.
        remedy: the settings that say where it writes.

    Raises:
        DataError: one of them is the file that is read.
    """
    for path in made:
        if kind_at(path) == kind_at(given) == "file" and os.path.samefile(path, given):
            raise DataError(f"{path} is read by this job and would be replaced by it. Write elsewhere: {remedy}")


def command(settings: JobSettings, job: str) -> str:
    """The command that runs another job on the same corpus."""
    usual = JobSettings(job=job)
    words = ["python -m rmtrain", f"job={job}"]
    if settings.corpus != usual.corpus:
        words.append(assignment("corpus", settings.corpus))
    if settings.paths.runs != usual.paths.runs:
        words.append(assignment("paths.runs", settings.paths.runs))
    return " ".join(words)


def assignment(name: str, value: str | Path) -> str:
    """``name=value`` as it is typed on a command line: quoted for Hydra where it needs that, then for the shell.

    Args:
        name: dotted name of a setting.
        value: what it is to be, literally.
    """
    text = str(value)
    if not _PLAIN.fullmatch(text) or text.lower() in _NO_TEXT:
        text = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)  # no interpolation
        text = '"' + re.sub(r'(\\+)(?="|\Z)', r"\1\1", text).replace('"', '\\"') + '"'
    return shlex.quote(f"{name}={text}")


def read_log(source: SourceSettings, counts: IngestCounts, quarantine: Writer) -> Iterator[Trajectory]:
    """The trajectories of a log, in order.

    Args:
        source: where it is and how it is written.
        counts: filled on the way.
        quarantine: takes the rows that could not be read.
    """
    for row in ingest(source, counts):
        if isinstance(row, BadRow):
            quarantine.add(row)
        else:
            yield row


def quarantine_lines(counts: QuarantineCounts) -> list[str]:
    """Kinds of reasons why rows are in quarantine, the commonest first."""
    reasons = sorted(counts.reasons.items(), key=lambda item: -item[1])
    lines = [f"  {n:,} x {reason}" for reason, n in reasons[:SHOWN_REASONS]]
    if more := reasons[SHOWN_REASONS:]:
        lines.append(f"  {sum(n for _, n in more):,} for {len(more)} other reasons; see report.json")
    return ["  in quarantine:", *lines] if lines else []


def log_warnings(counts: IngestCounts) -> Iterator[str]:
    """One sentence for each thing of a log that was left out."""
    if counts.bad_rows:
        yield (
            f"{counts.bad_rows:,} of {counts.rows:,} rows could not be read and are in quarantine, the first: "
            f"{counts.first_bad}"
        )
    if counts.skipped:
        yield f"{len(counts.skipped):,} files were skipped, the first: {counts.skipped[0]}"
