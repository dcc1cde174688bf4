"""job=crossvalidate: labelled steps → how well models of other tasks tell them, beside simple models and annotators.

For sets too small to be divided once: each fold is the test set in turn. Whatever is chosen is chosen inside the
training folds.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
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
from rmtrain.dataset.examples import Example, hard_class, unit_labels
from rmtrain.dataset.store import Dataset, load
from rmtrain.disk import remove_leftovers
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.jobs.inputs import annotation_store, check_dataset, command, corpus_folder, existing
from rmtrain.jobs.page import run_page
from rmtrain.jobs.report import Report, table
from rmtrain.labels.aggregate import aggregate
from rmtrain.labels.schema import ANNOTATION, StepLabel
from rmtrain.model.objectives import check_heads
from rmtrain.tracking.tracker import Tracker
from rmtrain.trajectories.store import read

if TYPE_CHECKING:
    from rmtrain.model.crossvalidation import OutOfFold, Recipe, Taught
    from rmtrain.model.evaluation.steps import SaidSteps
    from rmtrain.model.network import RewardNetwork

MAJORITY, BASELINE = "majority", "tf-idf and counts"
Answers = dict[tuple[str, str, int], StepLabel]
"""The latest answer by annotator, trajectory_id and step_index."""


def run(settings: CrossvalidateSettings, folder: Path) -> Report:
    """Tell every labelled step once for each candidate and division into folds."""
    from tqdm import tqdm

    from rmtrain.model.crossvalidation import Crossvalidation
    from rmtrain.model.evaluation.baselines import STRENGTHS

    _check(settings)
    dataset, warnings = _dataset(settings)
    head = settings.heads[settings.head]
    whole = Crossvalidation(settings.head, head, _labelled(settings, dataset), settings.folds)
    answers = _answers_of(settings, dataset)
    gold, said = _answers(settings, answers, {example.trajectory_id for example in whole.examples})
    starts = {name: _start(settings, dataset, candidate.model) for name, candidate in settings.candidates.items()}
    taught = _taught(settings, whole.examples, said)
    remove_leftovers(folder, ".folds.", ".partial")
    scratch = folder / f".folds.{os.getpid()}.partial"
    cache = Path(settings.paths.runs) / "features" if settings.backbone.tune == "frozen" else None
    tracker = Tracker(settings.tracking, settings.corpus, {"dataset": dataset.digest})
    is_done = False
    try:
        seeds = settings.folds.seeds
        recipes: dict[str, tuple[Recipe, Sequence[Any]]] = {
            MAJORITY: (whole.majority(), [None]),
            BASELINE: (whole.logistic(), STRENGTHS),
        }
        for name, start in starts.items():
            more = taught if settings.candidates[name].annotators else None
            recipes[name] = whole.trained(start, settings.trainer, scratch, cache, more), settings.folds.epochs
        found: dict[str, list[OutOfFold]] = {}
        n_folds = len(recipes) * len(seeds) * settings.folds.number
        with tqdm(total=n_folds, unit="fold", disable=not settings.trainer.progress) as bar:
            for name, (recipe, options) in recipes.items():
                bar.set_description(name)
                found[name] = [whole.run(recipe, options, seed, bar.update) for seed in seeds]
        report = _report(settings, dataset, whole.examples, found, gold, said)
        _record(settings, dataset, report, tracker)
        is_done = True
    finally:
        tracker.close(is_done)
    recorded = [] if tracker.problem is None else [tracker.problem]
    if answers is not None:
        report.artefacts["annotations"] = answers
    report.warnings = [*warnings, *report.warnings, *whole.notes, *recorded]
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
    if not settings.candidates:
        raise ConfigError("there are no candidates to compare. Add one: +candidates.bare={}")
    if taken := {MAJORITY, BASELINE} & settings.candidates.keys():
        raise ConfigError(f"candidates: '{min(taken)}' is the name of a simple model. Give the candidate another name.")
    check_trainer(settings.trainer)
    check_folds(settings.folds, settings.trainer)
    check_backbone(settings.backbone)


def _dataset(settings: CrossvalidateSettings) -> tuple[Dataset, list[str]]:
    """The dataset that is named, or made of the log by the pages of the jobs that lead to one, or the corpus's."""
    log = settings.source.path if settings.source else None
    base, warnings = corpus_folder(settings), list[str]()
    place = Path(settings.dataset.path or base / "build" / "dataset")
    if log and place.resolve() != (base / "build" / "dataset").resolve():
        raise ConfigError("dataset.path and source.path both say what to learn from. Give one of them")
    if log:
        for page in _road(settings, log):
            report = run_page(page, base / page.job)
            print(report.text().splitlines()[0])
            warnings += [f"{page.job}: {warning}" for warning in report.warnings]
    dataset = load(existing(place, "dataset.path", command(settings, "build"), "folder"))
    check_dataset(dataset, settings.encoder, {settings.head: settings.heads[settings.head]})
    return dataset, warnings


def _road(settings: CrossvalidateSettings, log: str) -> list[JobSettings]:
    assert settings.source is not None  # it holds the log
    common: dict[str, Any] = {"corpus": settings.corpus, "paths": settings.paths}
    labels = settings.labels if settings.labels.path else replace(settings.labels, path=log)
    return [
        IngestSettings(job="ingest", source=settings.source, **common),
        VerifySettings(job="verify", verifiers=settings.verifiers, **common),
        ImportLabelsSettings(job="import_labels", labels=labels, **common),
        BuildSettings(
            job="build",
            verdicts=str(corpus_folder(settings) / "verify" / "verdicts.jsonl"),
            labels=AggregationSettings(),
            splits=SplitSettings(),
            heads=settings.heads,
            encoder=settings.encoder,
            **common,
        ),
    ]


def _labelled(settings: CrossvalidateSettings, dataset: Dataset) -> list[Example]:
    head = settings.heads[settings.head]
    examples = [
        example
        for data in dataset.splits.values()
        for example in data.examples
        if any(label is not None for label in unit_labels(settings.head, head, example))
    ]
    if not examples:
        raise DataError(f"{dataset.folder} has no label for head '{settings.head}'. Import some: job=import_labels")
    return sorted(examples, key=lambda example: example.trajectory_id)


def _answers_of(settings: CrossvalidateSettings, dataset: Dataset) -> Path | None:
    """The file of annotations: the one that is named, else that of the dataset's corpus, else this corpus's."""
    if settings.annotations is not None:
        return existing(settings.annotations, "annotations", command(settings, "import_labels"))
    base = dataset.folder.resolve().parents[1]
    places = (base / "annotations", base / "simulate", annotation_store(settings).parent)
    return next((file for place in places if (file := place / "annotations.jsonl").is_file()), None)


def _answers(settings: CrossvalidateSettings, path: Path | None, ids: set[str]) -> tuple[Answers, Answers]:
    """What experts said of the steps, and what annotators did."""
    if path is None:
        return {}, {}
    found: dict[str, Answers] = {"gold": {}, "annotator": {}}
    for row in read(path, ANNOTATION):
        if isinstance(row, StepLabel) and row.dimension == settings.head and row.trajectory_id in ids:
            found[row.role][row.annotator, row.trajectory_id, row.step_index] = row
    return found["gold"], found["annotator"]


def _taught(settings: CrossvalidateSettings, examples: Sequence[Example], said: Answers) -> "Taught | None":
    """Shares of annotators' votes as labels of whole trajectories; None where no candidate asks for them."""
    asking = [name for name, candidate in settings.candidates.items() if candidate.annotators]
    if not asking:
        return None
    votes = aggregate(said.values()).steps.get(settings.head)
    if not votes:
        raise DataError(
            f"there are no annotators for candidates.{asking[0]} to learn from. Import their labels "
            f"(job=import_labels), or set candidates.{asking[0]}.annotators=false"
        )
    return {e.trajectory_id: tuple(votes.get((e.trajectory_id, i)) for i in range(len(e.blocks))) for e in examples}


def _start(settings: CrossvalidateSettings, dataset: Dataset, model: str | None) -> "RewardNetwork":
    from rmtrain.model.checkpoint import continued
    from rmtrain.model.network import new_model

    heads = {settings.head: settings.heads[settings.head]}
    if model is None:
        return new_model(settings.backbone, settings.encoder, heads, settings.schedule, seed=settings.trainer.seed)
    start = continued(Path(model), settings.backbone, heads, settings.schedule)
    if start.card.dataset_digest == dataset.digest:
        raise ConfigError(f"{model} was trained on this very dataset, so it knows what it would be tested on.")
    check_dataset(dataset, start.card.encoder, heads)
    return start


def _record(settings: CrossvalidateSettings, dataset: Dataset, report: Report, tracker: Tracker) -> None:
    tracker.params({"backbone": settings.backbone.name, "tune": settings.backbone.tune, "dataset": dataset.digest})
    tracker.text(json.dumps(settings.record, indent=2, default=str), "settings.json")
    tracker.dataset(settings.corpus, dataset.digest, str(dataset.folder.resolve()), {})
    for name, row in report.figures["models"].items():
        values = {key: row[key]["value"] for key in row if row[key]["value"] is not None}
        tracker.metrics({f"{key}/{name.replace(' ', '_')}": value for key, value in values.items()})
    rows = [
        {"who": name, "is_annotator": kind == "annotators", "figure": key, **value}
        for kind in ("models", "annotators")
        for name, row in report.figures[kind].items()
        for key, value in row.items()
    ]
    tracker.table(rows, "report/steps.json")


def _report(
    settings: CrossvalidateSettings,
    dataset: Dataset,
    examples: Sequence[Example],
    found: "Mapping[str, Sequence[OutOfFold]]",
    gold: Answers,
    said: Answers,
) -> Report:
    from rmtrain.model.evaluation.steps import SaidSteps, differences

    head = settings.heads[settings.head]
    labels = [tuple(map(hard_class, unit_labels(settings.head, head, example))) for example in examples]
    told = {
        name: [
            SaidSteps(example.task_id, label, classes)
            for row in rows
            for example, label, classes in zip(examples, labels, row.classes, strict=True)
        ]
        for name, rows in found.items()
    }
    models = {name: _figures(rows, head.classes) for name, rows in told.items()}
    against = {
        name: {key: asdict(v) for key, v in differences(told[name], told[BASELINE], head.classes).items()}
        for name in settings.candidates
    }
    expert = {(row.trajectory_id, row.step_index) for row in gold.values() if row.value is not None}
    people = {name: _figures(rows, head.classes) for name, rows in _annotators(examples, labels, expert, said).items()}
    ranks = {name: _rank(models[name]["kappa"]["value"], people) for name in settings.candidates}
    n_steps = sum(label is not None for row in labels for label in row)
    n_split = sum(
        label is not None and hard_class(label) is None
        for example in examples
        for label in unit_labels(settings.head, head, example)
    )
    return Report(
        job=settings.job,
        artefacts={"dataset": dataset.folder},
        counts={
            "trajectories": len(examples),
            "steps": n_steps,
            "tasks": len({example.task_id for example in examples}),
            "annotators": len(people),
        },
        figures={
            "models": models,
            "minus_baseline": against,
            "annotators": people,
            "rank_among_annotators": ranks,
            "chosen": {name: [list(row.chosen) for row in rows] for name, rows in found.items() if name != MAJORITY},
            "dataset_digest": dataset.digest,
        },
        lines=list(_lines(models, against, people, ranks)),
        warnings=list(_warnings(n_steps, n_split, said, people)),
    )


def _figures(rows: "Sequence[SaidSteps]", n_classes: int) -> dict[str, dict[str, float | None]]:
    from rmtrain.model.evaluation.steps import intervals

    found = {key: asdict(value) for key, value in intervals(rows, n_classes).items()}
    early = intervals([row.until_first_error() for row in rows], n_classes)
    return found | {"kappa_until_first_error": asdict(early["kappa"])}


def _annotators(
    examples: Sequence[Example],
    labels: Sequence[tuple[int | None, ...]],
    expert: set[tuple[str, int]],
    said: Answers,
) -> "dict[str, list[SaidSteps]]":
    """What each annotator said of the steps that an expert labelled, in the trajectories that they were given."""
    from rmtrain.model.evaluation.steps import SaidSteps

    given = {(name, trajectory_id) for name, trajectory_id, _ in said}
    values = {key: row.value for key, row in said.items()}
    found: dict[str, list[SaidSteps]] = {}
    for example, label in zip(examples, labels, strict=True):
        known = tuple(c if (example.trajectory_id, i) in expert else None for i, c in enumerate(label))
        if any(c is not None for c in known):
            for name in sorted(name for name, trajectory_id in given if trajectory_id == example.trajectory_id):
                own = tuple(values.get((name, example.trajectory_id, i)) for i in range(len(label)))
                found.setdefault(name, []).append(SaidSteps(example.task_id, known, own))
    return found


def _rank(value: float | None, people: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> int | None:
    """Place by kappa among the annotators who have one, 1 the best; None without annotators or figure."""
    known = [kappa for row in people.values() if (kappa := row["kappa"]["value"]) is not None]
    if value is None or not known:
        return None
    return 1 + sum(kappa > value for kappa in known)


def _lines(
    models: Mapping[str, Any], against: Mapping[str, Any], people: Mapping[str, Any], ranks: Mapping[str, int | None]
) -> Iterator[str]:
    keys = ("step_accuracy", "first_error_accuracy", "kappa", "kappa_until_first_error")
    header = ["", "step accuracy", "first error", "kappa", "kappa to first error"]
    yield ""
    yield from table(header, [[name, *(_with_interval(row[key]) for key in keys)] for name, row in models.items()])
    if people:
        kappas = {name: row["kappa"]["value"] for name, row in people.items()}
        best = sorted(people, key=lambda name: (kappas[name] is None, -(kappas[name] or 0.0)))
        yield f"  the {len(people)} annotators, on the steps that experts labelled:"
        yield from table(header, [[name, *(_with_interval(people[name][key]) for key in keys)] for name in best])
    yield ""
    for name, row in against.items():
        rank = "" if ranks[name] is None else f"; place {ranks[name]} among the annotators"
        yield f"  {name}: kappa {_with_interval(row['kappa'], '+.3f')} above '{BASELINE}'{rank}"
    yield "  (95 % intervals over tasks)"


def _with_interval(interval: Mapping[str, float | None], form: str = ".3f") -> str | None:
    value, low, high = (interval[key] for key in ("value", "low", "high"))
    if value is None:
        return None
    return f"{value:{form}}" + ("" if low is None or high is None else f" [{low:{form}}, {high:{form}}]")


def _warnings(n_steps: int, n_split: int, said: Answers, people: Mapping[str, Any]) -> Iterator[str]:
    if n_steps < 1000:
        yield f"{n_steps:,} labelled steps are few: mind the intervals"
    if n_split:
        yield f"{n_split:,} steps have labels that favour no class: models learn from them, figures leave them out"
    if said and not people:
        yield "no expert labelled a step, so annotators are not measured: the labels are made of their own answers"
