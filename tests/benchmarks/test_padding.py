"""Share of padding among the tokens that training on the embedded corpus processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.compose import compose
from rmtrain.config.jobs import TrainSettings
from rmtrain.dataset.batching import BatchPlan
from rmtrain.dataset.store import load
from rmtrain.jobs.embedded import embedded_dataset
from rmtrain.model.network import new_model
from rmtrain.model.predict import make_reading


@pytest.mark.benchmark
def test_at_most_five_percent_of_processed_tokens_are_padding(record: Callable[[str, Any], None]) -> None:
    settings = compose(["world.n_tasks=200", f"paths.runs={Path('runs/benchmarks')}"])
    assert isinstance(settings, TrainSettings)
    train = load(embedded_dataset(settings)).splits["train"]
    model = new_model(settings.backbone, settings.encoder, settings.heads, settings.schedule)
    windows = model.windows(train.examples)
    at = {example.trajectory_id: index for index, example in enumerate(train.examples)}
    plan = BatchPlan(
        [item.n_tokens for item in windows],
        [(at[pair.trajectory_a], at[pair.trajectory_b]) for pair in train.pairs],
        budget=settings.trainer.batch_tokens,
        seed=0,
        epochs=1,
    )
    reading = make_reading(model, settings.trainer.chunk_tokens)
    batches = [reading.chunks([windows[i] for i in batch.examples]) for batch in plan.epoch(0)]
    real, padded = sum(b.n_real for b in batches), sum(b.n_padded for b in batches)
    record("padding", {"real_tokens": real, "processed_tokens": padded, "padding_share": 1 - real / padded})
    assert 1 - real / padded <= 0.05
