"""Share of padding among the tokens that training on the embedded corpus processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rmtrain.config.compose import compose
from rmtrain.config.jobs import TrainSettings
from rmtrain.dataset.batching import BatchPlan
from rmtrain.jobs.embedded import load_embedded
from rmtrain.model.encoder import embed
from rmtrain.model.network import new_model
from rmtrain.model.predict import make_reading


@pytest.mark.benchmark
def test_at_most_five_percent_of_processed_tokens_are_padding(record: Callable[[str, Any], None]) -> None:
    settings = compose(["world.n_tasks=200", f"paths.runs={Path('runs/benchmarks')}"])
    assert isinstance(settings, TrainSettings)
    train = load_embedded(settings).splits["train"]
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
    processed = 0

    def count(_: Any, arguments: tuple[Any, ...]) -> None:
        nonlocal processed
        processed += arguments[0].numel()

    real = 0
    with model.backbone.model.get_input_embeddings().register_forward_pre_hook(count), torch.inference_mode():
        for batch in plan.epoch(0)[:20]:
            held = [windows[index] for index in batch.examples]
            embed(model.backbone, reading.chunks(held))
            real += sum(item.n_tokens for item in held)
    record("padding", {"real_tokens": real, "processed_tokens": processed, "padding_share": 1 - real / processed})
    assert 1 - real / processed <= 0.05
