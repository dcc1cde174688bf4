"""job=import_labels: files of labels → the corpus's annotations, beside what people gave in the browser."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from rmtrain.config.jobs import ImportLabelsSettings
from rmtrain.jobs.inputs import annotation_store, quarantine_lines, refuse_replacing, trajectories_of
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command, table
from rmtrain.labels.importers.importing import LabelCounts, import_labels
from rmtrain.labels.schema import ANNOTATION, Annotation
from rmtrain.labels.store import Appended, append
from rmtrain.labels.summary import LabelSummary
from rmtrain.trajectories.importers.base import BadRow
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import Writer, read, writing


def run(settings: ImportLabelsSettings, folder: Path) -> Report:
    """Read the labels, find the steps that they are about, and add those that are not there yet."""
    counts = LabelCounts()
    trajectories = None if settings.labels.alone else trajectories_of(settings, settings.trajectories)
    store, quarantine = annotation_store(settings), folder / "quarantine.jsonl"
    refuse_replacing(Path(settings.labels.path or ""), [store, quarantine])
    known = None if trajectories is None else read(trajectories, Trajectory)
    found = import_labels(settings.labels, known, counts)
    with writing(quarantine) as (bad,):
        added = append(store, progress(_good(found, bad), "labels", "label"))
    summary = LabelSummary()
    for annotation in read(store, ANNOTATION):
        summary.add(annotation)
    return Report(
        job=settings.job,
        artefacts={"annotations": store, "quarantine": quarantine},
        counts={"labels": counts.annotations, "new": added.new, "changed": added.changed, "bad_rows": counts.bad_rows},
        figures={"read": asdict(counts), "store": asdict(added), "annotations": summary.as_dict()},
        lines=[*_lines(summary), *quarantine_lines(counts)],
        warnings=list(_warnings(counts, added)),
        next=[next_command(settings, "build", folder)] if trajectories is not None else [],
    )


def _good(found: Iterable[Annotation | BadRow], bad: Writer) -> Iterator[Annotation]:
    for row in found:
        if isinstance(row, BadRow):
            bad.add(row)
        else:
            yield row


def _lines(summary: LabelSummary) -> list[str]:
    return table(
        ["dimension", "annotators", "subjects", "answers", "without a value"],
        [
            [name, len(d.annotators), len(d.subjects), d.answers, d.without_value]
            for name, d in summary.dimensions.items()
        ],
    )


def _warnings(counts: LabelCounts, added: Appended) -> Iterator[str]:
    if counts.bad_rows:
        yield (
            f"{counts.bad_rows:,} of {counts.rows:,} rows could not be used and are in quarantine, the first: "
            f"{counts.first_bad}"
        )
    if counts.elsewhere:
        yield (
            f"{counts.elsewhere:,} of {counts.rows:,} rows are about trajectories that are not in this corpus and were "
            "left out"
        )
    if counts.without_step:
        yield f"{counts.without_step:,} labels are on messages that are no step of the agent, and were left out"
    if counts.without_value:
        yield f"{counts.without_value:,} labels are null or no legal value; they are kept as they were given"
    if counts.skipped:
        yield f"{len(counts.skipped):,} files hold no labels, the first: {counts.skipped[0]}"
    if added.mended:
        yield f"a line that was cut short ({added.mended:,} bytes) was cut off the end of the annotations"
