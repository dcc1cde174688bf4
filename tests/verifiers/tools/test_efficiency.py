import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.config.verifiers import EfficiencySettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Subgoal
from rmtrain.verifiers.tools.calls import CallReader
from rmtrain.verifiers.tools.efficiency import ToolEfficiency, steps_with_calls


def judge(trajectory, settings=None, **known):
    (verdict,) = ToolEfficiency(CallReader(), settings).verify(trajectory, **known)
    assert (verdict.verifier, verdict.dimension) == ("tool_efficiency", "tool_efficiency")
    return verdict


def calls(make, n, repeated=0):
    """n different reads, then `repeated` repeats of the first."""
    numbers = [*range(n), *[0] * repeated]
    return [make.step((make.call("get_x", n=k), f"result {k}")) for k in numbers]


def test_every_part_by_hand(make):
    tools = (make.tool("get_x", n={"type": "integer"}), make.tool("pay", n={"type": "integer"}))
    trajectory = make.episode(
        make.step((make.call("get_x", n=1), "one")),
        make.step((make.call("get_x", n=2), "two")),
        make.step((make.call("get_x", n=1), "one")),
        make.step((make.call("pay", n="1"), "Error: not a number")),
        make.step((make.call("buy"), "Error: no such tool")),
        make.step((make.call("pay", n=1), "paid")),
        make.step((make.call("pay", n=2), "paid")),
        make.step(thought="done"),
        tools=tools,
        actions=(make.call("get_x", n=2), make.call("pay", n=1)),
    )
    verdict = judge(trajectory)
    # Selection: get_x(1), get_x(2) are right (get_x(2) is still to be done); the third get_x is not, since
    # get_x(2) is done by then; pay("1") and pay(1) are right, buy is not, pay(2) comes after pay(1): 4 of 7.
    # Validity: pay("1") is invalid and buy has no schema: 5 of 7.
    # Waste: the repeat of get_x(1) and the two errors: 3 of 7.
    # Length: 7 calls against 1.5 x 2 = 3: 4 beyond, 0.2 off.
    assert verdict.evidence["parts"] == {"selection": 4 / 7, "validity": 5 / 7, "waste": pytest.approx(4 / 7)}
    assert verdict.value == pytest.approx((4 + 5 + 4) / 21 - 0.2)
    assert verdict.evidence["waste"] == {"wasted": 3, "repeats": 1, "errors": 2, "no_ops": 1, "unknown": 2}
    assert verdict.evidence["length"] == {
        "counted": "calls",
        "length": 7,
        "expected": 3.0,
        "expected_from": "gold actions",
        "beyond": 4.0,
    }
    assert verdict.reason == "mean of selection 0.57, validity 0.71, 1 - waste 0.57, minus 0.20 for length"


def test_parts_that_are_absent_are_left_out_and_said_so(make):
    # Neither tools nor reference nor expected steps: waste alone, one repeat among four calls.
    verdict = judge(make.episode(*calls(make, 3, repeated=1)))
    assert verdict.value == 0.75
    assert verdict.evidence["parts"] == {"waste": 0.75}
    for part in ("selection", "validity", "length"):
        assert verdict.evidence[part]["left_out"]


def test_a_reference_of_writes_only_leaves_reads_out_of_the_selection(make):
    pay, get = make.call("pay", n=1), make.call("get_x", n=1)
    trajectory = make.episode(make.step((get, "1")), make.step((pay, "ok")), actions=(pay,))
    assert judge(trajectory).evidence["selection"] == {"right": 1, "judged": 1, "reads_left_out": 1}
    reads = judge(make.episode(make.step((get, "1")), actions=(pay,)))
    assert "all calls are reads" in reads.evidence["selection"]["left_out"]


def test_a_failed_gold_action_is_still_to_be_done(make):
    pay = make.call("pay", n=1)
    trajectory = make.episode(make.step((pay, "Error: busy")), make.step((pay, "ok")), actions=(pay,))
    assert judge(trajectory).evidence["selection"]["right"] == 2


@pytest.mark.parametrize(
    ("given", "known", "length", "expected", "source"),
    [
        ({"expected_steps": 2, "gold": 9}, {"median_steps": 1.0}, 4, 2, "task"),
        ({"gold": 1}, {"median_steps": 1.0}, 3, 1.5, "gold actions"),
        ({}, {"median_steps": 2.5}, 3, 2.5, "median of the task's successes"),
    ],
)
def test_length_compares_like_with_like(make, given, known, length, expected, source):
    # Three steps with a call and one without: four steps against the task's figure, three of the rest.
    actions = (make.call("get_x", n=0),) * given.pop("gold", 0)
    trajectory = make.episode(*calls(make, 3), make.step(thought="done"), actions=actions, **given)
    evidence = judge(trajectory, **known).evidence
    assert evidence["length"]["length"] == length
    assert evidence["length"]["expected"] == expected
    assert evidence["length"]["expected_from"] == source
    assert evidence["penalty"] == pytest.approx(0.05 * (length - expected))
    assert steps_with_calls(trajectory) == 3


def test_the_length_penalty_starts_late_and_is_bounded(make):
    # 0.05 a step beyond 4: none at 4, 0.05 at 5, and never more than 0.3 (reached at 10).
    values = [judge(make.episode(*calls(make, n), expected_steps=4)).value for n in (1, 4, 5, 10, 30)]
    assert values == pytest.approx([1.0, 1.0, 0.95, 0.7, 0.7])


def test_the_floor_is_zero(make):
    step = make.step((make.call("pay"), "Error"))
    assert judge(make.episode(*[step] * 20, expected_steps=1)).value == 0.0


def test_without_calls_it_depends_on_whether_one_was_needed(make):
    talk = make.step(thought="no")
    assert judge(make.episode(talk), correctness=1.0).value == 1.0
    assert judge(make.episode(talk, actions=(make.call("pay"),)), correctness=0.0).value == 0.0
    asked = Subgoal(subgoal_id="s", kind="called", name="pay")
    assert "a subgoal asks for one" in judge(make.episode(talk, subgoals=(asked,))).reason
    assert judge(make.episode(talk), correctness=0.0).abstained_because.endswith("whether one was needed is unknown")
    assert judge(make.episode(talk)).value is None
    assert judge(make.episode(answer=None, actions=(make.call("pay"),))).abstained_because == (
        "nothing was recorded: no steps"
    )


def test_the_shares_of_the_mean_are_settings(make):
    trajectory = make.episode(*calls(make, 3, repeated=1), tools=(make.tool("get_x", n={"type": "integer"}),))
    # validity 1, waste part 0.75; with shares 1 and 3: (1 + 3 * 0.75) / 4.
    assert judge(trajectory, EfficiencySettings(waste=3.0)).value == pytest.approx((1 + 2.25) / 4)
    assert judge(trajectory, EfficiencySettings(validity=0.0)).value == 0.75


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("selection", -1.0, "at least 0"),
        ("validity", -1.0, "at least 0"),
        ("waste", 0.0, "more than 0"),
        ("penalty_per_step", 1.5, r"in \[0, 1\]"),
        ("penalty_limit", -0.1, r"in \[0, 1\]"),
        ("gold_factor", 0.0, "more than 0"),
        ("success", 0.0, r"in \(0, 1\]"),
    ],
)
def test_settings_out_of_range_are_refused(name, value, allowed):
    with pytest.raises(ConfigError, match=rf"verifiers\.efficiency\.{name} is {value}; it must be {allowed}"):
        ToolEfficiency(CallReader(), EfficiencySettings(**{name: value}))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12), st.integers(1, 5))
def test_one_more_identical_call_never_helps(make, made, expected):
    steps = [make.step((make.call("get_x", n=n), f"Error {n}" if failed else f"result {n}")) for n, failed in made]
    shorter, longer = (judge(make.episode(*each, expected_steps=expected)) for each in (steps, [*steps, steps[-1]]))
    # Waste alone counts here: (w + 1) / (n + 1) is never less than w / n, and the length only grows.
    assert 0 <= longer.value <= shorter.value + 1e-12
    distinct = len({n for n, _ in made})
    repeats = len(made) - distinct
    assert shorter.evidence["waste"]["repeats"] == repeats
