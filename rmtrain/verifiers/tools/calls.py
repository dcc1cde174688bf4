"""Facts of each call: known tool, valid arguments, not repeated, no error, achieved something.

A fact holds, does not hold, or is unknown with a reason; 1 is always the good side. Facts are read
once per trajectory and shared by five verifiers (one per fact) and by tool efficiency. Reads and writes
are told apart by name, because logs do not say; a tool whose name says neither is left undecided.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rmtrain.config.verifiers import CallSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Call, Observation, Step, Tool, Trajectory, call_key
from rmtrain.verifiers.base import Verdict
from rmtrain.verifiers.json_values import preview, same_json, shorten
from rmtrain.verifiers.tools.arguments import ArgumentChecker
from rmtrain.verifiers.tools.results import error_rule, paired

STATE_BEFORE, STATE_AFTER = "state_before", "state_after"
"""Keys of `Step.extra` that tell the environment's state (or a digest of it) around a step."""

NO_RESULT = "no result of this call is recorded"


@dataclass(frozen=True)
class Fact:
    """One fact of one call.

    Attributes:
        holds: None where it cannot be decided.
        reason: one sentence; of an undecided fact, why it is so.
        evidence: JSON.
    """

    holds: bool | None
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CallFacts:
    """All facts of one call, and where it stands."""

    step_index: int
    call_index: int
    call: Call
    kind: str | None
    known_tool: Fact
    valid_arguments: Fact
    not_repeated: Fact
    no_error: Fact
    achieved_something: Fact

    @property
    def has_failed(self) -> bool:
        """True where the result is known to be an error."""
        return self.no_error.holds is False


def same_call(call: Call, gold: Call) -> bool:
    """Equal name and equal arguments; nothing missing, nothing extra, numbers as numbers."""
    return call.name == gold.name and call.arguments is not None and same_json(call.arguments, gold.arguments)


def first_word(name: str) -> str:
    """First word of a tool's name, lower case, after any namespace: ``get`` of ``bank.getUser``."""
    last = re.split(r"[./:]|__", name)[-1]
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", last)
    return words[0].lower() if words else ""


class CallReader:
    """Reads the facts of a trajectory's calls; the last trajectory's facts are kept.

    Args:
        settings: read and write names, limits.

    Raises:
        ConfigError: if a name is listed as both read and write, or a limit is not positive.
    """

    def __init__(self, settings: CallSettings | None = None) -> None:
        self.settings = settings or CallSettings()
        both = sorted(set(self.settings.read_prefixes) & set(self.settings.write_prefixes))
        if both:
            raise ConfigError(
                f"verifiers.calls lists '{both[0]}' under read_prefixes and write_prefixes; keep it in one of them"
            )
        if self.settings.seen_words < 1:
            raise ConfigError(f"verifiers.calls.seen_words is {self.settings.seen_words}; it must be at least 1")
        self._checker = ArgumentChecker(self.settings.arguments)
        self._last: tuple[Trajectory, tuple[CallFacts, ...]] | None = None

    def facts(self, trajectory: Trajectory) -> tuple[CallFacts, ...]:
        """The facts of every call, in order."""
        last = self._last
        if last is None or last[0] is not trajectory:
            last = (trajectory, tuple(self._read(trajectory)))
            self._last = last
        return last[1]

    def kind(self, name: str) -> str | None:
        """``read``, ``write``, or None where the tool's name says neither."""
        word = first_word(name)
        if word in self.settings.read_prefixes:
            return "read"
        return "write" if word in self.settings.write_prefixes else None

    def _read(self, trajectory: Trajectory) -> Iterator[CallFacts]:
        tools: dict[str, Tool] = {}
        for tool in trajectory.task.tools:
            tools.setdefault(tool.name, tool)
        earlier: dict[str, tuple[int, int]] = {}
        seen = _Seen(self.settings.seen_words)
        for step in trajectory.steps:
            for call_index, (call, results) in enumerate(zip(step.calls, paired(step), strict=True)):
                try:
                    key = call_key(call)
                except (ValueError, TypeError, RecursionError):
                    key = None
                repeated = _repeated(call, key, earlier)
                if key is not None:
                    earlier.setdefault(key, (step.step_index, call_index))
                no_error = _no_error(results)
                yield CallFacts(
                    step_index=step.step_index,
                    call_index=call_index,
                    call=call,
                    kind=self.kind(call.name),
                    known_tool=_known(call, tools),
                    valid_arguments=self._valid(call, tools),
                    not_repeated=repeated,
                    no_error=no_error,
                    achieved_something=self._achieved(step, call, key, results, no_error, seen),
                )
                if results:
                    seen.add(key, results)

    def _valid(self, call: Call, tools: dict[str, Tool]) -> Fact:
        if not tools:
            return Fact(None, "the task declares no tools")
        if call.name not in tools:
            return Fact(None, "the tool is unknown, so its schema is too")
        if call.arguments is None:
            shown = shorten(call.raw_arguments or "", 80)
            return Fact(False, "the arguments could not be parsed", {"raw_arguments": shown})
        validity = self._checker.check(tools[call.name], call.arguments)
        return Fact(validity.is_valid, validity.reason)

    def _achieved(
        self,
        step: Step,
        call: Call,
        key: str | None,
        results: tuple[Observation, ...] | None,
        no_error: Fact,
        seen: "_Seen",
    ) -> Fact:
        if no_error.holds is False:
            return Fact(False, "the call returned an error", no_error.evidence)
        if not results:
            return Fact(None, no_error.reason)
        kind = self.kind(call.name)
        if kind == "read":
            return seen.judge(key, results)
        if kind == "write":
            return self._changed(step)
        return Fact(None, "the tool's name says neither read nor write")

    def _changed(self, step: Step) -> Fact:
        if STATE_BEFORE not in step.extra or STATE_AFTER not in step.extra:
            return Fact(None, "the state around this step is not recorded")
        if same_json(step.extra[STATE_BEFORE], step.extra[STATE_AFTER]):
            return Fact(False, "the write left the state unchanged")
        if sum(self.kind(other.name) != "read" for other in step.calls) > 1:
            return Fact(None, "the state changed, but several calls of this step may have changed it")
        return Fact(True, "the write changed the state")


class CallRule:
    """A verifier that reports one fact of each call.

    Args:
        name: of the fact, one of CALL_RULES.
        reader: shared, so that facts are read once.
    """

    version = 1

    def __init__(self, name: str, reader: CallReader) -> None:
        self.name = name
        self._reader = reader

    def verify(self, trajectory: Trajectory) -> Iterator[Verdict]:
        """One verdict per call."""
        for facts in self._reader.facts(trajectory):
            fact: Fact = getattr(facts, self.name)
            yield Verdict(
                verifier=self.name,
                version=self.version,
                trajectory_id=trajectory.trajectory_id,
                step_index=facts.step_index,
                call_index=facts.call_index,
                value=None if fact.holds is None else float(fact.holds),
                abstained_because=fact.reason if fact.holds is None else None,
                reason="" if fact.holds is None else fact.reason,
                evidence={"tool": shorten(facts.call.name), **fact.evidence},
            )


CALL_RULES = ("known_tool", "valid_arguments", "not_repeated", "achieved_something", "no_error")


class _Seen:
    """What earlier results said, as token texts; a result adds nothing if one of them contains it whole."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._texts: list[str] = []
        self._by_call: dict[str, set[str]] = {}

    def add(self, key: str | None, results: tuple[Observation, ...]) -> None:
        text = self._text(results)
        self._texts.append(text)
        if key is not None:
            self._by_call.setdefault(key, set()).add(text)

    def judge(self, key: str | None, results: tuple[Observation, ...]) -> Fact:
        text = self._text(results)
        if key is not None and text in self._by_call.get(key, ()):
            return Fact(False, "the same call returned the same before")
        if len(re.findall(r"\w+", text)) >= self._words and any(text in other for other in self._texts):
            return Fact(False, "an earlier result already said all of this")
        return Fact(True, "the result was not seen before")

    @staticmethod
    def _text(results: tuple[Observation, ...]) -> str:
        tokens = [token for result in results for token in re.findall(r"\w+|[^\w\s]", result.content)]
        return f" {' '.join(tokens)} "


def _known(call: Call, tools: dict[str, Tool]) -> Fact:
    if not tools:
        return Fact(None, "the task declares no tools")
    if call.name in tools:
        return Fact(True, "the task declares this tool")
    return Fact(False, "the task declares no such tool", {"declared": len(tools)})


def _repeated(call: Call, key: str | None, earlier: dict[str, tuple[int, int]]) -> Fact:
    if key is None:
        return Fact(None, "the arguments cannot be written as JSON, so they cannot be compared")
    if key in earlier:
        step_index, call_index = earlier[key]
        shown = preview(call.arguments if call.arguments is not None else call.raw_arguments)
        evidence = {"first_step": step_index, "first_call": call_index, "arguments": shown}
        return Fact(False, f"identical to call {call_index} of step {step_index}", evidence)
    return Fact(True, "no earlier call is identical")


def _no_error(results: tuple[Observation, ...] | None) -> Fact:
    if results is None:
        return Fact(None, "the step's results cannot be told apart")
    if not results:
        return Fact(None, NO_RESULT)
    is_error, rule = error_rule(results)
    reason = "the call returned an error" if is_error else "the call returned without error"
    return Fact(not is_error, reason, {"rule": rule})
