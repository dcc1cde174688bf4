import pytest

from rmtrain.trajectories.schema import Call, Observation, Step
from rmtrain.verifiers.tools.results import error_rule, paired


@pytest.mark.parametrize(
    ("observation", "is_error", "rule"),
    [
        (Observation(content="fine", is_error=True), True, "the log marks it as an error"),
        (Observation(content="Error: no seats", is_error=False), False, "the log marks it as no error"),
        (Observation(content="  ERROR: no seats"), True, "its content begins with 'Error'"),
        (Observation(content="error"), True, "its content begins with 'Error'"),
        (Observation(content="Errors: 0"), False, "nothing in its content marks an error"),
        (Observation(content="error_count is 0"), False, "nothing in its content marks an error"),
        (Observation(content="No error"), False, "nothing in its content marks an error"),
        (Observation(content='{"error": "no seats"}'), True, "it is a JSON object with a truthy 'error' key"),
        (Observation(content='{"error": null, "seats": 2}'), False, "nothing in its content marks an error"),
        (Observation(content='{"error": ""}'), False, "nothing in its content marks an error"),
        (Observation(content='["error"]'), False, "nothing in its content marks an error"),
        (Observation(content='{"error": }'), False, "nothing in its content marks an error"),
        (Observation(content='{"error":' * 50_000 + "}"), False, "nothing in its content marks an error"),
        (Observation(content=""), False, "nothing in its content marks an error"),
    ],
)
def test_an_error_is_told_by_the_log_or_else_by_the_content(observation, is_error, rule):
    assert error_rule((observation,)) == (is_error, rule)


def test_results_belong_to_calls_by_id_then_by_position():
    def step(calls, observations):
        return Step(
            step_index=0,
            calls=tuple(Call(call_id=each, name="f") for each in calls),
            observations=tuple(Observation(call_id=i, content=text) for i, text in observations),
        )

    def texts(calls, observations):
        found = paired(step(calls, observations))
        return [None if own is None else [each.content for each in own] for own in found]

    assert texts("ab", [("b", "1"), ("a", "2")]) == [["2"], ["1"]]
    assert texts([None, None], [(None, "1"), (None, "2")]) == [["1"], ["2"]]
    assert texts([None], [(None, "1"), (None, "2")]) == [["1", "2"]]
    assert texts("ab", [("b", "1")]) == [[], ["1"]]
    assert texts("ab", [("b", "1"), (None, "2")]) == [["2"], ["1"]]
    assert texts([None, None], [(None, "1")]) == [None, None]
    assert texts(["a", "b", None], [("a", "1"), (None, "2")]) == [["1"], None, None]
    assert texts("aa", [("a", "1"), ("a", "2")]) == [["1"], ["2"]]
    assert texts("a", []) == [[]]
    assert texts([], [(None, "1")]) == []
