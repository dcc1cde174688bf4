"""Questions about the dataclasses that describe the settings: which keys, which types, what they mean.

Plain dataclasses in, words and lists out; neither hydra nor omegaconf is needed to ask.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Union, get_args, get_origin, get_type_hints

from rmtrain.errors import unknown

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def hints(section: type) -> dict[str, Any]:
    """Type of every setting of a section, by name, in the order declared."""
    types_by_name = get_type_hints(section)
    return {field.name: types_by_name[field.name] for field in fields(section)}


def subsection(hint: Any) -> type | None:
    """The dataclass behind a type (`Optional` taken off), None for a plain value."""
    for part in _alternatives(hint):
        if isinstance(part, type) and is_dataclass(part):
            return part
    return None


def named_subsection(hint: Any) -> type | None:
    """The dataclass that a mapping with free names holds (``dict[str, HeadSettings]``), None for anything else."""
    for part in _alternatives(hint):
        if get_origin(part) is dict:
            return subsection(get_args(part)[1])
    return None


def free_values(hint: Any) -> Any:
    """Type of the values of a mapping with free names (``dict[str, str]``), None for anything else."""
    return next((get_args(part)[1] for part in _alternatives(hint) if get_origin(part) is dict), None)


def settings_of(section: type, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as dotted key and type, sections included; names that the user invents show as ``*``."""
    for name, hint in hints(section).items():
        yield f"{prefix}{name}", hint
        if inner := subsection(hint):
            yield from settings_of(inner, f"{prefix}{name}.")
        if named := named_subsection(hint):
            yield from settings_of(named, f"{prefix}{name}.*.")


def first_undeclared(raw: Mapping[str, Any], section: type, prefix: str = "") -> str | None:
    """The first key of a composed configuration that no dataclass declares.

    Args:
        raw: the configuration as plain mappings.
        section: dataclass that declares its keys.
        prefix: dotted key of `raw` inside the whole, with its dot; empty for the whole.

    Returns:
        The dotted key; None where every key is declared.
    """
    declared = hints(section)
    for name, value in raw.items():
        key = f"{prefix}{name}"
        if name not in declared:
            return key
        if not isinstance(value, Mapping):
            continue
        found = None
        if inner := subsection(declared[name]):
            found = first_undeclared(value, inner, f"{key}.")
        elif named := named_subsection(declared[name]):
            below = ((free, part) for free, part in value.items() if isinstance(part, Mapping))
            found = next(filter(None, (first_undeclared(part, named, f"{key}.{free}.") for free, part in below)), None)
        if found:
            return found
    return None


def first_ungrouped(raw: Mapping[str, Any], section: type, prefix: str = "") -> str | None:
    """The first key of a composed configuration that holds a plain value where a group of settings belongs.

    Args:
        raw: the configuration as plain mappings, every key declared.
        section: dataclass that declares its keys.
        prefix: dotted key of `raw` inside the whole, with its dot; empty for the whole.

    Returns:
        The dotted key; None where every group is one. An absent group (None, or `???`) is no plain value.
    """
    declared = hints(section)
    for name, value in raw.items():
        inner = subsection(declared[name])
        if inner is None or value in (None, "???"):
            continue
        if not isinstance(value, Mapping):
            return f"{prefix}{name}"
        if found := first_ungrouped(value, inner, f"{prefix}{name}."):
            return found
    return None


def unknown_setting(key: str, root: type) -> str:
    """One sentence about an undeclared dotted key, with its declared neighbours and the likeliest meant one."""
    section, path = root, ""
    names = iter(key.split("."))
    for name in names:
        hint = hints(section).get(name)
        if hint is None:
            break
        path += f"{name}."
        if (free := free_values(hint)) and not subsection(free):
            hint, path = free, f"{path}{next(names, '*')}."
        below = named_subsection(hint) or subsection(hint)
        if below is None:
            return f"setting '{path[:-1]}' is {in_words(hint)} and has nothing below it, but '{key}' was given."
        if named_subsection(hint):
            path += f"{next(names, '*')}."
        section = below
    sentence = unknown("setting", key, [f"{path}{name}" for name in hints(section)])
    if "Did you mean" in sentence:
        return sentence
    by_last_name = {dotted.rsplit(".", 1)[-1]: dotted for dotted, _ in reversed(list(settings_of(root)))}
    near = get_close_matches(key.rsplit(".", 1)[-1], by_last_name, n=1, cutoff=0.75)
    return f"{sentence} Did you mean '{by_last_name[near[0]]}'?" if near else sentence


def type_of(key: str, root: type) -> Any:
    """Type of the setting at a dotted key, None where none is declared."""
    hint: Any = root
    for name in key.split("."):
        if free := free_values(hint):
            hint = free
        elif section := subsection(hint):
            hint = hints(section).get(name)
        else:
            return None
    return hint


def optional_section(key: str, root: type) -> str | None:
    """Dotted key of the first section on the way to `key` that may be absent; None where all are there."""
    section, path = root, ""
    for name in key.split("."):
        hint = hints(section).get(name)
        inner = subsection(hint)
        if inner is None:
            return None
        if type(None) in _alternatives(hint):
            return f"{path}{name}"
        section, path = inner, f"{path}{name}."
    return None


def in_words(hint: Any) -> str:
    """A type as a user would say it, e.g. ``a whole number or null``."""
    if subsection(hint) or get_origin(hint) is dict:
        return "a group of settings"
    if get_origin(hint) in (list, tuple):
        return f"a list, each {in_words(get_args(hint)[0])}"
    if hint is type(None):
        return "null"
    alternatives = _alternatives(hint)
    if len(alternatives) > 1:
        return " or ".join(in_words(part) for part in alternatives)
    return WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def docs(section: type) -> dict[str, str]:
    """What each setting of a section means: the docstring under its field, by name."""
    found: dict[str, str] = {}
    for owner in reversed(section.__mro__[:-1]):
        source = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        assert isinstance(source, ast.ClassDef)  # a section is a dataclass
        for field, after in zip(source.body, [*source.body[1:], None], strict=True):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[field.target.id] = inspect.cleandoc(text)
                case _:
                    found[field.target.id] = ""
    return found


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
