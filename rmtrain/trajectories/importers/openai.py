"""Chat logs in the form of the OpenAI API, from whatever wrote them.

A row is a list of messages, an object with `messages`, or recorded traffic ``{request, response}``. Other fields
are mapped where their meaning is plain and kept under `extra` otherwise. A row's `answer` may be the agent's or
the right one, and its `id` may number tasks or rows: both stay in `extra` unless `source.fields` says which.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rmtrain.config.source import SourceSettings
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.trajectories.importers.base import Converted, Raw
from rmtrain.trajectories.importers.chat import read_chat
from rmtrain.trajectories.importers.functions import read_tools
from rmtrain.trajectories.importers.rows import read_rows
from rmtrain.trajectories.importers.strict_json import kind_of
from rmtrain.trajectories.schema import Outcome, Reference, Source, Task, digest, make_trajectory


class _Unfit(ValueError):
    """A value is not what the field needs; the message says what it needs."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unfit("text")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
        raise _Unfit("text or a whole number")
    return str(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)) or abs(value) > 1e308:
        raise _Unfit("a number")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Unfit("a whole number")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, (str, int, float)) for item in items):
        raise _Unfit("text or a list of texts")
    return tuple(str(item) for item in items)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Unfit("a list")
    return value


def _tools(value: Any) -> Any:
    if not isinstance(value, (list, str)):
        raise _Unfit("a list of function schemas")
    return value


# our field: how a value becomes it, and where a row usually has it
FIELDS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "messages": (_list, ("messages", "request.messages", "traj", "conversation", "conversations")),
    "tools": (_tools, ("tools", "request.tools", "functions")),
    "task_id": (_name, ("task_id",)),
    "family": (_text, ()),
    "query": (_text, ("query",)),
    "answer": (_text, ()),
    "reference": (_texts, ()),
    "reward": (_number, ("reward", "score")),
    "trial": (_whole, ("trial",)),
    "policy": (_text, ("model", "request.model")),
    "temperature": (_number, ("temperature", "request.temperature")),
    "seed": (_whole, ("seed", "request.seed")),
}


@dataclass
class Turns:
    """Chat messages, and of each the index of the log's message that it is, or is a part of."""

    messages: list[Any]
    indices: list[int]


class OpenAIChat:
    """Importer of chat logs.

    Args:
        fields: our field to the dotted name that rows have for it; every row must then have it, null is allowed.

    Raises:
        ConfigError: `fields` has a key that is not one of `FIELDS`.
    """

    name = "openai"

    def __init__(self, fields: dict[str, str] | None = None) -> None:
        self.fields = fields or {}
        for ours in self.fields:
            if ours not in FIELDS:
                raise ConfigError(f"source.fields: {unknown('field', ours, FIELDS)}")

    @classmethod
    def from_settings(cls, settings: SourceSettings) -> "OpenAIChat":
        return cls({ours: name for ours, name in asdict(settings.fields).items() if name is not None})

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        return read_rows(path, file, is_message=is_message)

    def signs(self, payload: Any) -> str | None:
        where = "a list of messages"
        named = isinstance(payload, dict)
        if named:
            given = self.fields.get("messages")
            names = FIELDS["messages"][1] if given is None else (given,)
            where = next((f"'{name}'" for name in names if _find(payload, name)[0] is not None), where)
            try:
                payload = self._take(dict(payload), "messages")
            except DataError:  # it lacks the field that source.fields.messages names
                return None
        if not isinstance(payload, list) or not (is_message(payload[0]) if payload else named):
            return None
        return f"{where} with 'role'"

    def convert(self, raw: Raw) -> Converted:
        row = {"messages": raw.payload} if isinstance(raw.payload, list) else raw.payload
        if not isinstance(row, dict):
            raise DataError("it is neither a list of chat messages nor an object with 'messages'")
        row = dict(row)
        found = {ours: self._take(row, ours) for ours in FIELDS}
        messages = found["messages"]
        if messages is None:
            raise DataError(f"it has no list of messages. It has: {', '.join(map(str, row)) or 'nothing'}")
        turns = self.turns(messages, row)
        chat = read_chat(turns.messages, found["query"], indices=turns.indices)
        tools, tool_extra = read_tools(self.functions(found["tools"] or []))
        extra = {key: value for key, value in row.items() if value not in (None, {})}
        for key, value in {**chat.extra, "tools": tool_extra}.items():
            if value:
                extra[key if key not in extra else f"{key} (unmapped)"] = value
        task = Task(
            task_id=found["task_id"] or _task_id(chat.query, found["tools"]),
            query=chat.query,
            family=found["family"],
            context=chat.context,
            tools=tools,
            reference=Reference(answers=found["reference"]) if found["reference"] else None,
        )
        trajectory = make_trajectory(
            task=task,
            steps=chat.steps,
            answer=found["answer"] if found["answer"] is not None else chat.answer,
            outcome=Outcome(reward=found["reward"]),
            source=Source(
                format=self.name,
                file=raw.file,
                line=raw.line,
                row=raw.row,
                trial=found["trial"],
                policy=found["policy"],
                temperature=found["temperature"],
                seed=found["seed"],
            ),
            extra=extra,
        )
        return Converted(trajectory, chat.placed)

    def turns(self, messages: list[Any], row: dict[str, Any]) -> "Turns":
        """All messages of a row as chat messages; what is taken out of `row` is removed from it."""
        everything = [*messages, *_response(row)]
        return Turns(everything, list(range(len(everything))))

    def functions(self, tools: Any) -> Any:
        """The row's tools as function schemas."""
        return tools

    def _take(self, row: dict[str, Any], ours: str) -> Any:
        """Take a field out of `row`, converted; None where the row has none that fits.

        Raises:
            DataError: `source.fields` names the field and it is absent or does not fit.
        """
        convert, usual = FIELDS[ours]
        given = self.fields.get(ours)
        for name in usual if given is None else (given,):
            holder, key = _find(row, name)
            if holder is None:
                continue
            try:
                value = None if holder[key] is None else convert(holder[key])
            except _Unfit as unfit:
                if given is not None:
                    raise DataError(f"field '{name}' ({ours}) is {kind_of(holder[key])}. Expected {unfit}") from None
                continue
            if value is None and given is None:
                continue
            _remove(row, name)
            return value
        if given is not None:
            raise DataError(f"it has no field '{given}' (source.fields.{ours}). It has: {', '.join(map(str, row))}")
        return None


def is_message(value: Any) -> bool:
    """Whether a value looks like a chat message."""
    return isinstance(value, dict) and "role" in value


def _task_id(query: str, tools: Any) -> str:
    return "q-" + digest([query, tools])[:12]


def _response(row: dict[str, Any]) -> list[Any]:
    """Take the message that a recorded response adds to its request's."""
    response = row.get("response")
    if not isinstance(response, dict):
        return []
    choices = response.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict) and "message" in choices[0]):
        return []
    first = {key: value for key, value in choices[0].items() if key != "message"}
    row["response"] = {**response, "choices": [first, *choices[1:]]}
    return [choices[0]["message"]]


def _find(row: dict[str, Any], name: str) -> tuple[dict[str, Any] | None, str]:
    """The object that holds the dotted `name` and the key in it; no object where the row lacks it."""
    if name in row:
        return row, name
    holder: Any = row
    *path, key = name.split(".")
    for part in path:
        holder = holder.get(part) if isinstance(holder, dict) else None
    return (holder, key) if isinstance(holder, dict) and key in holder else (None, key)


def _remove(row: dict[str, Any], name: str) -> None:
    """Remove the dotted `name` from `row` without changing the objects inside it."""
    if name in row:
        del row[name]
        return
    first, _, rest = name.partition(".")
    row[first] = dict(row[first])
    _remove(row[first], rest)
