"""Files of agent logs as trajectories, with an account of every row, message and file that was met.

Nothing is dropped in silence: a row that cannot be read or converted comes out as a `BadRow`, and a file of the
folder that holds something else is named in the counts.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain, islice
from pathlib import Path

from rmtrain.config.source import SourceSettings
from rmtrain.disk import kind_at
from rmtrain.errors import ConfigError, DataError, first_line, unknown
from rmtrain.trajectories.importers.agentprocessbench import AgentProcessBench
from rmtrain.trajectories.importers.agentrx import AgentRx
from rmtrain.trajectories.importers.anthropic import AnthropicMessages
from rmtrain.trajectories.importers.auto import Auto
from rmtrain.trajectories.importers.base import (
    BadRow,
    Converted,
    Importer,
    IngestCounts,
    Raw,
    SkippedFile,
    quarantined,
)
from rmtrain.trajectories.importers.functions import read_tools
from rmtrain.trajectories.importers.openai import OpenAIChat
from rmtrain.trajectories.importers.own import Own
from rmtrain.trajectories.importers.rows import SUFFIXES, has_suffix
from rmtrain.trajectories.importers.tau_bench import TauBench
from rmtrain.trajectories.schema import Tool, Trajectory, digest


def _refuse_fields(settings: SourceSettings, name: str) -> None:
    """Refuse `source.fields` for a format whose fields are fixed.

    Raises:
        ConfigError: one is set.
    """
    if any(given is not None for given in asdict(settings.fields).values()):
        raise ConfigError(f"source.fields is for chat logs (openai, anthropic); {name} has fixed fields. Remove it")


def _fixed(kind: type[Own | AgentProcessBench | TauBench], settings: SourceSettings) -> Importer:
    _refuse_fields(settings, kind.name)
    return kind()


IMPORTERS: dict[str, Callable[[SourceSettings], Importer]] = {
    Own.name: partial(_fixed, Own),
    AgentProcessBench.name: partial(_fixed, AgentProcessBench),
    AgentRx.name: partial(_fixed, AgentRx),
    TauBench.name: partial(_fixed, TauBench),
    AnthropicMessages.name: AnthropicMessages.from_settings,
    OpenAIChat.name: OpenAIChat.from_settings,
}
"""By name, the special before the general: ``auto`` asks them in this order."""


def make_importer(settings: SourceSettings) -> Importer:
    """The importer that `settings.format` names.

    Raises:
        ConfigError: there is none of that name, or it refuses the settings.
    """
    if settings.format == Auto.name:
        _refuse_fields(settings, Auto.name)
        return Auto([make(settings) for make in IMPORTERS.values()])
    if settings.format not in IMPORTERS:
        raise ConfigError(f"source.format: {unknown('source format', settings.format, [Auto.name, *IMPORTERS])}")
    return IMPORTERS[settings.format](settings)


def ingest(settings: SourceSettings, counts: IngestCounts | None = None) -> Iterator[Trajectory | BadRow]:
    """Read agent logs, row by row.

    Args:
        settings: what to read.
        counts: filled while rows are read; complete once the iterator ends.

    Returns:
        An iterator over one trajectory or bad row for each row, in order of file and line. Two rows of equal
        content get two ids.

    Raises:
        ConfigError: a setting is wrong; raised by this call, before anything is read.
        DataError: while iterating: the path is absent or unreadable, `on_bad_row` is ``stop`` and a row is bad,
            or there was no trajectory in the end.
    """
    if not settings.path:
        raise ConfigError("source.path is not set. Set it to a log file or a folder of them: source.path=…")
    if settings.on_bad_row not in ("skip", "stop"):
        raise ConfigError(f"source.on_bad_row: {unknown('choice', settings.on_bad_row, ('skip', 'stop'))}")
    for name, value in (("max_rows", settings.max_rows), ("quarantine_chars", settings.quarantine_chars)):
        if value is not None and value < 1:
            raise ConfigError(f"source.{name} is {value}. It must be at least 1")
    importer = make_importer(settings)
    return _ingest(Path(settings.path), importer, settings, IngestCounts() if counts is None else counts)


def _ingest(
    root: Path, importer: Importer, settings: SourceSettings, counts: IngestCounts
) -> Iterator[Trajectory | BadRow]:
    tools = _tools(settings.tools)
    seen: dict[str, int] = {}
    limit = min(settings.max_rows or sys.maxsize, sys.maxsize)
    for result in islice(_results(root, importer, settings, counts), limit):
        counts.rows += 1
        if isinstance(result, BadRow):
            if settings.on_bad_row == "stop":
                raise DataError(f"{result}. To put such rows into quarantine instead: source.on_bad_row=skip")
            counts.note(result)
            yield result
            continue
        trajectory = result.trajectory
        if tools and not trajectory.task.tools:
            task = trajectory.task.model_copy(update={"tools": tools})
            trajectory = trajectory.model_copy(update={"task": task})
        counts.trajectories += 1
        for place, n in result.placed.items():
            counts.messages[place] += n
        times = seen.get(trajectory.trajectory_id, 0)
        seen[trajectory.trajectory_id] = times + 1
        if times:  # the same content on the same line of two files
            other = digest([trajectory.trajectory_id, times])[:16]
            trajectory = trajectory.model_copy(update={"trajectory_id": other})
        yield trajectory
    if not counts.trajectories:
        if counts.first_bad:
            why = f"All {counts.bad_rows} rows are bad, the first: {counts.first_bad}"
        elif counts.skipped:
            why = f"Skipped {len(counts.skipped)} files, the first: {counts.skipped[0]}"
        else:
            why = "It is empty"
        raise DataError(f"{root}: holds no trajectory of format '{importer.name}'. {why}")


def _results(
    root: Path, importer: Importer, settings: SourceSettings, counts: IngestCounts
) -> Iterator[BadRow | Converted]:
    """Each row of each file of the format, converted; files of another kind are noted in `counts`."""
    kind = kind_at(root)
    if kind is None:
        raise DataError(f"{root}: no such file or folder. Set source.path to where the logs are")
    if kind != "folder":
        if not has_suffix(root):
            raise DataError(f"{root}: unknown kind of file. Its name must end in one of: {', '.join(SUFFIXES)}")
        if kind != "file":
            raise DataError(f"{root}: is a {kind}, which may never end. Save what it gives to a file and read that")
        counts.files += 1
        for raw in importer.read(root, shown_name(root, root)):
            counts.formats[raw.file] = _format(importer)
            yield _convert(raw, importer, settings.quarantine_chars)
        return
    for path in _files(root, counts):
        rows = _rows(path, shown_name(path, root), importer, settings.quarantine_chars)
        if isinstance(rows, SkippedFile):
            counts.skipped.append(rows)
            continue
        counts.files += 1
        for raw in rows:
            counts.formats[raw.file] = _format(importer)
            yield _convert(raw, importer, settings.quarantine_chars)


def shown_name(path: Path, root: Path) -> str:
    """How rows name their file: its path below the source's folder, with what is no UTF-8 written out."""
    name = path.name if path == root else path.relative_to(root).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _format(importer: Importer) -> str:
    """How a file was read, in words; of one whose format was found out also by which keys."""
    if not isinstance(importer, Auto):
        return importer.name
    return "unknown" if importer.chosen is None else f"{importer.chosen.name}, by {importer.why}"


def _tools(path: str | None) -> tuple[Tool, ...]:
    """The tools that `source.tools` names.

    Raises:
        DataError: there is no such file, or it holds no function schemas.
    """
    if path is None:
        return ()
    try:
        if (kind := kind_at(Path(path))) != "file":
            raise DataError("there is no such file" if kind is None else f"it is a {kind}")
        return read_tools(Path(path).read_text("utf-8"))[0]
    except (OSError, UnicodeDecodeError, DataError) as error:
        raise DataError(f"source.tools={path}: no list of tool schemas ({first_line(error)})") from error


def _rows(path: Path, file: str, importer: Importer, quarantine_chars: int) -> Iterator[Raw] | SkippedFile:
    """The rows of a file, or why it is passed over: none of them is of the format.

    What stands before the first row of the format is read again instead of kept, since a foreign file may be large.
    """
    rows = importer.read(path, file)
    n_rows = n_foreign = 0
    for raw in rows:
        n_rows += 1
        if raw.error is not None:
            continue
        if importer.signs(raw.payload) is not None or isinstance(_convert(raw, importer, quarantine_chars), Converted):
            return chain([raw], rows) if n_rows == 1 else importer.read(path, file)
        n_foreign += 1
    if n_foreign < n_rows:  # it may be a damaged file of the format: let it be seen
        return importer.read(path, file)
    return SkippedFile(file, f"no row of format '{importer.name}' among {n_foreign}" if n_rows else "empty")


def _convert(raw: Raw, importer: Importer, quarantine_chars: int) -> BadRow | Converted:
    if raw.error is not None:
        reason = raw.error
    else:
        try:
            return importer.convert(raw)
        except DataError as error:
            reason = str(error)
        except Exception as error:  # one row must not end the import; its reason says what broke
            reason = f"the importer '{importer.name}' failed on it ({type(error).__name__}: {error})"
    return quarantined(raw, reason, quarantine_chars)


def _files(root: Path, counts: IngestCounts) -> Iterator[Path]:
    """Every regular file under `root` with a log's name, sorted by path; hidden ones are left out."""

    def fail(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be listed ({error.strerror})") from error

    def skip(path: Path, reason: str) -> None:
        counts.skipped.append(SkippedFile(shown_name(path, root), reason))

    found: list[Path] = []
    for folder, folders, names in os.walk(root, onerror=fail):
        here = Path(folder)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for link in [name for name in folders if os.path.islink(here / name)]:
            skip(here / link, "a link to a folder")
        found += [here / name for name in names if not name.startswith(".")]
    for path in sorted(found):
        if not has_suffix(path):
            skip(path, f"its name ends in none of {', '.join(SUFFIXES)}")
        elif (kind := kind_at(path)) == "file":
            yield path
        else:
            skip(path, "a link to nothing" if kind is None else f"a {kind}, no regular file")
