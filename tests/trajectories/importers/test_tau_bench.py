import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.importers.base import BadRow, IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.importers.tau_bench import TauBench
from rmtrain.trajectories.render import render
from rmtrain.trajectories.schema import Call, Reference, Trajectory
from rmtrain.trajectories.summary import summarise

RUN: dict[str, Any] = {
    "task_id": 7,
    "trial": 2,
    "reward": 0.0,
    "traj": [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "book", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "name": "book", "content": "Error: no seat"},
        {"role": "assistant", "content": "Sorry."},
        {"role": "user", "content": "###STOP###"},
    ],
    "info": {"task": {"instruction": "SECRET", "actions": [{"name": "book", "kwargs": {"x": 1}}], "outputs": ["9", 8]}},
}


def convert(change: dict[str, Any] | None = None, file: str = "gpt-4o-airline.json") -> Trajectory:
    return TauBench().convert(Raw(file, 1, 3, "", payload={**RUN, **(change or {})})).trajectory


def test_where_everything_goes():
    made = convert()
    assert (made.task.task_id, made.task.family, made.task.query, made.task.context) == (
        "airline-7",
        "airline",
        "hi",
        "policy",
    )
    assert (made.source.trial, made.source.row, made.source.policy, made.outcome.reward) == (2, 3, "gpt-4o", 0.0)
    assert made.task.reference == Reference(answers=("9", "8"), actions=(Call(name="book", arguments={"x": 1}),))
    assert made.steps[0].observations[0].is_error is True
    assert (made.answer, made.extra["info"]) == ("Sorry.", RUN["info"])
    assert "SECRET" not in render(made).text


def test_no_reference_and_no_reward_stay_absent():
    made = convert({"info": {"task": {"actions": [], "outputs": []}}, "reward": None})
    assert (made.task.reference, made.outcome.reward) == (None, None)
    assert convert({"info": None}).task.reference is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traj": None}, "its 'traj' is no list"),
        ({"task_id": "x"}, r"its task_id is 'x'\. Expected a whole number"),
        ({"reward": "x"}, r"its reward is 'x'\. Expected a number"),
        ({"trial": 0.5}, r"its trial is 0\.5\. Expected a whole number"),
        ({"info": {"task": {"actions": [{}]}}}, "has an action without a name"),
        ({"info": {"task": {"actions": [{"name": "book"}]}}}, "its reference action 'book' has no kwargs"),
        ({"info": {"task": {"actions": {}, "outputs": 5}}}, "actions or outputs that are no list"),
    ],
)
def test_what_is_no_run(change: dict[str, Any], message: str):
    with pytest.raises(DataError, match=message):
        convert(change)


def test_another_object_is_no_run():
    with pytest.raises(DataError, match="not a run of tau_bench: an object with 'task_id' and 'traj'"):
        TauBench().convert(Raw("a", 1, 1, "", payload={"messages": []}))


def folder(tmp_path: Path, name: str, schemas: dict[str, Any]) -> SourceSettings:
    (tmp_path / "schemas").mkdir()
    for domain, content in schemas.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "schemas" / f"{domain}_tools.json").write_text(text)
    (tmp_path / name).write_text(json.dumps([RUN]))
    return SourceSettings(format="tau_bench", path=str(tmp_path / name))


BOOK = [{"type": "function", "function": {"name": "book", "description": "d", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    ("name", "domain", "policy"),
    [("m-telecom.json", "telecom", "m"), ("runs.json", "telecom", "runs"), ("x-retail.json", "retail", "x")],
)
def test_the_domain_is_in_the_name_or_told_by_the_tools(tmp_path: Path, name: str, domain: str, policy: str):
    settings = folder(tmp_path, name, {"telecom": BOOK, "hotel": [{"name": "other"}]})
    (made,) = ingest(settings)
    assert isinstance(made, Trajectory)
    assert (made.task.task_id, made.source.policy) == (f"{domain}-7", policy)
    assert [tool.name for tool in made.task.tools] == (["book"] if domain == "telecom" else [])


def test_a_domain_that_nothing_tells(tmp_path: Path):
    (made,) = ingest(folder(tmp_path, "runs.json", {}))
    assert isinstance(made, Trajectory)
    assert (made.task.task_id, made.task.family, made.source.policy) == ("tau-7", None, None)


@pytest.mark.parametrize("content", ["{", "{}", "[5]", '[{"name": "f", "parameters": {"x": NaN}}]'])
def test_damaged_schemas_are_named(tmp_path: Path, content: str):
    with pytest.raises(DataError, match=r"telecom_tools\.json: not a list of tool schemas .* Mend it or move it away"):
        list(ingest(folder(tmp_path, "m-telecom.json", {"telecom": content})))


def test_a_pipe_among_the_schemas_is_named_and_not_waited_for(tmp_path: Path):
    settings = folder(tmp_path, "m-telecom.json", {})
    os.mkfifo(tmp_path / "schemas" / "telecom_tools.json")
    with pytest.raises(DataError, match=r"telecom_tools\.json: not a list of tool schemas \(it is a pipe\)\. Mend it"):
        list(ingest(settings))


def test_fields_are_fixed():
    with pytest.raises(
        ConfigError,
        match=r"source\.fields is for chat logs \(openai, anthropic\); tau_bench has fixed fields\. Remove it",
    ):
        ingest(SourceSettings(format="tau_bench", path="x", fields=FieldSettings(reward="x")))


def test_published_figures_come_out(real_data: Path):
    """README of the data and the leaderboard of tau-bench (TC gpt-4o, airline)."""
    counts = IngestCounts()
    rows = list(ingest(SourceSettings(format="tau_bench", path=str(real_data / "tau-bench")), counts))
    trajectories = [row for row in rows if isinstance(row, Trajectory)]
    summary = summarise(trajectories)
    assert (summary.n_trajectories, summary.n_tasks, summary.n_steps, summary.n_calls) == (200, 50, 2454, 1164)
    assert [round(value, 3) for value in summary.pass_hat] == [0.42, 0.273, 0.22, 0.2]
    assert round(summary.calls.mean, 2) == 5.82
    assert set(Counter(trajectory.task.task_id for trajectory in trajectories).values()) == {4}
    assert summary.n_unparseable_calls == 0

    log = json.loads((real_data / "tau-bench" / "gpt-4o-airline.json").read_text())
    messages = [message for run in log for message in run["traj"]]
    errors = [m for m in messages if m["role"] == "tool" and m["content"].startswith("Error")]
    assert sum(counts.messages.values()) == len(messages)
    assert summary.n_errors == len(errors) == 73  # the data's README says 72
    actions = [len(trajectory.task.reference.actions) for trajectory in trajectories if trajectory.task.reference]
    assert round(sum(actions) / 200, 2) == 3.16
    assert {tool.name for tool in trajectories[0].task.tools} >= {
        call.name for trajectory in trajectories for step in trajectory.steps for call in step.calls
    }
    assert len({trajectory.trajectory_id for trajectory in trajectories}) == 200

    skipped = {skip.file: skip.reason for skip in counts.skipped}
    assert skipped["schemas/airline_tools.json"] == "no row of format 'tau_bench' among 14"
    assert skipped["policy/airline_wiki.md"].startswith("its name ends in none of .json")


def test_a_cut_off_download_loses_its_tail_only(real_data: Path, tmp_path: Path):
    data = (real_data / "tau-bench" / "gpt-4o-airline.json").read_bytes()
    (tmp_path / "gpt-4o-airline.json").write_bytes(data[: len(data) // 2])
    shutil.copytree(real_data / "tau-bench" / "schemas", tmp_path / "schemas")
    *good, last = ingest(SourceSettings(format="tau_bench", path=str(tmp_path)))
    assert len(good) > 80
    assert isinstance(last, BadRow)
    assert "is not valid JSON" in last.reason
