"""What the rules say of real runs: tool efficiency of successes against failures of the same task."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.summary import summarise
from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.verifiers.summary import VerdictSummary


@pytest.mark.benchmark
def test_tool_efficiency_of_successes_against_failures(real_data: Path, record: Callable[[str, Any], None]) -> None:
    rows = ingest(SourceSettings(format="tau_bench", path=str(real_data / "tau-bench")))
    trajectories = [row for row in rows if isinstance(row, Trajectory)]
    summary, by_task = VerdictSummary(), defaultdict(lambda: {True: [], False: []})
    for trajectory, verdicts in zip(trajectories, VerifierSuite().verify_corpus(trajectories), strict=True):
        summary.add(verdicts)
        value = next(v.value for v in verdicts if v.dimension == "tool_efficiency")
        if value is not None:
            by_task[trajectory.task.task_id][trajectory.outcome.reward == 1].append(value)
    both = [found for found in by_task.values() if found[True] and found[False]]
    differences = np.array([np.mean(found[True]) - np.mean(found[False]) for found in both])
    draws = np.random.default_rng(0).integers(0, len(both), (10_000, len(both)))
    low, high = np.quantile(differences[draws].mean(axis=1), (0.025, 0.975))
    record(
        "tau_bench",
        {
            "pass_hat": summarise(trajectories).pass_hat,
            "totals": {"calls": summary.n_calls, **summary.totals},
            "tasks_with_both": len(both),
            "efficiency_of_successes": float(np.mean([np.mean(found[True]) for found in both])),
            "efficiency_of_failures": float(np.mean([np.mean(found[False]) for found in both])),
            "mean_difference": float(differences.mean()),
            "interval_95_over_tasks": [float(low), float(high)],
        },
    )
    assert len(trajectories) == 200
