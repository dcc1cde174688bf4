"""Runs of AgentProcessBench: where everything goes, and the published figures of the file at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.importers.agentprocessbench import AgentProcessBench
from rmtrain.trajectories.importers.base import IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.render import render
from rmtrain.trajectories.schema import Reference, Trajectory
from rmtrain.trajectories.summary import summarise

ROW: dict[str, Any] = {
    "total_index": 9,
    "query_index": 3,
    "sample_index": 1,
    "question": "Which city?",
    "data_source": "hotpot",
    "ground_truth": {"target": ["SECRET"]},
    "answer_text": "Lima",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "Answer: Which city?"},
        {"role": "assistant", "content": "It is Lima."},
    ],
    "tools": [],
    "step_labels": {"2": -1},
    "final_label": -1,
}


def convert(**changed: Any) -> Trajectory:
    return AgentProcessBench().convert(Raw("a.jsonl", 4, None, "", payload={**ROW, **changed})).trajectory


def test_where_everything_goes():
    made = convert()
    assert (made.task.task_id, made.task.family, made.task.query) == ("hotpot:3", "hotpot", "Which city?")
    assert (made.task.context, made.answer, made.source.trial) == ("s", "Lima", 1)
    assert [message.content for message in made.steps[0].context] == ["Answer: Which city?"]
    assert made.task.reference == Reference(answers=("SECRET",))
    assert made.extra == {k: ROW[k] for k in ("total_index", "query_index", "sample_index", "data_source",
                                              "step_labels", "final_label")}  # fmt: skip
    text = render(made).text
    assert "SECRET" not in text
    assert "-1" not in text


def test_absent_fields_stay_absent():
    made = convert(ground_truth=None, answer_text=None, question=None, data_source=None)
    assert (made.task.reference, made.answer, made.task.query) == (None, "It is Lima.", "Answer: Which city?")
    assert made.task.task_id == "agentprocessbench:3"


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"messages": 5}, "its messages is a number. Expected a list"),
        ({"step_labels": [1]}, "its step_labels is a list. Expected an object of labels"),
        ({"query_index": True}, "its query_index is a boolean"),
        ({"sample_index": None}, "its sample_index is null"),
        ({"ground_truth": {"target": "x"}}, "its ground_truth is an object. Expected an object with 'target'"),
        ({"tools": 5}, "the tools are a number"),
    ],
)
def test_a_damaged_row_is_named(changed: dict[str, Any], match: str):
    with pytest.raises(DataError, match=match):
        convert(**changed)


@pytest.mark.parametrize("payload", [None, [], {}, {"messages": [], "step_labels": {}}])
def test_another_row_is_refused(payload: Any):
    with pytest.raises(DataError, match="it is not a run of AgentProcessBench"):
        AgentProcessBench().convert(Raw("a.jsonl", 4, None, "", payload=payload))


def test_fields_are_fixed():
    with pytest.raises(ConfigError, match="agentprocessbench has fixed fields"):
        ingest(SourceSettings(format="agentprocessbench", path="x", fields=FieldSettings(reward="x")))


def test_published_figures_come_out(real_data: Path):
    """README of the data: 125 runs of 25 queries, 352 labelled steps, one for each assistant message."""
    counts = IngestCounts()
    path = real_data / "agentprocessbench" / "hotpotqa_q00-24.jsonl"
    rows = list(ingest(SourceSettings(format="auto", path=str(path)), counts))
    made = [row for row in rows if isinstance(row, Trajectory)]
    assert counts.formats[path.name].startswith("agentprocessbench, by 'messages', 'step_labels'")
    summary = summarise(made)
    assert (summary.n_trajectories, summary.n_tasks) == (125, 25)
    log = [json.loads(line)["messages"] for line in path.read_text().splitlines()]
    assert sum(counts.messages.values()) == sum(map(len, log))
    assert summary.n_calls == sum(len(message.get("tool_calls") or ()) for messages in log for message in messages)
    for row in made:
        assert sorted(row.extra["step_labels"], key=int) == [str(step.extra["message_index"]) for step in row.steps]
    assert sum(len(row.steps) for row in made) == 352
