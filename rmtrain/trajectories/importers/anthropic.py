"""Chat logs in the form of Anthropic's Messages API: content in blocks, tool results inside user messages.

Each message is taken apart into the chat messages that say the same, and these are read as any other chat: the
calls and thoughts of an assistant message stay one step, each tool result finds its call by id, and a block that
has no place elsewhere (an image, a signature) is kept under `extra`.
"""

from collections.abc import Mapping
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.content import unmapped
from rmtrain.trajectories.importers.openai import OpenAIChat, Turns
from rmtrain.trajectories.importers.strict_json import kind_of

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_OWN = (*_CALLS, "tool_result", "thinking", "redacted_thinking")


class AnthropicMessages(OpenAIChat):
    """Importer of recorded requests, ``{request, response}``, or of rows with `messages` and perhaps `system`."""

    name = "anthropic"

    def signs(self, payload: Any) -> str | None:
        row = {"messages": payload} if isinstance(payload, list) else payload
        if not isinstance(row, dict):
            return None
        request = row["request"] if isinstance(row.get("request"), dict) else row
        messages, tools = (
            found if isinstance(found := request.get(key), list) else [] for key in ("messages", "tools")
        )
        for message in messages:
            for block in _blocks(message):
                if isinstance(block, dict) and (block.get("type") in _OWN or _is_result(block)):
                    return f"content blocks of type '{block['type']}'"
        if any(isinstance(tool, dict) and "input_schema" in tool for tool in tools):
            return "tools with 'input_schema'"
        response = row.get("response")
        if isinstance(response, dict) and "stop_reason" in response and isinstance(response.get("content"), list):
            return "a response with 'content' and 'stop_reason'"
        return None

    def turns(self, messages: list[Any], row: dict[str, Any]) -> Turns:
        found = Turns([], [])
        system = _system(row)
        if system is not None:
            found.messages.append({"role": "system", "content": system})
            found.indices.append(-1)
        for index, message in enumerate([*messages, *_response(row)]):
            pieces = _pieces(index, message)
            found.messages += pieces
            found.indices += [index] * len(pieces)
        return found

    def functions(self, tools: Any) -> Any:
        if not isinstance(tools, list):
            return tools
        return [
            {"parameters": tool["input_schema"], **unmapped(tool, "input_schema")}
            if isinstance(tool, dict) and "input_schema" in tool
            else tool
            for tool in tools
        ]


def _blocks(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _is_result(block: dict[str, Any]) -> bool:
    """Whether a block answers a call: what a tool of the user's returned, or one that the server ran."""
    return str(block.get("type")).endswith("tool_result") and "tool_use_id" in block


def _system(row: dict[str, Any]) -> Any:
    """Take the system prompt out of a row or its request."""
    for holder in (row, row.get("request")):
        if isinstance(holder, dict) and isinstance(holder.get("system"), str | list):
            if holder is not row:
                row["request"] = holder = dict(holder)
            return holder.pop("system")
    return None


def _response(row: dict[str, Any]) -> list[Any]:
    """Take the message that a recorded response adds to its request's."""
    response = row.get("response")
    if not isinstance(response, dict) or "content" not in response:
        return []
    row["response"] = unmapped(response, "role", "content")
    return [{"role": response.get("role", "assistant"), "content": response["content"]}]


def _pieces(index: int, message: Any) -> list[Any]:
    """The chat messages that say what one message says, in its order; the first carries what has no place."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return [message]
    for position, block in enumerate(message["content"]):
        if not isinstance(block, dict | str):
            raise DataError(f"message {index}, block {position} is {kind_of(block)}. Expected an object with 'type'")
    if message.get("role") == "assistant":
        return _assistant(index, message)
    pieces: list[Any] = []
    for block in message["content"]:
        if isinstance(block, dict) and _is_result(block):
            pieces.append(_result(index, block))
        elif pieces and pieces[-1]["role"] != "tool":
            pieces[-1]["content"].append(block)
        else:
            pieces.append({"role": message.get("role"), "content": [block]})
    if not pieces:
        return [message]
    pieces[0] |= unmapped(message, "role", "content")
    return pieces


def _assistant(index: int, message: dict[str, Any]) -> list[Any]:
    said: list[Any] = []
    thoughts: list[str] = []
    calls: list[Any] = []
    results: list[Any] = []
    left: list[Any] = []
    for block in message["content"]:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "thinking" and isinstance(block.get("thinking"), str):
            thoughts.append(block["thinking"])
            left += [rest] if (rest := unmapped(block, "type", "thinking")) else []
        elif kind in _CALLS:
            calls.append(_call(index, block))
        elif isinstance(block, dict) and _is_result(block):
            results.append(_result(index, block))
        else:
            said.append(block)
    found: dict[str, Any] = {"role": "assistant", "content": said, **unmapped(message, "role", "content")}
    from_blocks = {"thinking": "\n".join(thoughts), "thinking_blocks": left, "tool_calls": calls}
    from_blocks = {key: value for key, value in from_blocks.items() if value}
    _refuse_both(f"message {index}", found, from_blocks)
    return [found | from_blocks, *results]


def _call(index: int, block: dict[str, Any]) -> dict[str, Any]:
    """A block as a call of chat; its type is kept where a server ran it."""
    rest = unmapped(block, "name", "input", *(["type"] if block["type"] == "tool_use" else []))
    call = {"function": {"name": block.get("name"), "arguments": block.get("input")}}
    _refuse_both(f"a {block['type']} block of message {index}", rest, call)
    return call | rest


def _result(index: int, block: dict[str, Any]) -> dict[str, Any]:
    rest = unmapped(block, "tool_use_id", "content", *(["type"] if block["type"] == "tool_result" else []))
    result = {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block.get("content")}
    _refuse_both(f"a {block['type']} block of message {index}", rest, result)
    return result | rest


def _refuse_both(what: str, own: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """Refuse what stands in the way of what its blocks become: one of the two would be lost.

    Raises:
        DataError: both have a key.
    """
    if both := own.keys() & made.keys():
        raise DataError(f"{what} has '{min(both)}', which is made of blocks in this format")
