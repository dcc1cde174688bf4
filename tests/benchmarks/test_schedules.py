"""The loss-weight schedules against each other, on cached features of the embedded corpus, over five seeds.

A seed decides the initial heads and the order of the batches; the corpus and its split stay, so figures of one
seed are compared with each other and the intervals are of their differences. Figures are kept after every
training.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rmtrain.config.compose import compose
from rmtrain.config.jobs import TrainSettings
from rmtrain.jobs.embedded import load_embedded
from rmtrain.model.evaluation.table import head_table
from rmtrain.model.network import new_model
from rmtrain.model.train import LabelledSet, fit

KINDS = ("phased", "fixed", "uncertainty")
SEEDS = range(5)


@pytest.mark.benchmark
def test_schedules_over_five_seeds(record: Callable[[str, Any], None]) -> None:
    found: dict[str, dict[str, list[float]]] = {kind: {} for kind in KINDS}
    for seed in SEEDS:
        for kind in KINDS:
            for head, figure in _trained(kind, seed).items():
                found[kind].setdefault(head, []).append(figure)
            record("schedules", _summary(found))


def _trained(kind: str, seed: int) -> dict[str, float]:
    """The test figure of each head after one training."""
    settings = compose([f"schedule={kind}", "backbone.tune=frozen", "trainer=heads", "trainer.progress=false"])
    assert isinstance(settings, TrainSettings)
    trainer = replace(settings.trainer, seed=seed)
    dataset = load_embedded(settings)
    train, validation = dataset.splits["train"], dataset.splits["validation"]
    model = new_model(settings.backbone, settings.encoder, settings.heads, settings.schedule, seed=seed)
    cache = Path(settings.paths.runs) / "features"
    with tempfile.TemporaryDirectory() as folder:
        fit(
            model,
            LabelledSet(train.examples, train.pairs),
            LabelledSet(validation.examples, validation.pairs),
            trainer,
            folder=Path(folder),
            cache=cache,
        )
    rows = head_table(model, dataset, trainer, baselines=False, cache=cache).rows
    return {row.head: row.model for row in rows if row.model is not None}


def _summary(found: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Per schedule and head the figures, their mean and half the width of its 95 % interval (Student's t).

    And of each difference from ``fixed`` by seed the same.
    """
    summary: dict[str, Any] = {
        kind: {head: _mean(values) for head, values in heads.items()} for kind, heads in found.items()
    }
    for kind in ("phased", "uncertainty"):
        summary[f"{kind} - fixed"] = {
            head: _mean([a - b for a, b in zip(values, found["fixed"].get(head, ()), strict=False)])
            for head, values in found[kind].items()
        }
    return summary


def _mean(values: Sequence[float]) -> dict[str, Any]:
    n = len(values)
    half = float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5) if n > 1 else None
    return {"mean": float(np.mean(values)) if n else None, "half_interval_95": half, "values": list(values)}
