"""The final table of a training run: model, baselines and ceiling on the test split, whole and by family of tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rmtrain.config.model import TrainerSettings
from rmtrain.dataset.store import Dataset
from rmtrain.model.evaluation import baselines as simple
from rmtrain.model.evaluation.figures import HeadRow, choose_cuts, figures, table, true_values
from rmtrain.model.network import RewardNetwork
from rmtrain.model.precision import find_device
from rmtrain.model.predict import Predictions, predict

NO_TEST = "no test tasks, so no figures: raise splits.test, or world.test_share where the world is simulated"


@dataclass(frozen=True)
class HeadTable:
    """Figures on the test split.

    Attributes:
        rows: one per head, over all of it; empty without a test split.
        families: the same over the tasks of each family.
        unseen: those of the families that training never saw.
        notes: sentences for the report.
    """

    rows: list[HeadRow] = field(default_factory=list)
    families: dict[str, list[HeadRow]] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def head_table(
    model: RewardNetwork, dataset: Dataset, settings: TrainerSettings, baselines: bool, cache: Path | None = None
) -> HeadTable:
    """Figures of all heads on the test split.

    Args:
        model: the trained model.
        dataset: its train split fits the baselines, its validation split chooses every cut point.
        settings: device, precision and chunk size for reading.
        baselines: also fit the simple models.
        cache: folder of cached vectors of a frozen backbone; None reads anew.

    Returns:
        The figures; columns that could not be computed hold None.
    """
    heads = model.card.heads
    train, validation, test = (dataset.splits[name] for name in ("train", "validation", "test"))
    if not test.examples:
        return HeadTable(notes=(NO_TEST,))
    examples = [*validation.examples, *test.examples]
    found = predict(
        model,
        examples,
        precision=settings.precision,
        device=find_device(settings.accelerator).type,
        chunk_tokens=settings.chunk_tokens,
        cache=cache,
        progress=settings.progress,
    )
    columns = {"model": as_values(model, found)}
    if baselines:
        columns["majority"] = simple.majority(heads, train.examples, examples)
        columns["tfidf"] = simple.tfidf(
            heads, train.examples, train.pairs, validation.examples, validation.pairs, examples, settings.seed
        )
    columns["ceiling"] = true_values(heads, examples)
    n = len(validation.examples)
    cuts = {
        column: choose_cuts(heads, {name: rows[:n] for name, rows in values.items()}, validation.examples)
        for column, values in columns.items()
    }

    def rows_of(indices: Sequence[int]) -> list[HeadRow]:
        """The table over some of the test examples."""
        held = [test.examples[index] for index in indices]
        ids = {example.trajectory_id for example in held}
        pairs = [pair for pair in test.pairs if pair.trajectory_a in ids and pair.trajectory_b in ids]
        return table(
            heads,
            {
                column: figures(
                    heads,
                    {name: [rows[n + index] for index in indices] for name, rows in values.items()},
                    held,
                    pairs,
                    cuts[column],
                )
                for column, values in columns.items()
            },
        )

    members: dict[str, list[int]] = {}
    for index, example in enumerate(test.examples):
        if example.task_family is not None:
            members.setdefault(example.task_family, []).append(index)
    seen = {example.task_family for example in train.examples}
    return HeadTable(
        rows=rows_of(range(len(test.examples))),
        families={family: rows_of(indices) for family, indices in sorted(members.items())},
        unseen=tuple(sorted(family for family in members if family not in seen)),
        notes=() if found.note is None else (found.note,),
    )


def as_values(model: RewardNetwork, predictions: Predictions) -> simple.Values:
    """Predictions in the form that baselines give theirs in."""
    return {name: [np.atleast_1d(item.values[name]) for item in predictions.items] for name in model.card.heads}
