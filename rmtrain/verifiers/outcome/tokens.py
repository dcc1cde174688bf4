"""Whether a text contains a value: by sequence of words and numbers, never by substring.

"12" is not in "112", and 42 = 42.0 = "42" = "42.00"; "1,250" is 1250. Text that is JSON is read leaf by
leaf, so that the list [100,200] is two numbers. A number glued to letters ("5kg", "HAT136"), a date
("2024-05-20"), a clock time ("12:30") and a version ("1.2.3") are one word each: to find 12 in them
would be the substring mistake again. Each Han or kana character is a word of its own.
"""

import json
import re
import unicodedata
from typing import Any

_HAN = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_TOKEN = re.compile(
    r"""
    (?P<word>(?<![\w.])\d{4}-\d{2}-\d{2}(?!\d) | (?<![\w.])\d{1,2}:\d{2}(?::\d{2})?+(?![\w:]))
  | (?P<number>(?<!\w)[-+]?
        (?>(?:\d{1,3}(?:,\d{3})++(?!\d) | \d++)(?:\.\d++)?+ | \.\d++)
        (?:[eE][-+]?\d{1,6})?+ (?!\w) (?!\.\d))
  | (?P<other>\w++(?:\.\d\w*+)*+)
    """,
    re.VERBOSE,
)


def contains(text: str, value: Any) -> bool:
    """Whether the tokens of `value` (text, number, true or false, list or object) stand in `text` in one piece.

    Raises:
        ValueError: if `value` has no word and no number, so that nothing could be looked for.
    """
    sought = tokens(value)
    if not sought:
        raise ValueError(f"{value!r} holds no word and no number to look for")
    return f" {' '.join(sought)} " in f" {' '.join(tokens(text))} "


def tokens(value: Any) -> list[str]:
    """Words (casefolded) and numbers (in one form each, after `#`) of a text or JSON value, in order."""
    if isinstance(value, str):
        parsed = _as_json(value)
        return _of_text(value) if parsed is None else _of_leaves(parsed)
    return _of_leaves(value)


def _as_json(text: str) -> Any:
    text = text.strip()
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_leaves(value: Any) -> list[str]:
    found: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(part for pair in reversed(item.items()) for part in reversed(pair))
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif isinstance(item, bool) or item is None:
            found.append({True: "true", False: "false", None: "null"}[item])
        elif isinstance(item, str):
            found.extend(_of_text(item))
        else:
            found.extend(_of_text(repr(item)))
    return found


def _of_text(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text).casefold().replace("\u2212", "-")
    text = _HAN.sub(r" \1 ", text)
    return [_number(match["number"]) if match.lastgroup == "number" else match[0] for match in _TOKEN.finditer(text)]


def _number(text: str) -> str:
    """One form per value, by text alone: neither float nor Decimal keeps a thirty-digit account number apart."""
    mantissa, _, exponent = text.replace(",", "").lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    digits = "".join(str(unicodedata.decimal(digit)) for digit in whole + fraction).lstrip("0")
    shift = int(exponent or 0) - len(fraction)
    kept = digits.rstrip("0")
    return f"#{sign}{kept}e{shift + len(digits) - len(kept)}" if kept else "#0"
