"""Chat messages as steps: each assistant message is one step, whatever else was said is its context.

A tool result is attached to the call it answers, wherever in the conversation that is. What has no place in a
trajectory (names, images, reasoning details, …) is kept under `extra` by message index; nothing is dropped.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import PLACES, Place
from rmtrain.trajectories.importers.content import read_content, unmapped
from rmtrain.trajectories.importers.functions import read_calls
from rmtrain.trajectories.importers.strict_json import kind_of
from rmtrain.trajectories.schema import Call, Message, Observation, Step

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True)
class Chat:
    """A conversation taken apart.

    Attributes:
        context: text of the system messages before the task, joined by blank lines.
        query: the task as the first user message gives it, or as the row did.
        steps: one per assistant message.
        answer: text of the last assistant message, None where it makes calls or says nothing.
        extra: what has no place elsewhere.
        placed: number of messages by where they went.
    """

    context: str
    query: str
    steps: tuple[Step, ...]
    answer: str | None
    extra: dict[str, Any]
    placed: dict[Place, int]


def read_chat(
    messages: Sequence[Any],
    query: str | None = None,
    is_error: Callable[[str], bool | None] = lambda content: None,
    indices: Sequence[int] | None = None,
) -> Chat:
    """Take a conversation apart.

    Args:
        messages: OpenAI chat messages.
        query: the task where the row states it apart from the messages; a first user message that says
            something else is then context of the step after it.
        is_error: whether a tool's output says that the call failed, None where it does not say.
        indices: index in the log of each message, where several are parts of one there; None counts from 0.

    Raises:
        DataError: a message cannot be understood, a tool result answers no call, there is no assistant
            message, or nothing says what the task is.
    """
    reader = _Reader(query, is_error)
    numbers = range(len(messages)) if indices is None else indices
    for index, message in zip(numbers, messages, strict=True):
        reader.add(index, message)
    return reader.finish()


@dataclass
class _Draft:
    """A step being read."""

    index: int
    context: list[Message]
    content: str
    thought: str
    calls: list[Call]
    extra: dict[str, Any]
    observations: list[Observation] = field(default_factory=list)
    unanswered: list[int] = field(default_factory=list)


class _Reader:
    """The state of a conversation while its messages are read in order."""

    def __init__(self, query: str | None, is_error: Callable[[str], bool | None]) -> None:
        self.given = query if query and query.strip() else None
        self.query: str | None = None
        self.is_error = is_error
        self.systems: list[str] = []
        self.pending: list[tuple[int, Message]] = []
        self.drafts: list[_Draft] = []
        self.made: dict[str, list[tuple[_Draft, int]]] = {}
        self.extra: dict[str, Any] = {}
        self.places: dict[int, Place] = {}
        self.seen_user = False

    def add(self, index: int, message: Any) -> None:
        if not isinstance(message, dict):
            raise DataError(f"message {index} is {kind_of(message)}. Expected an object with 'role' and 'content'")
        role = message.get("role")
        if role is None:
            raise DataError(f"message {index} has no role. Expected one of: {', '.join(ROLES)}")
        if role not in ROLES:
            shown = f"'{role[:40]}'" if isinstance(role, str) else f"that is {kind_of(role)}"
            raise DataError(f"message {index} has role {shown}. Expected one of: {', '.join(ROLES)}")
        text, parts = read_content(index, role, message.get("content"))
        left = {"parts": parts} if parts else {}
        if role == "assistant":
            self._assistant(index, message, text, left)
        elif role in ("tool", "function"):
            self._result(index, message, text, left)
        else:
            self._said(index, role, text)
            self._keep(index, left | unmapped(message, "role", "content"))

    def finish(self) -> Chat:
        if not self.drafts:
            raise DataError("it holds no assistant message, so there is no step to judge")
        query = self.query if self.given is None else self.given
        if query is None or not query.strip():
            raise DataError(
                "no user message with text and no 'query' says what the task is. "
                "Where another field does, name it: source.fields.query=NAME"
            )
        if self.pending:
            self.extra["trailing_messages"] = [message.model_dump(mode="json") for _, message in self.pending]
            self._place("extra", *(index for index, _ in self.pending))
        last, placed = self.drafts[-1], Counter(self.places.values())
        return Chat(
            context="\n\n".join(self.systems),
            query=query,
            steps=tuple(_step(position, draft) for position, draft in enumerate(self.drafts)),
            answer=last.content.strip() or None if not last.calls else None,
            extra=self.extra,
            placed={place: placed[place] for place in PLACES},
        )

    def _place(self, place: Place, *indices: int) -> None:
        """Note where messages went; one of several parts counts once, where its first part went."""
        for index in indices:
            self.places.setdefault(index, place)

    def _said(self, index: int, role: str, text: str) -> None:
        if role != "user" and not self.seen_user and not self.drafts:
            self.systems.append(text)
            self._place("task", index)
            return
        first = role == "user" and not self.seen_user
        self.seen_user = self.seen_user or first
        if first and (self.given is None or self.given.strip() == text.strip()):
            self.query = text
            self._place("task", index)
        else:
            self.pending.append((index, Message(role=role, content=text)))

    def _assistant(self, index: int, message: dict[str, Any], text: str, left: dict[str, Any]) -> None:
        reasoning_keys = [key for key in REASONING_KEYS if isinstance(message.get(key), str)]
        reasoning = list(dict.fromkeys(message[key] for key in reasoning_keys if message[key].strip()))
        refusal = message.get("refusal")
        if not text and isinstance(refusal, str):
            text, message = refusal, unmapped(message, "refusal")
        calls, call_extra = read_calls(index, message)
        left |= unmapped(message, "role", "content", "tool_calls", "function_call", *reasoning_keys)
        if call_extra:
            left["calls"] = call_extra
        draft = _Draft(
            index=index,
            context=[message for _, message in self.pending],
            content=text,
            thought="\n".join([*reasoning, text] if text else reasoning),
            calls=calls,
            extra={"message_index": index, **left},
            unanswered=list(range(len(calls))),
        )
        self._place("context", *(number for number, _ in self.pending))
        self._place("step", index)
        self.pending = []
        self.drafts.append(draft)
        for position, call in enumerate(calls):
            if call.call_id is not None:
                self.made.setdefault(call.call_id, []).append((draft, position))

    def _result(self, index: int, message: dict[str, Any], text: str, left: dict[str, Any]) -> None:
        call_id = message.get("tool_call_id")
        if call_id is not None and not isinstance(call_id, str):
            raise DataError(f"message {index} has a tool_call_id that is {kind_of(call_id)}. Expected a string")
        name = message.get("name") if isinstance(message.get("name"), str) else None
        draft, position = self._answered(index, call_id or None, name)
        call = draft.calls[position]
        if position in draft.unanswered:
            draft.unanswered.remove(position)
        known = ["role", "content", "tool_call_id"]
        if name == call.name:
            known.append("name")
        said = message.get("is_error")
        if isinstance(said, bool):
            known.append("is_error")
        draft.observations.append(
            Observation(
                call_id=call_id or call.call_id,
                content=text,
                is_error=said if isinstance(said, bool) else self.is_error(text),
            )
        )
        self._place("observation", index)
        self._keep(index, left | unmapped(message, *known))

    def _answered(self, index: int, call_id: str | None, name: str | None) -> tuple[_Draft, int]:
        """The call that a result answers: by id, the latest unanswered first; else by order in the last step."""
        if call_id is not None:
            same = self.made.get(call_id, [])
            waiting = [(draft, position) for draft, position in same if position in draft.unanswered]
            if waiting:
                return next(pair for pair in waiting if pair[0] is waiting[-1][0])
            if same:
                return same[-1]  # a second result of one call
        if self.drafts:
            last = self.drafts[-1]
            waits = [at for at in last.unanswered if call_id is None or last.calls[at].call_id is None]
            named = [at for at in waits if last.calls[at].name == name]
            if waits:
                return last, (named or waits)[0]
        what = f"for call '{call_id}', which no earlier message made" if call_id else "without a tool_call_id"
        remedy = "" if call_id else ", and no call of the last assistant message waits for one"
        raise DataError(f"message {index} is a tool result {what}{remedy}")

    def _keep(self, index: int, left: dict[str, Any]) -> None:
        if left:
            held = self.extra.setdefault("messages", {})
            parts = sum(name.partition(" ")[0] == str(index) for name in held)
            held[f"{index} (part {parts + 1})" if parts else str(index)] = left


def _step(position: int, draft: _Draft) -> Step:
    return Step(
        step_index=position,
        context=tuple(draft.context),
        thought=draft.thought,
        calls=tuple(draft.calls),
        observations=tuple(draft.observations),
        extra=draft.extra,
    )
