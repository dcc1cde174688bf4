"""The content of a chat message: its text, and what of it is no text."""

import json
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.strict_json import kind_of

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_OTHER_PARTS = ("image_url", "image", "input_image", "input_audio", "audio", "file", "input_file", "video_url")
_FOREIGN_PARTS = ("tool_use", "tool_result", "server_tool_use")


def read_content(index: int, role: str, content: Any) -> tuple[str, dict[str, Any]]:
    """The text of a message, and its parts that are no text by their position."""
    if content is None:
        return "", {}
    if isinstance(content, str):
        return content, {}
    result = role in ("tool", "function")
    if not (isinstance(content, list) and all(_is_part(part, closed=result) for part in content)):
        if result:  # logged as the value instead of its text
            return json.dumps(content, ensure_ascii=False), {}
        raise DataError(f"message {index} has content that is {kind_of(content)}. Expected text or a list of parts")
    texts: list[str] = []
    left: dict[str, Any] = {}
    for position, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        key = _TEXT_PARTS.get(part["type"])
        if part["type"] in _FOREIGN_PARTS:
            raise DataError(
                f"message {index} has a part of type '{part['type']}', which is Anthropic's format. "
                "Expected OpenAI chat messages: calls under 'tool_calls', results as messages of role 'tool'"
            )
        if key is not None and isinstance(part.get(key), str):
            texts.append(part[key])
            part = unmapped(part, "type", key)
        if part:
            left[str(position)] = part
    return "\n".join(texts), left


def _is_part(part: Any, closed: bool) -> bool:
    """Whether it is a part of a message; `closed` admits known types only, since a tool may return any list."""
    if isinstance(part, str):
        return not closed
    kind = part.get("type") if isinstance(part, dict) else None
    return kind in (*_TEXT_PARTS, *_OTHER_PARTS, *_FOREIGN_PARTS) if closed else isinstance(kind, str)


def unmapped(entry: dict[str, Any], *known: str) -> dict[str, Any]:
    """What an object holds beside the keys that were used; null says nothing and is left out."""
    return {key: value for key, value in entry.items() if key not in known and value is not None}
