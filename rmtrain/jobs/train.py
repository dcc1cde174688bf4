"""job=train: a dataset → a reward model, its figures beside simple models', and the run's record in MLflow."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rmtrain.config.jobs import TrainSettings
from rmtrain.dataset.store import Dataset, load
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.jobs.embedded import EMBEDDED, load_embedded
from rmtrain.jobs.inputs import assignment, check_dataset, command, existing
from rmtrain.jobs.report import Report, short, table
from rmtrain.model.objectives import check_heads
from rmtrain.schedule import check_schedule
from rmtrain.tracking.tracker import Tracker

if TYPE_CHECKING:
    from rmtrain.model.evaluation.figures import HeadRow
    from rmtrain.model.evaluation.table import HeadTable
    from rmtrain.model.train import Fitted

POLICIES = ("drop", "stop")


def run(settings: TrainSettings, folder: Path) -> Report:
    """Fit on train, choose the epoch and cut points on validation, report on test."""
    _check(settings)
    dataset = _dataset(settings)
    left_out = _leave_out(settings, dataset)
    tracker = Tracker(settings.tracking, folder.name, {"dataset": dataset.digest, "schedule": settings.schedule.kind})
    is_done = False
    try:
        report = _train(settings, dataset, tracker, folder)
        is_done = True
    finally:
        tracker.close(is_done)
    unrecorded = [] if tracker.problem is None else [tracker.problem]
    report.warnings = [*left_out, *report.warnings, *unrecorded]
    return report


def _check(settings: TrainSettings) -> None:
    """Refuse what cannot be trained before a corpus is made or read for it."""
    from rmtrain.model.pretrained import check_backbone
    from rmtrain.model.train import check_trainer

    check_heads(settings.heads)
    check_schedule(settings.schedule, settings.heads)
    if settings.dataset.unlabelled_heads not in POLICIES:
        raise ConfigError(unknown("dataset.unlabelled_heads", settings.dataset.unlabelled_heads, POLICIES))
    check_trainer(settings.trainer)
    check_backbone(settings.backbone)


def _train(settings: TrainSettings, dataset: Dataset, tracker: Tracker, folder: Path) -> Report:
    from rmtrain.model.checkpoint import save_model
    from rmtrain.model.curves import Curves
    from rmtrain.model.evaluation.convergence import converged_epochs, draw_convergence
    from rmtrain.model.evaluation.table import head_table
    from rmtrain.model.network import new_model
    from rmtrain.model.train import LabelledSet, fit

    _record(settings, dataset, tracker)
    model = new_model(
        settings.backbone,
        settings.encoder,
        settings.heads,
        settings.schedule,
        seed=settings.trainer.seed,
        dataset_digest=dataset.digest,
    )
    train, validation = dataset.splits["train"], dataset.splits["validation"]
    cache = Path(settings.paths.runs) / "features" if settings.backbone.tune == "frozen" else None
    fitted = fit(
        model,
        LabelledSet(train.examples, train.pairs),
        LabelledSet(validation.examples, validation.pairs),
        settings.trainer,
        folder=folder / "checkpoints",
        cache=cache,
        callbacks=[Curves(tracker.metrics)],
    )
    saved = save_model(model, folder / "model")
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)  # the model is whole without them
    held = head_table(model, dataset, settings.trainer, baselines=settings.baselines, cache=cache)
    converged = converged_epochs(settings.heads, fitted.history)
    tracker.metrics({f"converged_epoch/{name}": float(epoch) for name, epoch in converged.items() if epoch is not None})
    tracker.metrics(_table_metrics(held.rows))
    tracker.table([asdict(row) for row in held.rows], "report/table.json")
    by_family = [{"family": family, **asdict(row)} for family, rows in held.families.items() for row in rows]
    tracker.table(by_family, "report/families.json")
    tracker.figure(draw_convergence(settings.heads, fitted.history), "report/convergence.png")
    tracker.file(saved / "rmtrain.json", "model")
    return Report(
        job=settings.job,
        artefacts={"model": saved, "dataset": dataset.folder},
        counts={"epochs": len(fitted.history), "best_epoch": fitted.best_epoch + 1},
        figures=_figures(dataset, fitted, held, converged, tracker),
        lines=_lines(held),
        warnings=[*dict.fromkeys([*fitted.notes, *held.notes]), *_cut(fitted)],
        next=_next(settings, saved, dataset, tracker),
    )


def _dataset(settings: TrainSettings) -> Dataset:
    if settings.dataset.path is None:
        if settings.corpus != EMBEDDED:
            raise ConfigError(
                f"corpus={settings.corpus} is not what dataset=embedded trains on. To train on what was built in that "
                f"corpus add dataset=folder; for the embedded corpus leave corpus out."
            )
        dataset = load_embedded(settings)
    else:
        dataset = load(existing(settings.dataset.path, "dataset.path", command(settings, "build"), "folder"))
    check_dataset(dataset, settings.encoder, settings.heads)
    return dataset


def _leave_out(settings: TrainSettings, dataset: Dataset) -> list[str]:
    """Take heads without anything to learn from out of `settings.heads`, where `dataset.unlabelled_heads` allows it.

    Returns:
        One sentence for each that was left out.
    """
    labelled = {pair.head for pair in dataset.splits["train"].pairs if pair.target != 0.5}
    for example in dataset.splits["train"].examples:
        labelled |= {name for name, label in example.trajectory_labels.items() if label is not None}
        labelled |= {name for name, labels in example.step_labels.items() if any(v is not None for v in labels)}
    missing = [name for name in settings.heads if name not in labelled]
    if len(missing) == len(settings.heads) or (missing and settings.dataset.unlabelled_heads == "stop"):
        without = "" if len(missing) == len(settings.heads) else ", or train without: dataset.unlabelled_heads=drop"
        raise DataError(
            f"{dataset.folder} has no label in training for {', '.join(missing)}. Label some trajectories and build "
            f"again (job=build annotations=FILE){without}"
        )
    settings.heads = {name: head for name, head in settings.heads.items() if name in labelled}
    return [
        f"head '{name}' has no labels in training and was left out: the model does not judge it" for name in missing
    ]


def _record(settings: TrainSettings, dataset: Dataset, tracker: Tracker) -> None:
    tracker.params(
        {
            "backbone": settings.backbone.name,
            "tune": settings.backbone.tune,
            "schedule": settings.schedule.kind,
            "epochs": settings.trainer.epochs,
            "lr_backbone": settings.trainer.lr_backbone,
            "lr_heads": settings.trainer.lr_heads,
            "seed": settings.trainer.seed,
            "dataset": dataset.digest,
        }
    )
    tracker.text(json.dumps(settings.record, indent=2, default=str), "settings.json")
    tracker.file(dataset.folder / "README.md", "dataset")
    profile: dict[str, object] = {
        name: {"examples": len(d.examples), "pairs": len(d.pairs)} for name, d in dataset.splits.items()
    }
    tracker.dataset(dataset.folder.parent.parent.name, dataset.digest, str(dataset.folder.resolve()), profile)


def _table_metrics(rows: "list[HeadRow]") -> dict[str, float]:
    """The table as metrics; figures of different measures never share a chart."""
    from rmtrain.model.objectives import OBJECTIVES

    keys = {objective.measure: objective.key for objective in OBJECTIVES.values()}
    found: dict[str, float | None] = {}
    for row in rows:
        columns = {"test": row.model, "tfidf": row.tfidf, "majority": row.majority, "ceiling": row.ceiling}
        found |= {f"{column}_{keys[row.measure]}/{row.head}": value for column, value in columns.items()}
        found[f"test_way/{row.head}"] = row.way(row.model)
    return {key: value for key, value in found.items() if value is not None}


def _figures(
    dataset: Dataset,
    fitted: "Fitted",
    held: "HeadTable",
    converged: dict[str, int | None],
    tracker: Tracker,
) -> dict[str, object]:
    return {
        "heads": _by_head(held.rows),
        "families": {family: _by_head(rows) for family, rows in held.families.items()},
        "families_not_in_training": list(held.unseen),
        "history": [{"epoch": epoch.epoch, **epoch.values} for epoch in fitted.history],
        "converged_epoch": converged,
        "cuts": asdict(fitted.cuts),
        "tokens_per_pass": fitted.n_tokens,
        "precision": fitted.precision,
        "dataset_digest": dataset.digest,
        "mlflow": {"uri": tracker.uri, "experiment_id": tracker.experiment_id, "run_id": tracker.run_id},
    }


def _by_head(rows: "list[HeadRow]") -> dict[str, dict[str, object]]:
    return {row.head: {**asdict(row), "way_tfidf": row.way(row.tfidf), "way_model": row.way(row.model)} for row in rows}


def _cut(fitted: "Fitted") -> list[str]:
    cuts = fitted.cuts
    n_cut = cuts.block_tokens + cuts.prefix_tokens
    if not n_cut:
        return []
    what = f"{n_cut:,} tokens did not fit and were not read: the middles of {cuts.blocks:,} steps and long tasks"
    return [f"{what}. Raise encoder.block_tokens or encoder.prefix_tokens as far as encoder.window_tokens allows"]


def _lines(held: "HeadTable") -> list[str]:
    if not held.rows:
        return []
    lines = ["", *_rows(held.rows), "  (test split; of the way: from chance to ceiling)", ""]
    for family in held.unseen:
        lines += [f"  of these, tasks of the family '{family}', which training never saw:"]
        lines += [*_rows(held.families[family]), ""]
    return lines


def _rows(rows: "list[HeadRow]") -> list[str]:
    header = ["head", "figure", "n", "chance", "majority", "tf-idf", "model", "ceiling", "of the way"]
    return table(
        header,
        [
            [r.head, r.measure, r.n, r.chance, r.majority, r.tfidf, r.model, r.ceiling, _percent(r.way(r.model))]
            for r in rows
        ],
    )


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f} %"


def _next(settings: TrainSettings, model: Path, dataset: Dataset, tracker: Tracker) -> list[str]:
    trajectories = dataset.folder.parent.parent / "simulate" / "trajectories.jsonl"
    given = assignment("input", short(trajectories)) if trajectories.is_file() else "input=FILE"
    look = [] if tracker.run_id is None else [f"make mlflow    # then open {tracker.page}"]
    return [
        *look,
        f"{command(settings, 'score')} {assignment('model', short(model))} {given}",
        "python -m rmtrain job=ingest source=openai source.path=YOUR_LOGS.jsonl corpus=mine",
    ]
