import json
from typing import Any

import pytest

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.functions import read_calls, read_tools
from rmtrain.trajectories.schema import Call, Tool

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
FULL = Tool(name="f", description="d", parameters=SCHEMA)


@pytest.mark.parametrize(
    "raw",
    [
        [{"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}],
        [{"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}],
        [{"name": "f", "description": "d", "parameters": SCHEMA}],
        json.dumps([{"name": "f", "description": "d", "parameters": SCHEMA}]),
    ],
)
def test_ways_to_write_a_tool(raw: object):
    assert read_tools(raw) == ((FULL,), {})


def test_what_a_tool_has_more_is_kept():
    raw = [
        {"type": "function", "function": {"name": "f", "strict": True, "description": 5}, "cache": 1},
        {"type": "web_search"},
        {"name": "g", "parameters": None},
    ]
    tools, extra = read_tools(raw)
    assert tools == (Tool(name="f"), Tool(name="g"))
    assert extra == {"0": {"cache": 1, "function": {"strict": True, "description": 5}}, "1": {"type": "web_search"}}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"f": 1}, r"the tools are an object\. Expected a list"),
        ("[", "the list of tools is not valid JSON"),
        (["f"], "tool 0 is text"),
        ([{"function": 5}], "tool 0 is a number"),
        ([{"type": "function", "function": {}}], "tool 0 has no name"),
        ([{"description": "d"}], "tool 0 has no name"),
        ([{"name": "f", "parameters": [1]}], "tool 'f' has parameters that are a list"),
    ],
)
def test_what_is_no_tool(raw: object, message: str):
    with pytest.raises(DataError, match=message):
        read_tools(raw)


def calls(*entries: Any, **more: Any) -> tuple[list[Call], dict[str, Any]]:
    return read_calls(0, {"role": "assistant", "tool_calls": list(entries), **more})


@pytest.mark.parametrize(
    ("arguments", "parsed", "text"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ({"a": 1}, {"a": 1}, None),
        ("{}", {}, None),
        (None, {}, None),
        ("", None, ""),
        ('{"a": 1', None, '{"a": 1'),
        ('{"a": 1} trailing', None, '{"a": 1} trailing'),
        ("[1]", None, "[1]"),
        ("5", None, "5"),
        ('"{}"', None, '"{}"'),
        ([1], None, "[1]"),
        (5, None, "5"),
        ('{"a": NaN}', None, '{"a": NaN}'),
        ('{"a": 1, "a": 2}', None, '{"a": 1, "a": 2}'),
        ('{"a": "\\ud800"}', None, '{"a": "\\ud800"}'),
        ("[" * 100_000, None, "[" * 100_000),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_text(arguments: object, parsed: object, text: str | None):
    (call,), extra = calls({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}})
    assert (call, extra) == (Call(call_id="c", name="f", arguments=parsed, raw_arguments=text), {})


def test_ways_to_write_a_call():
    found, extra = calls(
        {"name": "a", "arguments": {}},
        {"id": "", "index": 1, "function": {"name": "b"}},
        {"id": "x", "type": "custom", "custom": {"name": "c", "input": "SELECT {"}},
        function_call={"name": "d", "arguments": "{}"},
    )
    assert found == [
        Call(name="a", arguments={}),
        Call(name="b", arguments={}),
        Call(call_id="x", name="c", raw_arguments="SELECT {"),
        Call(name="d", arguments={}),
    ]
    assert extra == {"2": {"type": "custom"}}


def test_what_a_call_has_more_is_kept():
    _, extra = calls({"id": 7, "index": 5, "function": {"name": "f", "arguments": "{}", "thought": "t"}, "x": 1})
    assert extra == {"0": {"id": 7, "index": 5, "x": 1, "function": {"thought": "t"}}}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "message 4 has tool_calls that are an object"),
        (["f"], "message 4, call 0 is text"),
        ([{"function": "f"}], "message 4, call 0 has a function that is text"),
        ([{"function": {"name": "f"}}, {"id": "x"}], "message 4, call 1 names no tool"),
        ([{"function": {"name": ""}}], "message 4, call 0 names no tool"),
    ],
)
def test_what_is_no_call(raw: object, message: str):
    with pytest.raises(DataError, match=message):
        read_calls(4, {"tool_calls": raw})
