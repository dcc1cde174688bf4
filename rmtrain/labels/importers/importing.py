"""Files of labels as annotations, with an account of every row: those that cannot be used are named, never dropped."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rmtrain.config.labels import LabelSourceSettings
from rmtrain.disk import kind_at
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.labels.importers.agentprocessbench import AgentProcessBenchLabels
from rmtrain.labels.importers.agentrx import AgentRxLabels
from rmtrain.labels.importers.base import LabelImporter, Place
from rmtrain.labels.schema import Annotation
from rmtrain.trajectories.importers.base import BadRow, QuarantineCounts, quarantined
from rmtrain.trajectories.importers.ingest import shown_name
from rmtrain.trajectories.importers.rows import SUFFIXES, has_suffix, read_rows
from rmtrain.trajectories.schema import Trajectory

QUARANTINE_CHARS = 2000
"""Most characters of a bad row that are kept."""
IMPORTERS: dict[str, LabelImporter] = {
    importer.name: importer for importer in (AgentProcessBenchLabels(), AgentRxLabels())
}


@dataclass
class LabelCounts(QuarantineCounts):
    """What became of everything that was read; filled while `import_labels` runs.

    Attributes:
        rows: rows with labels; equals rows whose labels were taken + `bad_rows` + `elsewhere`.
        annotations: labels taken.
        without_value: of those, the ones that are null or no legal value.
        elsewhere: rows on a trajectory that is not here.
        without_step: labels on a message that is no step of the agent, such as a user's; nobody is blamed by them.
        files: files that hold labels, with the format of each and the keys it is known by.
        skipped: files of the folder without any.
    """

    rows: int = 0
    annotations: int = 0
    without_value: int = 0
    elsewhere: int = 0
    without_step: int = 0
    files: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def import_labels(
    settings: LabelSourceSettings, trajectories: Iterable[Trajectory] | None, counts: LabelCounts
) -> Iterator[Annotation | BadRow]:
    """Read labels, row by row.

    Args:
        settings: what to read.
        trajectories: those that the labels are about; None keeps all labels under the names of their records, with
            steps counted in the order of the messages that anybody labelled.
        counts: filled while rows are read.

    Raises:
        ConfigError: a setting is wrong; raised by this call.
        DataError: while iterating: the path is absent or unreadable, `on_bad_row` is ``stop`` and a row is bad, or
            there was no label in the end.
    """
    if not settings.path:
        raise ConfigError("labels.path is not set. Set it to a file of labels or a folder of them: labels.path=…")
    if settings.on_bad_row not in ("skip", "stop"):
        raise ConfigError(f"labels.on_bad_row: {unknown('choice', settings.on_bad_row, ('skip', 'stop'))}")
    if settings.format != "auto" and settings.format not in IMPORTERS:
        raise ConfigError(f"labels.format: {unknown('format of labels', settings.format, ['auto', *IMPORTERS])}")
    importers = list(IMPORTERS.values()) if settings.format == "auto" else [IMPORTERS[settings.format]]
    return _import(Path(settings.path), settings, importers, trajectories, counts)


def _import(
    root: Path,
    settings: LabelSourceSettings,
    importers: list[LabelImporter],
    trajectories: Iterable[Trajectory] | None,
    counts: LabelCounts,
) -> Iterator[Annotation | BadRow]:
    files = {path: importer for path in _files(root) if (importer := _importer(path, root, importers, counts))}
    places = _places(files, trajectories)
    for path, importer in files.items():
        for raw in read_rows(path, shown_name(path, root)):
            counts.rows += 1
            try:
                if raw.error is not None:
                    raise DataError(raw.error)
                place = places.get((importer.name, importer.record(raw.payload)))
                if place is None:
                    counts.elsewhere += 1
                    continue
                found = list(importer.annotations(raw.payload, place))
            except DataError as error:
                bad = quarantined(raw, str(error), QUARANTINE_CHARS)
                counts.note(bad)
                if settings.on_bad_row == "stop":
                    raise DataError(f"{bad}. To quarantine such rows instead: labels.on_bad_row=skip") from None
                yield bad
                continue
            counts.annotations += len(found)
            counts.without_step += sum(message not in place.steps for message in importer.messages(raw.payload))
            counts.without_value += sum(getattr(annotation, "value", 0) is None for annotation in found)
            yield from found
    if not counts.annotations:
        why = (
            f"{counts.elsewhere:,} rows are about trajectories that are not in this corpus. Ingest those first, or "
            "keep the labels alone: labels.alone=true"
            if counts.elsewhere
            else f"{counts.bad_rows:,} rows are bad, files without labels: {', '.join(counts.skipped) or 'none'}"
        )
        raise DataError(f"{root}: holds no label that can be used. {why}")


def _files(root: Path) -> list[Path]:
    kind = kind_at(root)
    if kind is None:
        raise DataError(f"{root}: no such file or folder. Set labels.path to where the labels are")
    if kind == "folder":
        return sorted(path for path in root.rglob("*") if has_suffix(path) and kind_at(path) == "file")
    if kind != "file" or not has_suffix(root):
        raise DataError(f"{root}: no file of labels. Expected a regular file whose name ends in {', '.join(SUFFIXES)}")
    return [root]


def _importer(path: Path, root: Path, importers: list[LabelImporter], counts: LabelCounts) -> LabelImporter | None:
    """The importer that knows a row of the file; None, noted in `counts`, where none does."""
    for raw in read_rows(path, path.name):
        for importer in importers if raw.error is None else ():
            if (signs := importer.signs(raw.payload)) is not None:
                counts.files[shown_name(path, root)] = f"{importer.name}, by {signs}"
                return importer
    counts.skipped.append(shown_name(path, root))
    return None


def _places(
    files: dict[Path, LabelImporter], trajectories: Iterable[Trajectory] | None
) -> dict[tuple[str, str], Place]:
    """Where the labels of each format's records belong."""
    if trajectories is None:
        return _alone(files)
    importers = {importer.name: importer for importer in files.values()}
    found: dict[tuple[str, str], Place] = {}
    for trajectory in trajectories:
        for name, importer in importers.items():
            record = importer.record_of(trajectory)
            if record is not None:
                steps = {step.extra["message_index"]: step.step_index for step in trajectory.steps}
                found[name, record] = Place(trajectory.trajectory_id, steps)
    return found


def _alone(files: dict[Path, LabelImporter]) -> dict[tuple[str, str], Place]:
    seen: dict[tuple[str, str], set[int]] = {}
    for path, importer in files.items():
        for raw in read_rows(path, path.name):
            try:
                if raw.error is None:
                    key = (importer.name, importer.record(raw.payload))
                    seen.setdefault(key, set()).update(importer.messages(raw.payload))
            except DataError:
                continue  # named when the row is read for its labels
    return {
        key: Place(key[1], {message: index for index, message in enumerate(sorted(messages))})
        for key, messages in seen.items()
    }
