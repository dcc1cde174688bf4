"""AgentRx's runs are tau-bench's with numbered messages; the domain is told by the folder."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.agentrx import AgentRx
from rmtrain.trajectories.importers.base import IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.importers.tau_bench import TauBench
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.summary import summarise

RUN: dict[str, Any] = {"task_id": 2, "traj": [{"role": "user", "content": "q", "index": 1}]}


@pytest.mark.parametrize(
    ("payload", "known"),
    [
        (RUN, True),
        ({**RUN, "traj": [{"role": "user", "content": "q"}]}, False),
        ({**RUN, "traj": 5}, False),
        ({"traj": []}, False),
        ([], False),
    ],
)
def test_numbered_messages_are_the_sign(payload: Any, known: bool):
    assert (AgentRx().signs(payload) == "'task_id' and 'traj' with an 'index' in its messages") is known
    assert TauBench().signs(RUN) is not None  # so it has to be asked later


def test_a_row_without_numbers_says_what_is_missing():
    with pytest.raises(DataError, match=r"not a run of agentrx: an object with .*, whose messages have an 'index'"):
        AgentRx().convert(Raw("a.json", 1, None, "", payload={"task_id": 2, "traj": []}))


def test_published_figures_come_out(real_data: Path):
    """README of the data: 33 runs, 24 successes, mean 5.45 gold actions; with the schemas of tau-bench's retail."""
    counts = IngestCounts()
    settings = SourceSettings(
        format="auto",
        path=str(real_data / "agentrx-tau-retail"),
        tools=str(real_data / "tau-bench" / "schemas" / "retail_tools.json"),
    )
    made = [row for row in ingest(settings, counts) if isinstance(row, Trajectory)]
    assert counts.formats == {"trajectories.json": f"agentrx, by {AgentRx().signs(RUN)}"}
    assert [skip.file for skip in counts.skipped if skip.file.endswith(".json")] == ["failure_labels.json"]
    summary = summarise(made)
    assert (summary.n_trajectories, summary.n_tasks) == (33, 33)
    assert Counter(row.outcome.reward for row in made) == {1.0: 24, 0.0: 9}
    assert {row.task.family for row in made} == {"retail"}
    assert {row.source.policy for row in made} == {None}
    called = {call.name for row in made for step in row.steps for call in step.calls}
    assert called <= {tool.name for tool in made[0].task.tools}
    # the number in the log is the message's index + 1
    for row in made:
        for step in row.steps:
            assert step.extra["index"] == step.extra["message_index"] + 1
