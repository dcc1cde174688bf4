"""One shared backbone with four heads against four models of one head each: time and peak memory."""

from collections.abc import Callable
from typing import Any

import pytest

CODE = """
import json, resource, tempfile, time
from pathlib import Path
from rmtrain.config.compose import compose
from rmtrain.jobs.embedded import load_embedded
from rmtrain.model.network import new_model
from rmtrain.model.train import LabelledSet, fit
settings = compose(["backbone.tune=full", "trainer=quick", "trainer.epochs=1", "trainer.progress=false",
                    "world.n_tasks=80", "paths.runs=runs/benchmarks"])
train = load_embedded(settings).splits["train"]
names = HEADS
heads = {name: settings.heads[name] for name in names}
model = new_model(settings.backbone, settings.encoder, heads, settings.schedule)
pairs = [pair for pair in train.pairs if pair.head in heads]
start = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    fit(model, LabelledSet(train.examples, pairs), None, settings.trainer, folder=Path(folder))
print(json.dumps({"seconds": time.perf_counter() - start,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "parameters": sum(p.numel() for p in model.parameters())}))
"""
HEADS = ("correctness", "tool_efficiency", "step_quality", "consistency")


@pytest.mark.benchmark
def test_one_shared_backbone_costs_a_fraction_of_four_models(
    alone: Callable[[str], dict[str, Any]], record: Callable[[str, Any], None]
) -> None:
    shared = alone(CODE.replace("HEADS", repr(list(HEADS))))
    single = {name: alone(CODE.replace("HEADS", repr([name]))) for name in HEADS}
    seconds = sum(found["seconds"] for found in single.values())
    parameters = sum(found["parameters"] for found in single.values())
    record(
        "shared_backbone",
        {
            "shared": shared,
            "single": single,
            "time_ratio": seconds / shared["seconds"],
            "parameter_ratio": parameters / shared["parameters"],
            "peak_ratio_one_after_another": max(f["peak_mib"] for f in single.values()) / shared["peak_mib"],
            "peak_ratio_side_by_side": sum(f["peak_mib"] for f in single.values()) / shared["peak_mib"],
        },
    )
    assert seconds > 2 * shared["seconds"]
