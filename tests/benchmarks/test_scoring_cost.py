"""Cost of scoring against the number of steps: tokens and time are linear."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings
from rmtrain.dataset.examples import Example
from rmtrain.model.network import new_model
from rmtrain.model.predict import predict

STEPS = (5, 10, 20, 40, 80)
BLOCK = "Thought: I open falcon-57.\nCall: get_record(table=people, key=falcon-57)\nResult: team: oak-12; desk: wool\n"


@pytest.mark.benchmark
def test_scoring_is_linear_in_steps(record: Callable[[str, Any], None]) -> None:
    heads = {"step_quality": HeadSettings(level="step", objective="ordinal"), "correctness": HeadSettings()}
    model = new_model(BackboneSettings(), EncoderSettings(), heads, ScheduleSettings())
    rows = []
    for n_steps in STEPS:
        examples = [
            Example(str(i), str(i), "Task: which desk has the lead of the team of mira amber?\n", (BLOCK,) * n_steps)
            for i in range(16)
        ]
        predict(model, examples, precision="bf16-mixed")
        times = []
        for _ in range(3):
            start = time.perf_counter()
            found = predict(model, examples, precision="bf16-mixed")
            times.append(time.perf_counter() - start)
        rows.append({"steps": n_steps, "tokens": found.n_tokens / 16, "ms": 1000 * min(times) / 16})
    steps = np.array([row["steps"] for row in rows], dtype=float)
    fits = {}
    for what in ("tokens", "ms"):
        y = np.array([row[what] for row in rows])
        slope, intercept = np.polyfit(steps, y, 1)
        fits[what] = {
            "per_step": slope,
            "fixed": intercept,
            "r2": 1 - float(((y - slope * steps - intercept) ** 2).sum() / ((y - y.mean()) ** 2).sum()),
        }
    record("scoring_cost", {"rows": rows, "linear_fit": fits})
    assert fits["tokens"]["r2"] > 0.99
    assert fits["ms"]["r2"] > 0.98
    assert rows[-1]["tokens"] < 20 * rows[0]["tokens"]
