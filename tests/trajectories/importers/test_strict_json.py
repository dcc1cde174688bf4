import pytest

from rmtrain.trajectories.importers.strict_json import MAX_DEPTH, JsonProblem, kind_of, parse, parse_whole


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": NaN}', "holds NaN, which JSON does not have"),
        ("[Infinity]", "holds Infinity"),
        ("[-Infinity]", "holds -Infinity"),
        ("[1e999]", "holds the number 1e999, which is too large"),
        ("[-1e999]", "holds the number -1e999"),
        ("[" + "9" * 5000 + "]", "holds an integer of 5000 digits"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "has the key 'c' twice in one object"),
        ('["\\ud83d"]', "holds half of a surrogate pair"),
        ('{"\\uD83D": 1}', "holds half of a surrogate pair"),
        ('["\udcff"]', "is not valid UTF-8"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"is nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_a_value_that_is_not_acceptable_still_has_an_end(text: str, problem: str):
    parsed = parse(text + ", 1]")
    assert parsed.end == len(text)
    assert parsed.problem is not None
    assert parsed.problem.startswith(problem)
    with pytest.raises(JsonProblem, match=problem.replace("\\", "").split(",")[0]):
        parse_whole(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text ends"),
        ("{", "the text ends"),
        ('{"a": tru}', r"is not valid JSON: expecting value, but 'tru}' at character 6"),
        ("1 2", "more follows the value, ' 2'"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1}}', "more follows the value"),
        ("\x00", "is not valid JSON"),
    ],
)
def test_wrong_syntax(text: str, message: str):
    with pytest.raises(JsonProblem, match=message):
        parse_whole(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a": [1, 2.5, -0.0, true, null, "é\\u00e9"]} \n', {"a": [1, 2.5, -0.0, True, None, "éé"]}),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud83d"', "\\ud83d"),
        ('"NaN"', "NaN"),
        (str(10**300), 10**300),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
    ],
)
def test_what_is_fine(text: str, value: object):
    parsed = parse_whole(text)
    assert value is None or parsed == value


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "a number"),
        (0.5, "a number"),
        ("", "text"),
        ([], "a list"),
        ({}, "an object"),
    ],
)
def test_what_a_value_is_called(value: object, name: str):
    assert kind_of(value) == name
