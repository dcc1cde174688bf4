"""The errors a user can cause and mend: each message names the thing, what is allowed and the remedy.

`__main__` prints them without a traceback and exits with 2; any other exception is a bug of ours.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RmtrainError(Exception):
    """Base of every error that a user can mend."""


class ConfigError(RmtrainError):
    """A setting is unknown, malformed or contradicts another."""


class DataError(RmtrainError):
    """A file or row is not what a job expects; the message starts with `file:line` or an id."""


class StudioError(RmtrainError):
    """Label Studio is absent, refuses, or holds something unexpected."""


class ModelError(RmtrainError):
    """A model folder or backbone is absent, damaged or does not fit the data."""


class MissingExtraError(RmtrainError):
    """An optional dependency is not installed.

    Args:
        package: the module that could not be imported.
        extra: the extra of rmtrain that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"'{package}' is not installed. It comes with: pip install 'rmtrain[{extra}]'")


def first_line(error: BaseException) -> str:
    """What an error says, in one line; the name of its type where it says nothing."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


def unknown(kind: str, received: object, known: Iterable[str]) -> str:
    """One sentence for a name that is not in a closed list, with the nearest known one.

    Args:
        kind: what the name was meant to be, e.g. ``"source format"``.
        received: the value as received.
        known: every name that would have been accepted.
    """
    names = sorted(known)
    near = get_close_matches(str(received), names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"unknown {kind} '{received}'. Known: {', '.join(names) or 'none'}.{hint}"
