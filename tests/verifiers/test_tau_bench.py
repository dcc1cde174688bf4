"""The published facts of tau-bench's airline trajectories, counted again by the rules."""

import json
from pathlib import Path

import pytest

from rmtrain.trajectories.importers.tau_bench import TauBench
from rmtrain.trajectories.schema import Trajectory, digest
from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.verifiers.summary import VerdictSummary


@pytest.fixture(scope="module")
def trajectories(real_data: Path) -> list[Trajectory]:
    path = real_data / "tau-bench" / "gpt-4o-airline.json"
    importer = TauBench()
    return [importer.convert(raw).trajectory for raw in importer.read(path, path.name)]


def test_counts_are_the_published_ones(trajectories, real_data):
    # shared/data/tau-bench/README.md: 1164 calls, all known and schema-valid, 32 exact repeats. It says 72 errors;
    # the file holds 73 tool messages that start with "Error", counted here without our code.
    records = json.loads((real_data / "tau-bench/gpt-4o-airline.json").read_text())
    messages = [message for record in records for message in record["traj"] if message["role"] == "tool"]
    errors = sum(message["content"].startswith("Error") for message in messages)
    summary = VerdictSummary()
    before = digest([each.model_dump(mode="json") for each in trajectories])
    for verdicts in VerifierSuite().verify_corpus(trajectories):
        summary.add(verdicts)
        assert [each.dimension for each in verdicts if each.dimension] == ["correctness", "tool_efficiency"]
    totals = summary.totals
    assert summary.trajectories == 200
    assert totals["calls"] == totals["known_tools"] == totals["schema_valid"] == 1164
    assert totals["exact_repeats"] == 32
    assert totals["error_results"] == errors == 73
    # pass^1 is published as .420: the mean of 200 rewards of 0 or 1.
    assert summary.verifiers["correctness"].mean == pytest.approx(0.42)
    assert digest([each.model_dump(mode="json") for each in trajectories]) == before
