"""Arguments of a call against the tool's JSON Schema: valid, invalid, or undecidable with a reason.

A schema comes with the data, so it is treated as hostile: references are never fetched from the
network, regular expressions run under a time limit, and a schema that refers to itself endlessly is
given up. The standard validator guards none of the three, hence the replaced keywords.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex
from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from rmtrain.config.verifiers import ArgumentSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Tool
from rmtrain.verifiers.json_values import canonical, shorten

KEPT_SCHEMAS = 1024
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
UNGUARDED = {  # what the library's own search for the unevaluated would follow without our limits
    "unevaluatedItems": REFERENCES,
    "unevaluatedProperties": (*REFERENCES, "patternProperties"),
}
UNIQUE_ITEMS = 1000  # above this, comparing each item with each other takes too long


@dataclass(frozen=True)
class Validity:
    """Whether arguments satisfy a schema.

    Attributes:
        is_valid: None where it cannot be decided.
        reason: one sentence.
    """

    is_valid: bool | None
    reason: str


class ArgumentChecker:
    """Checks arguments; compiled schemas are kept.

    Args:
        settings: the limits.

    Raises:
        ConfigError: if a limit is not positive.
    """

    def __init__(self, settings: ArgumentSettings | None = None) -> None:
        self.settings = settings or ArgumentSettings()
        for name in ("pattern_s", "references", "characters"):
            if not getattr(self.settings, name) > 0:
                raise ConfigError(
                    f"verifiers.calls.arguments.{name} is {getattr(self.settings, name)}; it must be more than 0"
                )
        self._compiled: dict[str, Any] = {}

    def check(self, tool: Tool, arguments: Mapping[str, Any]) -> Validity:
        """Whether `arguments` satisfy `tool.parameters` (Draft 2020-12 unless the schema names another)."""
        try:
            text = canonical(arguments)
        except RecursionError:
            return Validity(None, "the arguments are nested too deeply")
        except (ValueError, TypeError) as error:
            return Validity(None, f"the arguments cannot be written as JSON ({shorten(str(error))})")
        try:
            validator = self._validator(tool)
        except RecursionError:
            return Validity(None, f"the schema of tool '{tool.name}' is nested too deeply")
        except _Undecidable as error:
            return Validity(None, f"the schema of tool '{tool.name}' {error}")
        if "NaN" in text or "Infinity" in text:
            try:
                _refuse_non_finite(arguments)
            except ValueError as error:
                return Validity(False, f"the arguments are not JSON: {error}")
        if len(text) > self.settings.characters:
            return Validity(None, f"the arguments are longer than {self.settings.characters} characters")
        token = _budget.set(_Budget(self.settings.pattern_s, self.settings.references))
        try:
            found = next(validator.iter_errors(arguments), None)
        except RecursionError:
            return Validity(None, f"the schema of tool '{tool.name}' refers to itself without end")
        except Unresolvable as unresolvable:
            reference = shorten(str(getattr(unresolvable, "ref", unresolvable)))
            return Validity(None, f"the schema of tool '{tool.name}' refers to '{reference}', which it does not hold")
        except _Undecidable as undecidable:
            return Validity(None, f"the schema of tool '{tool.name}' {undecidable}")
        except ArithmeticError as error:  # multipleOf, where a number is too large for a float
            return Validity(None, f"the schema of tool '{tool.name}' cannot be applied ({error})")
        finally:
            _budget.reset(token)
        if found is None:
            return Validity(True, f"the arguments satisfy the schema of '{tool.name}'")
        return Validity(False, f"{found.json_path}: {shorten(found.message)}")

    def _validator(self, tool: Tool) -> Any:
        try:
            key = canonical(tool.parameters)
        except (ValueError, TypeError) as error:
            raise _Undecidable(f"is not JSON ({shorten(str(error))})") from error
        if key not in self._compiled:
            if len(self._compiled) >= KEPT_SCHEMAS:
                self._compiled.clear()
            try:
                self._compiled[key] = _compile(tool.parameters)
            except _Undecidable as error:
                self._compiled[key] = error
        found = self._compiled[key]
        if isinstance(found, _Undecidable):
            raise found
        return found


class _Undecidable(Exception):
    """The schema cannot be applied; the message continues "the schema of tool 'x' …"."""


@dataclass
class _Budget:
    pattern_s: float
    references: int


_budget: ContextVar[_Budget] = ContextVar("_budget")


def _compile(schema: dict[str, Any]) -> Any:
    dialect: Any = Draft202012Validator
    declared = schema.get("$schema")
    if "$schema" in schema:
        dialect = validator_for(schema, default=None) if isinstance(declared, str) else None  # type: ignore[arg-type]
        if dialect is None:
            raise _Undecidable(f"is written in an unknown dialect, '{shorten(str(declared))}'")
    # A nested "$schema" would make the library continue with its own, unguarded validator.
    own = {key: value for key, value in schema.items() if key != "$schema"}
    keywords = _keywords(own)
    if "$schema" in keywords:
        raise _Undecidable("changes its dialect inside")
    for name, others in UNGUARDED.items():
        for other in others:
            if {name, other} <= keywords and name in dialect.VALIDATORS:
                raise _Undecidable(f"combines {name} with {other}, which is not supported")
    try:
        dialect.check_schema(own, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        raise _Undecidable(f"is itself invalid at {error.json_path}: {shorten(error.message)}") from error
    return _guarded(dialect)(own, registry=Registry())


def _keywords(schema: Any) -> set[str]:
    found: set[str] = set()
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            # Under "properties" the name may be anything, and its value is a schema, not text.
            found.update(key for key, value in item.items() if key != "$schema" or isinstance(value, str))
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return found


def _refuse_non_finite(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and not -float("inf") < item < float("inf"):
            raise ValueError(f"they hold {item}")
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


@cache
def _guarded(dialect: Any) -> Any:
    known = dialect.VALIDATORS
    replaced: dict[str, Any] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    for name in REFERENCES:
        if name in known:
            replaced[name] = _counted(known[name], "follows too many references")
    for name in UNGUARDED:  # nested in one another, each judges all those inside it twice
        if name in known:
            replaced[name] = _counted(known[name], f"asks for {name} too often")
    if "uniqueItems" in known:
        replaced["uniqueItems"] = _bounded(known["uniqueItems"])
    extended: Any = extend
    return extended(dialect, {name: keyword for name, keyword in replaced.items() if name in known})


def _search(pattern: str, text: str) -> bool:
    budget = _budget.get()
    start = time.monotonic()
    try:
        return regex.search(pattern, text, timeout=max(budget.pattern_s, 1e-6)) is not None
    except TimeoutError as error:
        raise _Undecidable(f"has the pattern '{shorten(pattern, 80)}', which takes too long") from error
    except (regex.error, OverflowError, RecursionError) as error:
        raise _Undecidable(f"has the pattern '{shorten(pattern, 80)}', which cannot be read ({error})") from error
    finally:
        budget.pattern_s -= time.monotonic() - start


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in patterns.items():
        for key, value in instance.items():
            if _search(pattern, key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    names, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [key for key in instance if key not in names and not any(_search(pattern, key) for pattern in patterns)]
    if validator.is_type(allowed, "object"):
        for key in extra:
            yield from validator.descend(instance[key], allowed, path=key)
    elif not allowed and extra:
        yield ValidationError(f"additional properties are not allowed: {', '.join(map(repr, extra))}")


def _counted(keyword: Callable[..., Any], excess: str) -> Callable[..., Any]:
    def count(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        budget = _budget.get()
        budget.references -= 1
        if budget.references < 0:
            raise _Undecidable(excess)
        return keyword(validator, value, instance, schema)

    return count


def _bounded(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def bound(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if value and validator.is_type(instance, "array") and len(instance) > UNIQUE_ITEMS:
            raise _Undecidable(f"asks for unique items among more than {UNIQUE_ITEMS}")
        return keyword(validator, value, instance, schema)

    return bound
