"""The final table of a training run: model, baselines and ceiling on the test split."""

from pathlib import Path

import numpy as np

from rmtrain.config.model import TrainerSettings
from rmtrain.dataset.store import Dataset
from rmtrain.model.evaluation import baselines as simple
from rmtrain.model.evaluation.figures import HeadRow, choose_cuts, figures, table, true_values
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import Predictions, predict


def head_table(
    model: RewardNetwork, dataset: Dataset, settings: TrainerSettings, baselines: bool, cache: Path | None = None
) -> list[HeadRow]:
    """Figures of all heads on the test split.

    Args:
        model: the trained model.
        dataset: its train split fits the baselines, its validation split chooses every cut point.
        settings: precision and chunk size for reading.
        baselines: also fit the simple models.
        cache: folder of cached vectors of a frozen backbone; None reads anew.

    Returns:
        One row per head; columns that could not be computed hold None.
    """
    heads = model.card.heads
    train, validation, test = (dataset.splits[name] for name in ("train", "validation", "test"))
    if not test.examples:
        return []
    examples = [*validation.examples, *test.examples]
    found = predict(
        model,
        examples,
        precision=settings.precision if settings.precision in ("bf16-mixed", "16-mixed") else "32-true",
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
    measured = {}
    for column, values in columns.items():
        cuts = choose_cuts(heads, {name: rows[:n] for name, rows in values.items()}, validation.examples)
        own = {name: rows[n:] for name, rows in values.items()}
        measured[column] = figures(heads, own, test.examples, test.pairs, cuts)
    return table(heads, measured)


def as_values(model: RewardNetwork, predictions: Predictions) -> simple.Values:
    """Predictions in the form that baselines give theirs in."""
    return {name: [np.atleast_1d(item.values[name]) for item in predictions.items] for name in model.card.heads}
