"""The loss-weight schedules against each other, on cached features of the embedded corpus, over five seeds."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rmtrain.config.compose import compose
from rmtrain.config.jobs import TrainSettings
from rmtrain.dataset.store import load
from rmtrain.jobs.embedded import embedded_dataset
from rmtrain.model.evaluation.table import head_table
from rmtrain.model.network import new_model
from rmtrain.model.train import LabelledSet, fit

KINDS = ("phased", "fixed", "uncertainty")
SEEDS = range(5)


@pytest.mark.benchmark
def test_schedules_over_five_seeds(record: Callable[[str, Any], None]) -> None:
    found: dict[str, dict[str, list[float]]] = {}
    for kind in KINDS:
        settings = compose([f"schedule={kind}", "backbone.tune=frozen", "trainer=heads", "trainer.progress=false"])
        assert isinstance(settings, TrainSettings)
        dataset = load(embedded_dataset(settings))
        train, validation = dataset.splits["train"], dataset.splits["validation"]
        found[kind] = {name: [] for name in settings.heads}
        for seed in SEEDS:
            settings.trainer.seed = seed
            model = new_model(settings.backbone, settings.encoder, settings.heads, settings.schedule, seed=seed)
            with tempfile.TemporaryDirectory() as folder:
                fit(
                    model,
                    LabelledSet(train.examples, train.pairs),
                    LabelledSet(validation.examples, validation.pairs),
                    settings.trainer,
                    folder=Path(folder),
                    cache=Path(settings.paths.runs) / "features",
                )
            for row in head_table(model, dataset, settings.trainer, baselines=False).rows:
                assert row.model is not None
                found[kind][row.head].append(row.model)
    t = float(stats.t.ppf(0.975, len(SEEDS) - 1))
    record(
        "schedules",
        {
            kind: {
                head: {
                    "mean": float(np.mean(values)),
                    "interval_95": t * float(np.std(values, ddof=1)) / len(values) ** 0.5,
                    "values": values,
                }
                for head, values in heads.items()
            }
            for kind, heads in found.items()
        },
    )
