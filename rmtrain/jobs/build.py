"""job=build: trajectories, verdicts and annotations → a dataset, divided by task."""

from collections.abc import Iterator
from pathlib import Path

from rmtrain.config.jobs import BuildSettings
from rmtrain.dataset.build import build, home_of
from rmtrain.dataset.store import save
from rmtrain.errors import DataError
from rmtrain.jobs.inputs import annotation_store, command, existing, trajectories_of
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command, table
from rmtrain.labels.aggregate import Labels, aggregate
from rmtrain.labels.schema import ANNOTATION
from rmtrain.model.objectives import check_heads
from rmtrain.trajectories.render import RenderOptions
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read
from rmtrain.verifiers.base import Verdict
from rmtrain.world.truth import Truth


def run(settings: BuildSettings, folder: Path) -> Report:
    """Give every trajectory its labels and its split, and write them as Arrow tables."""
    check_heads(settings.heads)
    source = trajectories_of(settings, settings.trajectories)
    verdicts = existing(settings.verdicts, "verdicts", command(settings, "verify"))
    labels = _labels(settings, source)
    truths = {truth.trajectory_id: truth for truth in _optional(source.parent / "truth.jsonl")}
    options = RenderOptions(markers=settings.encoder.markers)
    built = build(
        progress(read(source, Trajectory), "build", "trajectory"),
        read(verdicts, Verdict),
        labels,
        truths,
        settings.heads,
        settings.splits,
        options,
    )
    if built.dropped["verdicts on a trajectory that is not here"]:
        raise DataError(
            f"{verdicts} judges trajectories that are not in {source}: it was made from others. "
            f"Judge these: {command(settings, 'verify')}"
        )
    dataset = folder / "dataset"
    meta = save(built, settings.heads, options, dataset)
    splits = meta["splits"]
    return Report(
        job=settings.job,
        artefacts={"dataset": dataset},
        counts={
            key: sum(counts[key] for counts in splits.values()) for key in ("tasks", "trajectories", "steps", "pairs")
        },
        figures={"digest": meta["digest"], "splits": splits, "dropped": meta["dropped"]},
        lines=table(
            ["split", "tasks", "trajectories", "steps", "pairs", *settings.heads],
            [
                [name, c["tasks"], c["trajectories"], c["steps"], c["pairs"]]
                + [c["labels"].get(head, 0) for head in settings.heads]
                for name, c in splits.items()
            ],
        ),
        warnings=_stale(settings, source, verdicts)
        + labels.notes
        + [f"left out: {count:,} x {reason}" for reason, count in meta["dropped"].items() if count]
        + [
            f"no label for head '{name}' in {split}"
            for split in ("train", "validation", "test")
            for name in settings.heads
            if not splits[split]["labels"].get(name)
        ],
        next=[next_command(settings, "train", folder, dataset=dataset)],
    )


def _stale(settings: BuildSettings, source: Path, verdicts: Path) -> list[str]:
    """Ids stay the same where only rewards or references changed, so stale verdicts are known by their age alone."""
    in_one_corpus = verdicts.resolve().parents[1] == source.resolve().parents[1]
    if not in_one_corpus or verdicts.stat().st_mtime_ns >= source.stat().st_mtime_ns:
        return []
    again = command(settings, "verify")
    return [
        f"{verdicts} is older than {source}: if rewards or references changed, judge anew ({again}) and build again"
    ]


def _labels(settings: BuildSettings, source: Path) -> Labels:
    """Labels from the file that is named, else from the corpus's, else from the one beside the trajectories."""
    if settings.annotations is not None:
        file = existing(settings.annotations, "annotations", f"{command(settings, 'import_labels')} labels.path=FILE")
    else:
        places = (annotation_store(settings), source.parent / "annotations.jsonl")
        found = [place for place in places if place.is_file()]
        if not found:
            return aggregate([], settings.labels)
        file = found[0]
    trained: set[str] = set()
    if settings.labels.method == "dawid_skene" and settings.labels.calibrate:
        trained = {t.trajectory_id for t in read(source, Trajectory) if home_of(t, settings.splits) == "train"}
    return aggregate(read(file, ANNOTATION), settings.labels, trained.__contains__)


def _optional(path: Path) -> Iterator[Truth]:
    if path.is_file():
        yield from read(path, Truth)
