import math
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.config.verifiers import ArgumentSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Tool
from rmtrain.verifiers.tools.arguments import UNIQUE_ITEMS, ArgumentChecker

CHECKER = ArgumentChecker()


def check(parameters: dict, arguments: dict, settings: ArgumentSettings | None = None):
    checker = ArgumentChecker(settings) if settings else CHECKER
    return checker.check(Tool(name="book", parameters=parameters), arguments)


def test_valid_and_invalid_arguments_are_told_apart_with_the_place():
    parameters = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    assert check(parameters, {"seats": 2}).is_valid is True
    wrong = check(parameters, {"seats": "two"})
    assert wrong.is_valid is False
    assert wrong.reason == "$.seats: 'two' is not of type 'integer'"
    assert check(parameters, {}).reason == "$: 'seats' is a required property"


def test_an_empty_schema_accepts_everything():
    assert check({}, {"anything": [1, None]}).is_valid is True


def test_an_invalid_schema_is_an_abstention_that_names_the_tool():
    found = check({"type": "objekt"}, {})
    assert found.is_valid is None
    assert found.reason.startswith("the schema of tool 'book' is itself invalid at $.type: 'objekt' is not valid")
    assert check({"type": "objekt"}, {}) == found, "the second look at a broken schema must say the same"


def test_the_declared_dialect_is_used_and_an_unknown_one_refused():
    # Under Draft 4 exclusiveMaximum is a flag beside maximum, under 2020-12 it is a number.
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"maximum": 3}}}
    draft4["properties"]["n"]["exclusiveMaximum"] = True
    assert check(draft4, {"n": 3}).is_valid is False
    assert check({key: draft4[key] for key in ("properties",)}, {"n": 3}).is_valid is None
    assert "unknown dialect, 'urn:mine'" in check({"$schema": "urn:mine"}, {}).reason
    assert "unknown dialect, '[]'" in check({"$schema": []}, {}).reason
    inside = {"properties": {"n": {"$schema": "http://json-schema.org/draft-04/schema#"}}}
    assert "changes its dialect inside" in check(inside, {}).reason
    assert check({"properties": {"$schema": {"type": "string"}}}, {"$schema": 1}).is_valid is False


def test_references_inside_work_and_remote_ones_are_never_fetched(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    inside = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert check(inside, {"a": 1}).is_valid is True
    assert check(inside, {"a": "x"}).is_valid is False
    for reference in ("https://example.com/s.json", "file:///etc/passwd", "#/$defs/absent"):
        shown = reference.removeprefix("#")
        found = check({"properties": {"a": {"$ref": reference}}}, {"a": 1})
        assert found.is_valid is None
        assert found.reason == f"the schema of tool 'book' refers to '{shown}', which it does not hold"


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": {"a": {"pattern": "^(a|aa)+$"}}},
        {"patternProperties": {"^(a|a)*$": {}}},
        {"patternProperties": {"^(a|aa)+$": {}}, "additionalProperties": False},
        {"propertyNames": {"pattern": "^(a|aa)+$"}},
        {"$defs": {"s": {"pattern": "^(a|aa)+$"}}, "properties": {"a": {"$ref": "#/$defs/s"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"pattern": "^(a|aa)+$"}}},
    ],
)
def test_a_regular_expression_that_explodes_is_given_up_in_time(parameters):
    start = time.monotonic()
    text = "a" * 64 + "!"
    found = check(parameters, {"a": text, text: 1}, ArgumentSettings(pattern_s=0.1))
    assert time.monotonic() - start < 2
    assert found.is_valid is None
    assert found.reason.endswith("which takes too long")


def test_patterns_decide_where_they_are_harmless():
    parameters = {"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False}
    assert check(parameters, {"x_a": 1}).is_valid is True
    assert check(parameters, {"x_a": "1"}).is_valid is False
    assert check(parameters, {"y": 1}).reason == "$: additional properties are not allowed: 'y'"
    typed = {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}
    assert check(typed, {"a": 1, "b": "x"}).is_valid is True
    assert check(typed, {"a": 1, "b": 2}).reason == "$.b: 2 is not of type 'string'"
    assert check({"properties": {"d": {"pattern": "^\\d{4}$"}}}, {"d": "20245"}).is_valid is False
    assert "cannot be read" in check({"properties": {"d": {"pattern": "("}}}, {"d": "x"}).reason


def test_a_schema_that_refers_to_itself_without_end_is_given_up():
    assert "without end" in check({"$ref": "#"}, {}).reason
    # Thirty levels of "twice the level below" are a billion steps from a schema of two kilobytes.
    doubling = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(30)}
    found = check({"$defs": {**doubling, "d30": {}}, "$ref": "#/$defs/d0"}, {})
    assert (found.is_valid, found.reason) == (None, "the schema of tool 'book' follows too many references")


def test_a_recursive_schema_that_ends_is_followed():
    tree = {"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert check(tree, {"child": {"child": {"n": 1}}}).is_valid is True
    assert check(tree, {"child": {"child": {"n": "1"}}}).is_valid is False


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_no_json_and_so_invalid(value):
    found = check({}, {"a": [{"b": value}]})
    assert (found.is_valid, found.reason) == (False, f"the arguments are not JSON: they hold {value}")


def test_the_words_nan_and_infinity_are_fine():
    assert check({}, {"a": "NaN and Infinity"}).is_valid is True


def test_numbers_beyond_float_are_an_abstention():
    found = check({"properties": {"n": {"multipleOf": 0.1}}}, {"n": 10**400})
    assert found.is_valid is None
    assert "cannot be applied" in found.reason
    assert check({}, {"n": 10**5000}).reason.startswith("the arguments cannot be written as JSON (Exceeds the limit")


def test_hostile_size_is_an_abstention():
    nested: dict = {}
    for _ in range(20_000):
        nested = {"a": nested}
    assert "nested too deeply" in check({}, nested).reason
    assert "nested too deeply" in check(nested, {}).reason
    assert "longer than 10 characters" in check({}, {"a": "x" * 20}, ArgumentSettings(characters=10)).reason
    unique = {"properties": {"a": {"uniqueItems": True}}}
    assert check(unique, {"a": [1, 1]}).is_valid is False
    assert "unique items" in check(unique, {"a": [{}] * (UNIQUE_ITEMS + 1)}).reason


DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


@pytest.mark.parametrize("unevaluated", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize("dialect", [None, DRAFT_2019])
def test_the_search_for_what_is_unevaluated_follows_no_references(unevaluated, dialect):
    # The library would look at each level of 40 twice, by itself: 2 ** 40 steps.
    second = "$recursiveRef" if dialect else "$dynamicRef"
    levels = {f"a{i}": {"$ref": f"#/$defs/a{i + 1}", second: f"#/$defs/a{i + 1}"} for i in range(40)}
    parameters = {unevaluated: False, "$ref": "#/$defs/a0", "$defs": {**levels, "a40": {"type": ["object", "array"]}}}
    if unevaluated == "unevaluatedItems":
        parameters = {"properties": {"x": {"$ref": "#/$defs/a0", unevaluated: False}}, "$defs": parameters["$defs"]}
    found = check(parameters | ({"$schema": dialect} if dialect else {}), {"x": [1]})
    assert found.is_valid is None
    assert found.reason == f"the schema of tool 'book' combines {unevaluated} with $ref, which is not supported"


@pytest.mark.parametrize("unevaluated", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize("dialect", [None, DRAFT_2019])
def test_a_search_for_what_is_unevaluated_inside_another_is_given_up_in_time(unevaluated, dialect):
    start = time.monotonic()
    nested: dict = {}  # each level looks twice at the one inside it
    for _ in range(40):
        nested = {unevaluated: {"type": "integer"}, "anyOf": [nested]}
    parameters = {"properties": {"x": nested}} | ({"$schema": dialect} if dialect else {})
    found = check(parameters, {"x": [1]} if unevaluated == "unevaluatedItems" else {"x": {"a": 1}})
    assert time.monotonic() - start < 10
    assert found.is_valid is None
    assert found.reason == f"the schema of tool 'book' asks for {unevaluated} too often"


def test_what_is_unevaluated_is_judged_where_nothing_leads_astray():
    closed = {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}
    assert check(closed, {"a": 1}).is_valid is True
    assert check(closed, {"b": 1}).reason == "$: Unevaluated properties are not allowed ('b' was unexpected)"
    listed = {"properties": {"x": {"prefixItems": [{}], "unevaluatedItems": False}}, "patternProperties": {"^y": {}}}
    assert check(listed, {"x": [1]}).is_valid is True
    assert check(listed, {"x": [1, 2]}).is_valid is False
    # Draft 7 does not know the keyword, so it may stand beside references.
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "unevaluatedProperties": False}
    assert check(
        older | {"properties": {"a": {"$ref": "#/definitions/n"}}, "definitions": {"n": {}}}, {"a": 1}
    ).is_valid


def test_unsupported_keywords_together_are_an_abstention():
    found = check({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, {})
    assert found.reason.endswith("combines unevaluatedProperties with patternProperties, which is not supported")


@pytest.mark.parametrize("name", ["pattern_s", "references", "characters"])
def test_a_limit_of_zero_is_refused(name):
    zero = ArgumentSettings(**{name: 0.0 if name == "pattern_s" else 0})
    with pytest.raises(ConfigError, match=rf"verifiers\.calls\.arguments\.{name} is 0(\.0)?; it must be more than 0"):
        ArgumentChecker(zero)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_required_means_present(arguments):
    # Independent oracle: membership.
    assert check({"required": ["a"]}, arguments).is_valid is ("a" in arguments)
