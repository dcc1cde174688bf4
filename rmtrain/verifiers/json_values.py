"""JSON values compared and shown: equality as JSON means it, differing paths, dotted paths, canonical text.

Python's own equality will not do: it says that `True == 1`, that NaN differs from itself, and it
overflows the stack on deep nesting.
"""

import json
from collections.abc import Iterator
from typing import Any

ABSENT: Any = object()


def canonical(value: Any) -> str:
    """One text per JSON value: sorted keys, no spaces, ASCII.

    Raises:
        ValueError, TypeError: if `value` holds something JSON cannot write.
        RecursionError: if it is nested too deeply.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def preview(value: Any, limit: int = 200) -> str:
    """`value` for a reader, in at most `limit` characters; never fails, so it is safe in evidence."""
    try:
        text = json.dumps(value, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        text = f"<{type(value).__name__} that JSON cannot write>"
    return shorten(text, limit)


def shorten(text: str, limit: int = 200) -> str:
    """`text` cut to `limit` characters, printable as UTF-8."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def same_json(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, neither equals true, NaN equals NaN, a tuple reads as a list."""
    return next(differing_paths(left, right), None) is None


def differing_paths(left: Any, right: Any) -> Iterator[str]:
    """Dotted paths at which two JSON values differ; lists of unequal length differ as a whole."""
    stack: list[tuple[str, Any, Any]] = [("", left, right)]
    while stack:
        path, a, b = stack.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            for key in sorted(a.keys() | b.keys(), key=str, reverse=True):
                stack.append((f"{path}.{key}" if path else str(key), a.get(key, ABSENT), b.get(key, ABSENT)))
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
            pairs = list(enumerate(zip(a, b, strict=True)))
            stack.extend((f"{path}.{index}" if path else str(index), x, y) for index, (x, y) in reversed(pairs))
        elif not _same_leaf(a, b):
            yield path or "(the whole value)"


def lookup(state: Any, path: str) -> Any:
    """What `state` holds at a dotted path, or ABSENT. Digits index lists; a key may itself contain dots."""
    if isinstance(state, dict):
        if path in state:
            return state[path]
        cut = path.find(".")
        while cut >= 0:
            if path[:cut] in state:
                found = lookup(state[path[:cut]], path[cut + 1 :])
                if found is not ABSENT:
                    return found
            cut = path.find(".", cut + 1)
    elif isinstance(state, list | tuple):
        head, dot, rest = path.partition(".")
        if head.isdecimal() and len(head) < 10 and int(head) < len(state):
            return lookup(state[int(head)], rest) if dot else state[int(head)]
    return ABSENT


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and not isinstance(a, dict | list | tuple) and bool(a == b)
