"""The lowest-valued step of a reward model against the step at which people say that a run went wrong.

Nine runs show next to nothing; the figure stands here so that a larger set has somewhere to go. Set
``RMTRAIN_MODEL`` to the folder of a reward model with the head ``step_quality``.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmtrain.config.labels import LabelSourceSettings
from rmtrain.config.source import SourceSettings
from rmtrain.labels.importers.importing import LabelCounts, import_labels
from rmtrain.labels.schema import StepLabel
from rmtrain.reward.scorer import RewardModel
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Trajectory


@pytest.mark.benchmark
def test_the_step_that_failed(real_data: Path, record: Callable[[str, Any], None]) -> None:
    if "RMTRAIN_MODEL" not in os.environ:
        pytest.skip("set RMTRAIN_MODEL to the folder of a reward model")
    folder = str(real_data / "agentrx-tau-retail")
    rows = ingest(SourceSettings(format="agentrx", path=folder))
    trajectories = {row.trajectory_id: row for row in rows if isinstance(row, Trajectory)}
    counts, failed = LabelCounts(), dict[str, set[int]]()
    for label in import_labels(LabelSourceSettings(path=folder), trajectories.values(), counts):
        if isinstance(label, StepLabel):
            failed.setdefault(label.trajectory_id, set()).add(label.step_index)
    model = RewardModel.load(os.environ["RMTRAIN_MODEL"])
    rewards = {row.trajectory_id: row for row in model.score([trajectories[name] for name in failed])}
    found = []
    for name, steps in failed.items():
        values = np.array([score.value for score in rewards[name].steps["step_quality"]])
        found.append(
            {
                "steps": len(values),
                "failed": sorted(steps),
                "lowest": int(values.argmin()),
                "hit": int(values.argmin()) in steps,
                "uniform": len(steps) / len(values),
                "percentile_of_failed": float(np.mean([(values < values[step]).mean() for step in steps])),
            }
        )
    record(
        "agentrx",
        {
            "runs": len(found),
            "failures_at_messages_of_others": counts.without_step,
            "hits": sum(run["hit"] for run in found),
            "expected_hits_by_uniform_guessing": float(sum(run["uniform"] for run in found)),
            "by_run": found,
        },
    )
    assert found
