"""OpenAI's function schemas and function calls as tools and calls."""

import json
from collections.abc import Sequence
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.content import unmapped
from rmtrain.trajectories.importers.strict_json import JsonProblem, kind_of, parse_whole
from rmtrain.trajectories.schema import Call, Tool


def read_tools(raw: Any) -> tuple[tuple[Tool, ...], dict[str, Any]]:
    """Tools from OpenAI function schemas, and what of them has no place in a `Tool`.

    Args:
        raw: list of ``{type, function: {name, description, parameters}}`` or of the inner objects, or its JSON text.

    Raises:
        DataError: it is neither.
    """
    if isinstance(raw, str):
        try:
            raw = parse_whole(raw)
        except JsonProblem as problem:
            raise DataError(f"the list of tools {problem}") from None
    if not isinstance(raw, list):
        raise DataError(f"the tools are {kind_of(raw)}. Expected a list of OpenAI function schemas")
    tools: list[Tool] = []
    extra: dict[str, Any] = {}
    for position, entry in enumerate(raw):
        function = entry.get("function", entry) if isinstance(entry, dict) else entry
        if not isinstance(function, dict):
            raise DataError(f"tool {position} is {kind_of(function)}. Expected an OpenAI function schema")
        name = function.get("name")
        if not isinstance(name, str):
            if "function" in entry or "type" not in entry:
                raise DataError(f"tool {position} has no name")
            extra[str(position)] = entry  # a tool of the provider's own, such as web search: it has no schema
            continue
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise DataError(f"tool '{name}' has parameters that are {kind_of(parameters)}. Expected a JSON Schema")
        description = function.get("description")
        known: dict[str, Any] = {"description": description} if isinstance(description, str) else {}
        if parameters:
            known["parameters"] = parameters
        tools.append(Tool(name=name, **known))
        left = _left_over(entry, function, "function", ["name", "parameters", *known])
        if left:
            extra[str(position)] = left
    return tuple(tools), extra


def read_calls(index: int, message: dict[str, Any]) -> tuple[list[Call], dict[str, Any]]:
    """The calls of an assistant message, and what of them has no place in a `Call`, by position."""
    raw = message.get("tool_calls")
    if raw is not None and not isinstance(raw, list):
        raise DataError(f"message {index} has tool_calls that are {kind_of(raw)}. Expected a list")
    entries = list(raw or [])
    if message.get("function_call") is not None:
        entries.append({"function": message["function_call"]})
    calls: list[Call] = []
    extra: dict[str, Any] = {}
    for position, entry in enumerate(entries):
        where = f"message {index}, call {position}"
        if not isinstance(entry, dict):
            raise DataError(f"{where} is {kind_of(entry)}. Expected an object")
        kind = "custom" if isinstance(entry.get("custom"), dict) else "function"
        function = entry.get(kind, entry)
        if not isinstance(function, dict):
            raise DataError(f"{where} has a function that is {kind_of(function)}. Expected an object")
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise DataError(f"{where} names no tool")
        key = "input" if kind == "custom" else "arguments"
        arguments, text = _arguments(function.get(key)) if kind == "function" else (None, _input(function.get(key)))
        call_id = entry.get("id")
        known = ["id"] if call_id is None or isinstance(call_id, str) else []
        calls.append(
            Call(
                call_id=call_id if known and call_id else None,
                name=name,
                arguments=arguments,
                raw_arguments=text,
            )
        )
        left = _left_over(entry, function, kind, ["name", key], known)
        if left.get("index") == position:
            del left["index"]  # a stream's count of calls
        if left:
            extra[str(position)] = left
    return calls, extra


def _arguments(raw: Any) -> tuple[dict[str, Any] | None, str | None]:
    """Arguments as an object, or None and the text as received."""
    if raw is None:
        return {}, None
    if isinstance(raw, dict):
        return raw, None
    if not isinstance(raw, str):
        return None, json.dumps(raw, ensure_ascii=False)
    try:
        value = parse_whole(raw)
    except JsonProblem:
        return None, raw
    return (value, None) if isinstance(value, dict) else (None, raw)


def _input(raw: Any) -> str:
    """What a custom tool was given: free text, which never becomes an object."""
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def _left_over(
    entry: dict[str, Any], function: dict[str, Any], kind: str, inner_known: list[str], known: Sequence[str] = ()
) -> dict[str, Any]:
    """What of a call or tool is not mapped: of the outer object and, under `kind`, of the inner one."""
    left = unmapped(function, *inner_known)
    if kind in entry:
        left = unmapped(entry, kind) | ({kind: left} if left else {})
    left = unmapped(left, *known)
    if left.get("type") == "function":
        del left["type"]
    return left
