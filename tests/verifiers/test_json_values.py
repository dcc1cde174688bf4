import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.verifiers.json_values import ABSENT, canonical, differing_paths, lookup, preview, same_json, shorten

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@given(VALUES)
def test_every_value_equals_itself_also_after_a_trip_through_json(value):
    assert same_json(value, value)
    assert same_json(value, json.loads(json.dumps(value)))


@given(VALUES, VALUES)
def test_equality_is_symmetric_and_has_no_path_exactly_when_equal(left, right):
    assert same_json(left, right) == same_json(right, left) == (not list(differing_paths(left, right)))
    if same_json(left, right) and "." not in canonical([left, right]):
        assert canonical(left) == canonical(right)


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (0, False), (1, "1"), (None, 0), ([], {}), ("", None), ([1], 1)]
)
def test_values_of_different_kind_differ(left, right):
    assert not same_json(left, right)


def test_numbers_compare_as_numbers_and_a_tuple_is_a_list():
    assert same_json({"a": (1, 2.0)}, {"a": [1.0, 2]})
    assert same_json(float("nan"), float("nan"))


def test_differing_paths_are_named_in_order():
    left = {"a": {"b": 1, "c": [1, 2]}, "d": 1}
    right = {"a": {"b": 2, "c": [1, 3]}, "e": 1}
    assert list(differing_paths(left, right)) == ["a.b", "a.c.1", "d", "e"]
    assert list(differing_paths([1], [1, 2])) == ["(the whole value)"]


def test_deep_nesting_is_no_danger():
    assert same_json(deep(50_000), deep(50_000))
    assert preview(deep(50_000)) == "<list that JSON cannot write>"


def test_lookup_follows_dots_indexes_and_dotted_keys():
    state = {"a": {"b": [{"c": 5}]}, "x.y": {"z": 1}, "x": {"y": {"w": 2}}, "n": None}
    assert lookup(state, "a.b.0.c") == 5
    assert lookup(state, "x.y.z") == 1
    assert lookup(state, "x.y.w") == 2
    assert lookup(state, "n") is None
    for path in ("a.b.1.c", "a.b.-1", "n.x", "q", "", "a.b.0.c.d", "a.b.99999999999999"):
        assert lookup(state, path) is ABSENT


def test_what_is_shown_is_short_and_can_be_written():
    assert preview({"b": 1, "a": "x"}) == '{"a": "x", "b": 1}'
    assert preview({1, 2}) == "<set that JSON cannot write>"
    assert len(preview("x" * 1000)) == 200
    assert shorten("half \ud800 pair").encode("utf-8")
