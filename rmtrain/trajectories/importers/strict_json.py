"""JSON text as values, without what JSON does not have or two readers would read differently.

NaN, infinities, numbers beyond a double, duplicate keys, lone surrogates, invalid UTF-8 and extreme nesting are
named problems. They are noted instead of raised, so that the end of a bad value in an array is still found
and its neighbours are read.
"""

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 100  # levels of nesting; pydantic reads back at most 200, and a trajectory adds a few

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_DIGITS = 4000  # Python refuses to convert longer integers


class JsonProblem(ValueError):
    """Why a text is not acceptable JSON, as the end of a sentence: ``is not valid JSON: …``."""


@dataclass(frozen=True)
class Parsed:
    """One value of a text.

    Attributes:
        value: the value; meaningless where `problem` is set.
        end: index after its last character.
        problem: the first thing that is wrong with it, or None.
    """

    value: Any
    end: int
    problem: str | None


def parse(text: str, start: int = 0) -> Parsed:
    """Read the value that starts at character `start` of `text` (no white space before it).

    Args:
        text: decoded with ``surrogateescape``, so that bytes which are not UTF-8 are seen here.
        start: index of the value's first character.

    Raises:
        JsonProblem: the syntax is wrong, so that the value's end is unknown.
    """
    notes = _Notes()
    problems = notes.problems
    decoder = json.JSONDecoder(
        object_pairs_hook=notes.pairs,
        parse_constant=notes.constant,
        parse_float=notes.number,
        parse_int=notes.integer,
    )
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        found = "the text ends" if error.pos >= len(text) else f"{text[error.pos : error.pos + 20]!r}"
        what = error.msg[0].lower() + error.msg[1:]
        raise JsonProblem(f"is not valid JSON: {what}, but {found} at character {error.pos - start}") from None
    except RecursionError:
        raise JsonProblem("is nested too deeply to be read") from None
    if _SURROGATE.search(text, start, end):
        problems.insert(0, "is not valid UTF-8")
    elif _ESCAPED_SURROGATE.search(text, start, end) and _has_surrogate(value):
        problems.append("holds half of a surrogate pair (\\ud800 to \\udfff), which is no character")
    if _depth(value) > MAX_DEPTH:
        problems.append(f"is nested more than {MAX_DEPTH} levels deep")
    return Parsed(value, end, problems[0] if problems else None)


class _Notes:
    """What the standard parser would let pass, noted while it reads on."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            twice = Counter(key for key, _ in items).most_common(1)[0][0]
            self.problems.append(f"has the key {twice[:40]!r} twice in one object")
        return result

    def constant(self, name: str) -> None:
        self.problems.append(f"holds {name}, which JSON does not have; an absent value is null")

    def number(self, digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            self.problems.append(f"holds the number {digits[:20]}, which is too large")
        return value

    def integer(self, digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            self.problems.append(f"holds an integer of {len(digits)} digits")
            return 0
        return int(digits)


def parse_whole(text: str) -> Any:
    """The value of a text that holds exactly one.

    Raises:
        JsonProblem: it does not, or the value is not acceptable.
    """
    stripped = text.strip()
    parsed = parse(stripped)
    if parsed.end != len(stripped):
        raise JsonProblem(f"is not valid JSON: more follows the value, {stripped[parsed.end : parsed.end + 20]!r}")
    if parsed.problem is not None:
        raise JsonProblem(parsed.problem)
    return parsed.value


def kind_of(value: Any) -> str:
    """What a JSON value is called in a message, e.g. ``a list``."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return kinds.get(type(value), type(value).__name__)


def _has_surrogate(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def _depth(value: Any) -> int:
    depth = 0
    level = [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
    return depth
