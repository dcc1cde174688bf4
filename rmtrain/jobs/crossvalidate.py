"""job=crossvalidate: labelled steps → how well models of the other tasks judge them, beside simple models and people.

For sets too small to be divided once: each fold is the test set in turn. Whatever is chosen is chosen inside the
training folds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmtrain.config.dataset import SplitSettings
from rmtrain.config.jobs import (
    BuildSettings,
    CrossvalidateSettings,
    ImportLabelsSettings,
    IngestSettings,
    JobSettings,
    VerifySettings,
)
from rmtrain.config.labels import AggregationSettings
from rmtrain.dataset.examples import Example, unit_labels
from rmtrain.dataset.store import Dataset, load
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.jobs.inputs import annotation_store, command, corpus_folder, existing
from rmtrain.jobs.report import Report, table
from rmtrain.labels.aggregate import aggregate
from rmtrain.labels.schema import ANNOTATION, StepLabel
from rmtrain.model.objectives import check_heads
from rmtrain.tracking.tracker import Tracker
from rmtrain.trajectories.store import read

if TYPE_CHECKING:
    from rmtrain.model.crossvalidation import Taught, Trial
    from rmtrain.model.evaluation.steps import JudgedSteps
    from rmtrain.model.network import RewardNetwork

MAJORITY, BASELINE = "majority", "tf-idf and counts"


def run(settings: CrossvalidateSettings, folder: Path) -> Report:
    """Judge every labelled step once for each candidate and division into folds."""
    from tqdm import tqdm

    from rmtrain.model.crossvalidation import Judgement, Trial

    _check(settings)
    dataset = _dataset(settings)
    examples = _labelled(settings, dataset)
    annotations = _annotations(settings, {example.trajectory_id for example in examples})
    trial = Trial(
        name=settings.head,
        head=settings.heads[settings.head],
        examples=examples,
        folds=settings.folds,
        trainer=settings.trainer,
        scratch=folder / "checkpoints",
        cache=Path(settings.paths.runs) / "features" if settings.backbone.tune == "frozen" else None,
    )
    tracker = Tracker(settings.tracking, folder.name, {"dataset": dataset.digest})
    is_done = False
    try:
        seeds = settings.folds.seeds
        found: dict[str, list[Judgement]] = {
            MAJORITY: [trial.majority(seed) for seed in seeds],
            BASELINE: [trial.baseline(seed) for seed in seeds],
        }
        taught = _votes(settings.head, annotations)
        n_folds = len(settings.candidates) * len(seeds) * settings.folds.number
        with tqdm(total=n_folds, desc="folds", unit="fold", disable=not settings.trainer.progress) as bar:
            for name, candidate in settings.candidates.items():
                start = _start(settings, candidate.model)
                more = _whole(examples, taught) if candidate.annotators else None
                found[name] = [trial.judge(start, seed, more, bar.update) for seed in seeds]
        report = _report(settings, dataset, trial, found, annotations)
        for name, row in report.figures["judges"].items():
            values = {key: row[key]["value"] for key in row if row[key]["value"] is not None}
            tracker.metrics({f"{key}/{name.replace(' ', '_')}": value for key, value in values.items()})
        is_done = True
    finally:
        tracker.close(is_done)
    if tracker.problem is not None:
        report.warnings.append(tracker.problem)
    return report


def _check(settings: CrossvalidateSettings) -> None:
    from rmtrain.model.crossvalidation import check_folds
    from rmtrain.model.pretrained import check_backbone
    from rmtrain.model.train import check_trainer

    check_heads(settings.heads)
    if settings.head not in settings.heads:
        raise ConfigError(f"head: {unknown('head', settings.head, settings.heads)}")
    head = settings.heads[settings.head]
    if head.level != "step" or head.objective != "ordinal":
        raise ConfigError(
            f"head={settings.head} is a {head.level} head of objective {head.objective}. Only heads of steps with "
            "ordered classes (level step, objective ordinal) are cross-validated."
        )
    check_folds(settings.folds)
    check_trainer(settings.trainer)
    check_backbone(settings.backbone)


def _dataset(settings: CrossvalidateSettings) -> Dataset:
    """The dataset that is named, or made of the log by the pages of the jobs that lead to one."""
    if settings.dataset.path is not None:
        return load(existing(settings.dataset.path, "dataset.path", command(settings, "build"), "folder"))
    if settings.source is None or not settings.source.path:
        raise ConfigError("there is no dataset to judge. Name one: dataset.path=FOLDER; or a log: source.path=PATH")
    common: dict[str, Any] = {"corpus": settings.corpus, "paths": settings.paths}
    base = corpus_folder(settings)
    labels = settings.labels if settings.labels.path else replace(settings.labels, path=settings.source.path)
    pages: list[JobSettings] = [
        IngestSettings(job="ingest", source=settings.source, **common),
        VerifySettings(job="verify", verifiers=settings.verifiers, **common),
        ImportLabelsSettings(job="import_labels", labels=labels, **common),
        BuildSettings(
            job="build",
            verdicts=str(base / "verify" / "verdicts.jsonl"),
            labels=AggregationSettings(),
            splits=SplitSettings(),
            heads=settings.heads,
            encoder=settings.encoder,
            **common,
        ),
    ]
    for page in pages:
        started = datetime.now(UTC)
        report: Report = import_module(f"rmtrain.jobs.{page.job}").run(page, base / page.job)
        report.close(page.record, started)
        report.save(base / page.job)
        print(report.text().splitlines()[0])
    return load(base / "build" / "dataset")


def _labelled(settings: CrossvalidateSettings, dataset: Dataset) -> list[Example]:
    head = settings.heads[settings.head]
    held = dataset.heads.get(settings.head)
    wanted = {"level": head.level, "objective": head.objective, "classes": head.classes}
    if held != wanted:
        raise ConfigError(f"head '{settings.head}' is {wanted}, but {dataset.folder} was built with {held}.")
    examples = [
        example
        for data in dataset.splits.values()
        for example in data.examples
        if any(label is not None for label in unit_labels(settings.head, head, example))
    ]
    if not examples:
        raise DataError(f"{dataset.folder} has no label for head '{settings.head}'. Import some: job=import_labels")
    return sorted(examples, key=lambda example: example.trajectory_id)


def _annotations(settings: CrossvalidateSettings, ids: set[str]) -> list[StepLabel]:
    """What annotators, not experts, said of the steps that are judged."""
    if settings.annotations is not None:
        path = existing(settings.annotations, "annotations", command(settings, "import_labels"))
    else:
        path = annotation_store(settings)
        if not path.is_file():
            return []
    latest = {
        (row.annotator, row.trajectory_id, row.step_index): row
        for row in read(path, ANNOTATION)
        if isinstance(row, StepLabel) and row.role == "annotator" and row.dimension == settings.head
    }
    return [row for row in latest.values() if row.trajectory_id in ids]


def _votes(head: str, annotations: Sequence[StepLabel]) -> Mapping[tuple[str, int], tuple[float, ...]]:
    return aggregate(annotations).steps.get(head, {})


def _whole(examples: Sequence[Example], votes: Mapping[tuple[str, int], tuple[float, ...]]) -> "Taught":
    """Vote shares as labels of whole trajectories, step by step."""
    if not votes:
        raise DataError("there are no annotators to learn from. Import their labels (job=import_labels), or leave out "
                        "the candidates with annotators=true")  # fmt: skip
    return {
        example.trajectory_id: tuple(votes.get((example.trajectory_id, i)) for i in range(len(example.blocks)))
        for example in examples
    }


def _start(settings: CrossvalidateSettings, model: str | None) -> "RewardNetwork":
    from rmtrain.model.checkpoint import continued
    from rmtrain.model.network import new_model

    heads, seed = {settings.head: settings.heads[settings.head]}, settings.trainer.seed
    if model is not None:
        return continued(Path(model), settings.backbone, heads, settings.schedule, seed)
    return new_model(settings.backbone, settings.encoder, heads, settings.schedule, seed=seed)


def _report(
    settings: CrossvalidateSettings,
    dataset: Dataset,
    trial: "Trial",
    found: Mapping[str, Sequence[Any]],
    annotations: Sequence[StepLabel],
) -> Report:
    from rmtrain.model.evaluation.steps import differences, intervals

    labels = [_classes(settings, example) for example in trial.examples]
    judged = {name: _judged(trial.examples, labels, rows) for name, rows in found.items()}
    n_classes = settings.heads[settings.head].classes
    own = {name: _figures(rows, n_classes) for name, rows in judged.items()}
    against = {
        name: {key: asdict(value) for key, value in differences(judged[name], judged[BASELINE], n_classes).items()}
        for name in settings.candidates
    }
    people = {
        name: {key: asdict(value) for key, value in intervals(rows, n_classes).items()}
        for name, rows in _people(trial.examples, labels, annotations).items()
    }
    ranks = {name: _rank(own[name]["kappa"]["value"], people) for name in settings.candidates}
    n_steps = sum(label is not None for row in labels for label in row)
    return Report(
        job=settings.job,
        artefacts={"dataset": dataset.folder},
        counts={
            "trajectories": len(labels),
            "steps": n_steps,
            "tasks": len({example.task_id for example in trial.examples}),
            "annotators": len(people),
        },
        figures={
            "judges": own,
            "minus_baseline": against,
            "annotators": people,
            "rank_among_annotators": ranks,
            "epochs": {name: [list(row.epochs) for row in rows] for name, rows in found.items() if rows[0].epochs},
            "dataset_digest": dataset.digest,
        },
        lines=list(_lines(own, against, people, ranks)),
        warnings=[] if n_steps >= 1000 else [f"{n_steps:,} labelled steps are few: mind the intervals"],
    )


def _figures(rows: "Sequence[JudgedSteps]", n_classes: int) -> dict[str, dict[str, float | None]]:
    from rmtrain.model.evaluation.steps import intervals

    found = {key: asdict(value) for key, value in intervals(rows, n_classes).items()}
    early = intervals([row.until_first_error() for row in rows], n_classes)
    return found | {"kappa_until_first_error": asdict(early["kappa"])}


def _classes(settings: CrossvalidateSettings, example: Example) -> tuple[int | None, ...]:
    labels = unit_labels(settings.head, settings.heads[settings.head], example)
    return tuple(
        max(range(len(label)), key=label.__getitem__) if isinstance(label, tuple) else None for label in labels
    )


def _judged(
    examples: Sequence[Example], labels: Sequence[tuple[int | None, ...]], rows: Sequence[Any]
) -> "list[JudgedSteps]":
    from rmtrain.model.evaluation.steps import JudgedSteps

    return [
        JudgedSteps(example.task_id, label, said)
        for row in rows
        for example, label, said in zip(examples, labels, row.classes, strict=True)
    ]


def _people(
    examples: Sequence[Example], labels: Sequence[tuple[int | None, ...]], annotations: Sequence[StepLabel]
) -> "dict[str, list[JudgedSteps]]":
    from rmtrain.model.evaluation.steps import JudgedSteps

    said = {(row.annotator, row.trajectory_id, row.step_index): row.value for row in annotations}
    return {
        name: [
            JudgedSteps(e.task_id, label, tuple(said.get((name, e.trajectory_id, i)) for i in range(len(e.blocks))))
            for e, label in zip(examples, labels, strict=True)
        ]
        for name in sorted({row.annotator for row in annotations})
    }


def _rank(value: float | None, people: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> int | None:
    """Place among the annotators by kappa, 1 the best; None without annotators or figure."""
    if value is None or not people:
        return None
    return 1 + sum((row["kappa"]["value"] or 0.0) > value for row in people.values())


def _lines(
    own: Mapping[str, Any], against: Mapping[str, Any], people: Mapping[str, Any], ranks: Mapping[str, int | None]
) -> Iterator[str]:
    keys = ("step_accuracy", "first_error_accuracy", "kappa", "kappa_until_first_error")
    header = ["judge", "step accuracy", "first error", "kappa", "kappa to first error"]
    yield ""
    yield from table(header, [[name, *(_with_interval(row[key]) for key in keys)] for name, row in own.items()])
    if people:
        best = sorted(people, key=lambda name: -(people[name]["kappa"]["value"] or 0.0))
        yield f"  the {len(people)} annotators themselves:"
        yield from table(
            header[:4], [[name, *(_with_interval(people[name][key]) for key in keys[:3])] for name in best]
        )
    yield ""
    for name, row in against.items():
        rank = "" if ranks[name] is None else f", place {ranks[name]} among {len(people)} annotators and itself"
        yield f"  {name}: kappa {_with_interval(row['kappa'], '+.3f')} above '{BASELINE}'{rank}"
    yield "  (95 % intervals over tasks)"


def _with_interval(interval: Mapping[str, float | None], form: str = ".3f") -> str | None:
    value, low, high = (interval[key] for key in ("value", "low", "high"))
    if value is None:
        return None
    return f"{value:{form}}" + ("" if low is None or high is None else f" [{low:{form}}, {high:{form}}]")
