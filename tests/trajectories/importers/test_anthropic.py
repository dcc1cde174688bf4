"""Anthropic's blocks become the steps that the same conversation has as OpenAI chat, and nothing is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.anthropic import AnthropicMessages
from rmtrain.trajectories.importers.base import Converted, IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Trajectory

USE = {"type": "tool_use", "id": "a", "name": "look", "input": {"of": "Peru"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Capital of Peru?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I should look.", "signature": "s1"},
            {"type": "text", "text": "Let me look."},
            USE,
            {**USE, "id": "b", "input": {"of": "Chile"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "Santiago"}]},
            {"type": "tool_result", "tool_use_id": "a", "content": "no such table", "is_error": True},
            {"type": "text", "text": "Only Peru, please."},
        ],
    },
    {"role": "assistant", "content": "Lima."},
]


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "role": "x"}]}, "role"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "tool_call_id": "b"}]},
            "tool_call_id",
        ),
        ({"role": "assistant", "content": [{**USE, "function": "x"}]}, "function"),
        ({"role": "assistant", "content": [USE], "tool_calls": []}, "tool_calls"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}], "thinking": "u"}, "thinking"),
    ],
)
def test_what_stands_in_the_way_of_a_block_is_refused_not_lost(message: dict[str, Any], named: str):
    with pytest.raises(DataError, match=rf"message 1 has '{named}', which is made of blocks"):
        convert({"messages": [MESSAGES[0], message, *MESSAGES[3:]]})


def convert(payload: Any) -> Converted:
    return AnthropicMessages().convert(Raw("a.jsonl", 7, None, "", payload=payload))


def test_a_message_of_calls_is_one_step_and_each_result_finds_its_call():
    found = convert({"system": "policy", "messages": MESSAGES, "tools": [{"name": "look", "input_schema": {"a": 1}}]})
    made = found.trajectory
    assert (made.task.query, made.task.context, made.answer) == ("Capital of Peru?", "policy", "Lima.")
    first, second = made.steps
    assert first.thought == "I should look.\nLet me look."
    assert [(call.call_id, call.arguments) for call in first.calls] == [("a", {"of": "Peru"}), ("b", {"of": "Chile"})]
    assert [(o.call_id, o.content, o.is_error) for o in first.observations] == [
        ("b", "Santiago", None),
        ("a", "no such table", True),
    ]
    assert first.extra == {"message_index": 1, "thinking_blocks": [{"signature": "s1"}]}
    assert [message.content for message in second.context] == ["Only Peru, please."]
    assert (second.thought, second.extra["message_index"]) == ("Lima.", 3)
    assert [(tool.name, tool.parameters) for tool in made.task.tools] == [("look", {"a": 1})]
    # five messages with the system prompt, each counted once though one is three parts
    assert found.placed == {"task": 2, "step": 2, "context": 0, "observation": 1, "extra": 0}


def test_recorded_traffic_ends_with_the_response():
    row = {
        "request": {"model": "m", "system": [{"type": "text", "text": "s"}], "messages": MESSAGES[:3]},
        "response": {"id": "r", "role": "assistant", "content": MESSAGES[3]["content"], "stop_reason": "end_turn"},
    }
    before = json.dumps(row)
    made = convert(row).trajectory
    assert (made.answer, made.task.context, made.source.policy, len(made.steps)) == ("Lima.", "s", "m", 2)
    assert made.extra["response"] == {"id": "r", "stop_reason": "end_turn"}
    assert json.dumps(row) == before


def test_what_has_no_place_is_kept():
    image = {"type": "image", "source": {"data": "x"}}
    row = [
        {"role": "user", "content": [{"type": "text", "text": "q", "cache_control": {"type": "e"}}, image], "id": 5},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "z"}, {**USE, "caller": "me"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "cache_control": 1}, image]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "user", "content": []},
    ]
    found = convert(row)
    kept = json.dumps([found.trajectory.extra, [step.extra for step in found.trajectory.steps]])
    for what in ('"source": {"data": "x"}', '"data": "z"', '"caller": "me"', '"cache_control": 1', '"id": 5'):
        assert what in kept
    assert kept.count('"data": "x"') == 2
    assert found.trajectory.steps[0].observations[0].content == ""
    assert sum(found.placed.values()) == len(row)


def test_a_tool_that_the_server_ran_is_a_call_with_its_result_in_one_step():
    search = {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "Peru"}}
    hits = {"type": "web_search_tool_result", "tool_use_id": "w", "content": [{"type": "hit", "url": "u"}]}
    made = convert([MESSAGES[0], {"role": "assistant", "content": [search, hits, {"type": "text", "text": "Lima."}]}])
    (step,) = made.trajectory.steps
    assert [(call.name, call.arguments) for call in step.calls] == [("web_search", {"query": "Peru"})]
    assert step.observations[0].content == '[{"type": "hit", "url": "u"}]'
    assert step.thought == "Lima."


@pytest.mark.parametrize(
    ("message", "match"),
    [
        ({"role": "assistant", "content": [5]}, "message 1, block 0 is a number"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}, "call 0 names no tool"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}, "for call 'x'"),
        ({"role": "robot", "content": [{"type": "text", "text": "t"}]}, "role 'robot'"),
        ({"content": [{"type": "text", "text": "t"}]}, "has no role"),
        (None, "message 1 is null"),
    ],
)
def test_what_cannot_be_understood_is_named(message: Any, match: str):
    with pytest.raises(DataError, match=match):
        convert([MESSAGES[0], message])


@pytest.mark.parametrize("arguments", ["{", [1], None])
def test_input_that_is_no_object_is_kept_as_text(arguments: Any):
    made = convert([MESSAGES[0], {"role": "assistant", "content": [{**USE, "input": arguments}]}]).trajectory
    (call,) = made.steps[0].calls
    as_text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert (call.arguments, call.raw_arguments) == (({}, None) if arguments is None else (None, as_text))


@pytest.mark.parametrize(
    ("payload", "signs"),
    [
        (MESSAGES, "content blocks of type 'thinking'"),
        ({"messages": MESSAGES[2:]}, "content blocks of type 'tool_result'"),
        ({"messages": MESSAGES[3:], "tools": [{"name": "f", "input_schema": {}}]}, "tools with 'input_schema'"),
        ({"request": {"messages": []}, "response": {"content": [], "stop_reason": "x"}}, "a response with"),
        ({"messages": MESSAGES[3:]}, None),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}], "tools": 5}, None),
        ({"messages": 5}, None),
        ({"request": 5}, None),
        ([[]], None),
        (5, None),
    ],
)
def test_the_signs_are_blocks_schemas_and_stop_reasons(payload: Any, signs: str | None):
    found = AnthropicMessages().signs(payload)
    assert found is None if signs is None else signs in str(found)


def test_recorded_api_traffic(real_data: Path):
    path = real_data / "trace-formats" / "anthropic_messages__tool_with_thinking.json"
    counts = IngestCounts()
    (made,) = ingest(SourceSettings(format="auto", path=str(path)), counts)
    assert isinstance(made, Trajectory)
    assert counts.formats == {path.name: "anthropic, by content blocks of type 'thinking'"}
    assert [call.name for step in made.steps for call in step.calls] == ["get_user_country"]
    assert made.steps[0].observations[0].content == "Mexico"
    assert made.answer is not None
    assert "Mexico City" in made.answer
    assert sum(counts.messages.values()) == 4
