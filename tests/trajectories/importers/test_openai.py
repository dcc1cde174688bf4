import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.importers.base import IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.importers.openai import OpenAIChat
from rmtrain.trajectories.schema import Reference, Trajectory
from rmtrain.trajectories.summary import summarise

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Capital of Peru?"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": '{"of": "Peru"}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "Lima"},
    {"role": "assistant", "content": "Lima."},
]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def convert(payload: Any, **fields: str) -> Trajectory:
    raw = Raw("a.jsonl", 7, None, "", payload=payload)
    return OpenAIChat(fields).convert(raw).trajectory


@pytest.mark.parametrize("key", ["messages", "traj", "conversation", "conversations"])
def test_a_list_and_an_object_give_the_same(key: str):
    one, two = convert(MESSAGES), convert({key: MESSAGES})
    assert one == two
    assert (one.task.query, one.answer, len(one.steps), one.extra) == ("Capital of Peru?", "Lima.", 2, {})
    assert (one.source.format, one.source.file, one.source.line) == ("openai", "a.jsonl", 7)


def test_fields_whose_meaning_is_plain_are_mapped():
    row = {
        "messages": MESSAGES,
        "tools": TOOLS,
        "task_id": 12,
        "query": "Capital of Peru?",
        "score": 0,
        "trial": 3,
        "model": "m-1",
        "temperature": 1,
        "seed": 0,
    }
    made = convert(row)
    assert (made.task.task_id, made.outcome.reward, made.source.trial, made.source.seed) == ("12", 0.0, 3, 0)
    assert (made.source.policy, made.source.temperature) == ("m-1", 1.0)
    assert [tool.name for tool in made.task.tools] == ["look"]
    assert made.extra == {}


def test_everything_else_is_kept():
    row = {
        "messages": MESSAGES,
        "id": 5,
        "answer": "Lima",
        "metadata": {"x": None},
        "reward": "good",
        "trial": 1.5,
        "flag": False,
        "none": None,
    }
    made = convert(row)
    assert made.extra == {
        "id": 5,
        "answer": "Lima",
        "metadata": {"x": None},
        "reward": "good",
        "trial": 1.5,
        "flag": False,
    }
    assert (made.answer, made.outcome.reward, made.source.trial) == ("Lima.", None, None)


def test_rows_keys_and_ours_do_not_overwrite_each_other():
    row = {
        "conversation": [*MESSAGES, {"role": "user", "content": "ok", "time": 1}],
        "messages": "5 messages",
        "trailing_messages": "mine",
    }
    assert convert(row).extra == {
        "messages": "5 messages",
        "trailing_messages": "mine",
        "messages (unmapped)": {"4": {"time": 1}},
        "trailing_messages (unmapped)": [{"role": "user", "content": "ok"}],
    }


def test_samples_of_one_query_share_a_task():
    other = [MESSAGES[0], {"role": "assistant", "content": "Cusco."}]
    first = convert({"messages": MESSAGES, "tools": TOOLS, "id": 1})
    assert convert({"messages": other, "tools": TOOLS, "id": 2}).task.task_id == first.task.task_id
    assert convert({"messages": other}).task.task_id != first.task.task_id
    assert convert({"messages": other, "query": "other"}).task.task_id != first.task.task_id


def test_fields_may_lie_elsewhere():
    row = {
        "chat": {"log": MESSAGES, "note": 1},
        "ground_truth": {"target": ["Lima", 5], "by": "us"},
        "group": 0,
        "final": "Lima",
        "result": {"ok": True},
        "kind": "geography",
    }
    before = json.dumps(row)
    made = convert(
        row,
        messages="chat.log",
        reference="ground_truth.target",
        task_id="group",
        answer="final",
        reward="result.ok",
        family="kind",
    )
    assert made.task.reference == Reference(answers=("Lima", "5"))
    assert (made.task.task_id, made.task.family, made.answer, made.outcome.reward) == ("0", "geography", "Lima", 1.0)
    assert made.extra == {"chat": {"note": 1}, "ground_truth": {"by": "us"}}
    assert json.dumps(row) == before


def test_a_null_field_is_absent():
    made = convert({"messages": MESSAGES, "r": None, "ref": None}, reward="r", reference="ref")
    assert (made.outcome.reward, made.task.reference) == (None, None)


def test_a_dot_may_be_part_of_a_name():
    assert convert({"messages": MESSAGES, "a.b": 0.5}, reward="a.b").outcome.reward == 0.5


def test_recorded_traffic():
    choices = [{"index": 0, "message": MESSAGES[3]}, {"index": 1, "message": {"role": "assistant", "content": "?"}}]
    made = convert(
        {
            "request": {"model": "m", "messages": MESSAGES[:3], "tools": TOOLS, "top_p": 1},
            "response": {"id": "r", "choices": choices},
        }
    )
    assert (len(made.steps), made.answer, made.source.policy) == (2, "Lima.", "m")
    assert made.extra == {"request": {"top_p": 1}, "response": {"id": "r", "choices": [{"index": 0}, choices[1]]}}
    failed = convert({"request": {"messages": MESSAGES}, "response": {"error": "busy"}})
    assert failed.extra == {"response": {"error": "busy"}}
    assert convert({"messages": MESSAGES, "response": "text"}).extra == {"response": "text"}


@pytest.mark.parametrize(
    ("payload", "fields", "message"),
    [
        (5, {}, "neither a list of chat messages nor an object with 'messages'"),
        ({"a": 1, "b": 2}, {}, r"has no list of messages\. It has: a, b"),
        ({}, {}, r"has no list of messages\. It has: nothing"),
        ({"messages": "x"}, {}, "has no list of messages"),
        ({"messages": MESSAGES, "a": 1}, {"reward": "rew"}, r"no field 'rew' \(source\.fields\.reward\)\. It has: a"),
        ({"messages": MESSAGES, "a": "x"}, {"reward": "a"}, r"field 'a' \(reward\) is text\. Expected a number"),
        ({"messages": MESSAGES, "a": {}}, {"task_id": "a"}, r"field 'a' \(task_id\) is an object\. Expected text or a"),
        ({"messages": MESSAGES, "a": 1}, {"messages": "a"}, r"field 'a' \(messages\) is a number\. Expected a list"),
        ({"messages": MESSAGES, "a": [{}]}, {"reference": "a"}, "Expected text or a list of texts"),
        ({"messages": MESSAGES, "tools": [5]}, {}, "tool 0 is a number"),
    ],
)
def test_what_is_no_chat_log(payload: Any, fields: dict[str, str], message: str):
    with pytest.raises(DataError, match=message):
        convert(payload, **fields)


def test_an_unknown_field_of_ours():
    with pytest.raises(ConfigError, match=r"source\.fields: unknown field 'rewrad'\. Known: .*Did you mean 'reward'\?"):
        OpenAIChat({"rewrad": "x"})


@pytest.mark.parametrize(
    ("payload", "yes"),
    [
        (MESSAGES, True),
        ([], False),
        ({"messages": MESSAGES}, True),
        ({"request": {"messages": MESSAGES}}, True),
        ({"messages": []}, True),
        ({"messages": [{"from": "human"}]}, False),
        ({"messages": 5}, False),
        ([1], False),
        ("x", False),
        (None, False),
        (TOOLS[0], False),
    ],
)
def test_what_is_recognized(payload: Any, yes: bool):
    assert (OpenAIChat().signs(payload) is not None) is yes


@pytest.mark.parametrize("payload", [{"messages": MESSAGES}, {"a": 1}, {}, {"conv": 5}, {"conv": None}, 5])
def test_what_lacks_the_field_that_holds_the_messages_is_not_recognized(payload: Any):
    assert OpenAIChat({"messages": "conv"}).signs(payload) is None
    assert OpenAIChat({"messages": "conv"}).signs({"conv": MESSAGES}) == "'conv' with 'role'"


def read(path: Path, **fields: str) -> tuple[list[Trajectory], IngestCounts]:
    counts = IngestCounts()
    rows = list(ingest(SourceSettings(format="openai", path=str(path), fields=FieldSettings(**fields)), counts))
    assert counts.bad_rows == 0
    return [row for row in rows if isinstance(row, Trajectory)], counts


def test_real_recorded_traffic(real_data: Path):
    for path in sorted((real_data / "trace-formats").glob("openai_chat__*.json")):
        (trajectory,), counts = read(path)
        log = json.loads(path.read_text())
        assert sum(counts.messages.values()) == len(log["request"]["messages"]) + 1
        assert trajectory.answer == log["response"]["choices"][0]["message"]["content"].strip()


def test_another_format_is_no_silent_success(real_data: Path):
    path = real_data / "trace-formats" / "anthropic_messages__tool_with_thinking.json"
    with pytest.raises(DataError, match=r"holds no trajectory of format 'openai'\. All 1 rows are bad.*Anthropic's"):
        list(ingest(SourceSettings(format="openai", path=str(path))))


def test_real_tool_using_runs(real_data: Path):
    """AgentProcessBench: counts from its README and from the file by an independent count."""
    path = real_data / "agentprocessbench" / "hotpotqa_q00-24.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    trajectories, counts = read(path, task_id="query_index", trial="sample_index", reference="ground_truth.target")
    summary = summarise(trajectories)
    assert (summary.n_trajectories, summary.n_tasks, summary.n_steps) == (125, 25, 352)
    assert (summary.n_calls, summary.n_unparseable_calls) == (218, 2)
    assert sum(counts.messages.values()) == sum(len(row["messages"]) for row in rows)
    for row, trajectory in zip(rows, trajectories, strict=True):
        # a label's key is the index of its message
        assert [str(step.extra["message_index"]) for step in trajectory.steps] == list(row["step_labels"])
        assert trajectory.task.reference == Reference(answers=tuple(row["ground_truth"]["target"]))
        assert trajectory.extra["final_label"] == row["final_label"]
        texts = [
            part for step in trajectory.steps for part in (step.thought, *(seen.content for seen in step.observations))
        ]
        told = [message["content"] for message in row["messages"] if message["role"] in ("assistant", "tool")]
        assert sorted(texts) == sorted(told)
    plain, _ = read(path)  # without settings the five runs of a query share a task all the same
    assert len({trajectory.task.task_id for trajectory in plain}) == 25
