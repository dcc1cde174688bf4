import pytest

from rmtrain.config.verifiers import CallSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Call, Step
from rmtrain.verifiers.tools.calls import CALL_RULES, CallReader, CallRule, first_word

LONG = '{"id": 7, "name": "Mira Li", "city": "Oslo", "seats": 3, "class": "economy"}'


def facts(trajectory, name: str, settings: CallSettings | None = None) -> list[bool | None]:
    return [getattr(each, name).holds for each in CallReader(settings).facts(trajectory)]


def test_known_tool_abstains_without_declared_tools(make):
    step = make.step((make.call("get_x"), "1"), (make.call("gett_x"), "1"))
    assert facts(make.episode(step), "known_tool") == [None, None]
    assert facts(make.episode(step, tools=(make.tool("get_x"),)), "known_tool") == [True, False]


def test_an_unknown_tool_leaves_validity_open_and_unparseable_arguments_are_invalid(make):
    step = make.step(
        (make.call("get_x", n=1), "1"),
        (make.call("get_x", n="1"), "1"),
        (make.call("gett_x"), "1"),
        (Call(name="get_x", raw_arguments="{n: "), "1"),
    )
    trajectory = make.episode(step, tools=(make.tool("get_x", n={"type": "integer"}),))
    assert facts(trajectory, "valid_arguments") == [True, False, None, False]
    last = CallReader().facts(trajectory)[-1].valid_arguments
    assert last.reason == "the arguments could not be parsed"
    assert last.evidence == {"raw_arguments": "{n: "}


def test_a_repeat_is_the_same_name_and_arguments_in_any_order(make):
    first, second = Call(name="f", arguments={"a": 1, "b": [2]}), Call(name="f", arguments={"b": [2], "a": 1})
    others = [make.call("g", a=1, b=[2]), make.call("f", a=1, b=[2, 2]), make.call("f")]
    raw = [Call(name="f", raw_arguments="{"), Call(name="f", raw_arguments="{{"), Call(name="f", raw_arguments="{")]
    steps = [make.step((each, "x")) for each in (first, *others, second, *raw)]
    trajectory = make.episode(*steps)
    assert facts(trajectory, "not_repeated") == [True, True, True, True, False, True, True, False]
    assert CallReader().facts(trajectory)[4].not_repeated.evidence["first_step"] == 0


def test_arguments_too_deep_to_compare_leave_the_repeat_open(make):
    nested: dict = {}
    for _ in range(20_000):
        nested = {"a": nested}
    step = Step(step_index=0, calls=(Call(name="f", arguments=nested),))
    trajectory = make.episode().model_copy(update={"steps": (step,)})
    assert facts(trajectory, "not_repeated") == [None]


def test_a_call_without_a_result_is_unknown_never_an_error(make):
    trajectory = make.episode(make.step((make.call("get_x"), None)))
    assert facts(trajectory, "no_error") == [None]
    assert facts(trajectory, "achieved_something") == [None]


def test_a_read_achieves_something_unless_all_it_says_was_said(make):
    part = '"name": "Mira Li", "city": "Oslo", "seats": 3, "class": "economy"'
    trajectory = make.episode(
        make.step((make.call("get_user", id=7), LONG)),
        make.step((make.call("find_user", name="Mira Li"), LONG)),
        make.step((make.call("get_part", id=7), part)),
        make.step((make.call("get_user", id=8), LONG.replace("Oslo", "Rome"))),
        make.step((make.call("check_seat", id=1), "true")),
        make.step((make.call("check_seat", id=2), "true")),
        make.step((make.call("check_seat", id=1), "true")),
        make.step((make.call("check_seat", id=2), "false")),
    )
    # `part` has the eight words name Mira Li city Oslo seats 3 class + economy = nine, at least seen_words.
    # "true" about another seat is new; about the same seat it is not; a changed result to the same call is.
    expected = [True, False, False, True, True, True, False, True]
    assert facts(trajectory, "achieved_something") == expected
    assert facts(trajectory, "achieved_something", CallSettings(seen_words=10))[2] is True


def test_part_of_a_word_is_not_seen(make):
    first = "rooms 11 12 13 14 15 16 17 18"
    trajectory = make.episode(
        make.step((make.call("list_rooms", floor=1), first)),
        make.step((make.call("list_rooms", floor=2), first.removesuffix("8").removeprefix("rooms "))),
    )
    assert facts(trajectory, "achieved_something") == [True, True]


def test_a_write_needs_the_state_around_its_step(make):
    write = make.call("update_user", id=7)
    trajectory = make.episode(
        make.step((write, "ok")),
        make.step((write, "ok"), state_before={"a": 1}, state_after={"a": 1}),
        make.step((write, "ok"), state_before={"a": 1}, state_after={"a": 2}),
        make.step((write, "ok"), (make.call("get_x"), "new"), state_before={"a": 1}, state_after={"a": 2}),
        make.step((write, "ok"), (make.call("delete_x"), "ok"), state_before={"a": 1}, state_after={"a": 2}),
        make.step((write, "ok"), state_before={"a": 1}),
    )
    assert facts(trajectory, "achieved_something") == [None, False, True, True, True, None, None, None]


def test_errors_achieve_nothing_and_unclear_names_are_left_open(make):
    trajectory = make.episode(
        make.step((make.call("update_user"), "Error: no such user")),
        make.step((make.call("think", thought="hm"), "")),
    )
    assert facts(trajectory, "achieved_something") == [False, None]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("get_user", "get"),
        ("getUser", "get"),
        ("GetUser", "get"),
        ("bank.get_user", "get"),
        ("mcp__bank__get-user", "get"),
        ("getaway_book", "getaway"),
        ("HTTPGet", "http"),
        ("", ""),
        ("__", ""),
    ],
)
def test_the_first_word_tells_reads_from_writes(name, word):
    assert first_word(name) == word


def test_contradicting_settings_are_refused():
    with pytest.raises(ConfigError, match="lists 'get' under read_prefixes and write_prefixes"):
        CallReader(CallSettings(read_prefixes=["get"], write_prefixes=["get"]))
    with pytest.raises(ConfigError, match=r"verifiers\.calls\.seen_words is 0; it must be at least 1"):
        CallReader(CallSettings(seen_words=0))


def test_each_rule_gives_one_verdict_a_call(make):
    reader = CallReader()
    trajectory = make.episode(
        make.step((make.call("get_x"), "1"), (make.call("get_x"), "1")), make.step(), make.step((make.call("f"), None))
    )
    for name in CALL_RULES:
        verdicts = list(CallRule(name, reader).verify(trajectory))
        assert [(each.step_index, each.call_index) for each in verdicts] == [(0, 0), (0, 1), (2, 0)]
        assert all(each.verifier == name and each.dimension is None for each in verdicts)
        assert all((each.value is None) == bool(each.abstained_because) for each in verdicts)
