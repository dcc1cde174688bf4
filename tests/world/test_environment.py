"""The environment to step in: deterministic, bounded, and careful with its task and with wrong calls."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.config.world import WorldSettings
from rmtrain.trajectories.schema import Call
from rmtrain.world.environment import TOOLS, WRITES, Environment, evaluate
from rmtrain.world.simulate import make_task

PROMISE = make_task(WorldSettings(n_tasks=16, families=["promise"]), 0)
VALUES = st.sampled_from([*PROMISE.truth.values(), "nowhere", "houses", "rooms", ""])
CALLS = st.builds(
    Call,
    name=st.sampled_from([*TOOLS, "unknown"]),
    arguments=st.none()
    | st.dictionaries(
        st.sampled_from(["table", "name", "key", "room", "slot", "group", "to", "text", "x"]),
        VALUES | st.integers() | st.lists(VALUES, max_size=1),
        max_size=4,
    ),
)


def call(tool, /, **arguments):
    return Call(call_id="c", name=tool, arguments=arguments)


@pytest.fixture
def promise(family):
    """A task whose booking does not slip, and one whose does."""
    plain = next(task for task in family("promise") if not task.world.slips)
    slipping = next(task for task in family("promise") if task.world.slips)
    return plain, slipping


@settings(deadline=None, max_examples=60)
@given(st.lists(CALLS, max_size=20))
def test_equal_calls_give_equal_observations_and_leave_the_task_alone(calls):
    before = copy.deepcopy(PROMISE)
    environment, twin = Environment(PROMISE, seed=3), Environment(PROMISE, seed=3)
    first = [environment.step(each) for each in calls]
    assert [twin.step(each) for each in calls] == first
    assert twin.outcome("x") == environment.outcome("x")
    environment.reset()
    assert [environment.step(each) for each in calls] == first
    assert before == PROMISE


def test_solving_by_hand_reaches_the_reference(tasks):
    for task in tasks:
        environment = Environment(task)
        assert environment.reset() == task.task.query
        for action in task.task.reference.actions:
            assert environment.step(action).is_error is False
        wanted = task.task.reference.final_state or {"bookings": {}, "messages": []}
        answer = task.task.reference.answers[0]
        assert environment.outcome(answer).final_state == {**wanted, "answer": answer}
        assert environment.outcome().final_state == wanted


def test_what_is_handed_out_does_not_reach_the_world(promise):
    task, _ = promise
    environment = Environment(task)
    room = task.truth["room"]
    environment.step(call("reserve", room=room, slot="noon", group="g"))
    environment.state()["bookings"].clear()
    environment.outcome().final_state["bookings"][room]["noon"] = "another"
    look = call("get_record", table="rooms", key=room)
    record = dict(environment.act(look).fields)
    environment.act(look).fields.clear()
    assert environment.state()["bookings"] == {room: {"noon": "g"}}
    assert environment.step(call("list_bookings", room=room)).content == "slot: noon; group: g"
    assert environment.act(look).fields == record != {}


@pytest.mark.parametrize(
    "wrong",
    [
        call("fly", to="moon"),
        call("get_record", table="rooms"),
        call("get_record", table="rooms", key=["x"]),
        call("get_record", table="rooms", key="x", limit=3),
        call("get_record", table=None, key="x"),
        Call(call_id="c", name="get_record", raw_arguments="{"),
    ],
    ids=["unknown tool", "missing", "list", "extra", "null", "unparseable"],
)
def test_a_call_that_cannot_be_carried_out_is_an_error(wrong, promise):
    environment = Environment(promise[0])
    observation = environment.step(wrong)
    assert observation.is_error is True
    assert observation.call_id == "c"
    assert environment.n_calls == 1
    assert environment.state() == {"bookings": {}, "messages": []}


def test_what_is_not_there_is_a_result_and_no_error(promise):
    environment = Environment(promise[0])
    for absent in (
        call("find", table="rooms", name="nobody"),
        call("get_record", table="nowhere", key="x"),
        call("list_bookings", room="x"),
        call("reserve", room="x", slot="noon", group="g"),
    ):
        observation = environment.step(absent)
        assert observation.is_error is False
        assert {"nobody", "x"} & set(observation.content.replace(":", " ").split())
    assert environment.state()["bookings"] == {}


def test_an_episode_ends_after_its_calls(promise):
    task, _ = promise
    environment = Environment(task)
    look = call("list_bookings", room=task.truth["room"])
    for _ in range(task.max_steps):
        assert not environment.is_over
        assert environment.step(look).is_error is False
    assert environment.is_over
    assert environment.step(call("send_message", to="a", text="b")).is_error is True
    assert environment.state()["messages"] == []
    environment.reset()
    assert not environment.is_over


def test_a_group_holds_one_booking_and_a_slip_happens_once(promise):
    _, task = promise
    environment = Environment(task)
    room, slot, group = (task.truth[name] for name in ("room", "slot", "group"))
    book = call("reserve", room=room, slot=slot, group=group)
    environment.step(book)
    assert environment.state()["bookings"] == {room: {task.truth["seen"]: group}}
    assert task.truth["seen"] != slot
    environment.step(book)
    assert environment.state()["bookings"] == {room: {slot: group}}


def test_writes_are_the_tools_that_change_the_state(promise):
    task, _ = promise
    values = {"room": task.truth["room"], "key": task.truth["room"], "table": "rooms"}
    changed = set()
    for tool in task.task.tools:
        environment = Environment(task)
        arguments = {name: values.get(name, "x") for name in tool.parameters["required"]}
        environment.step(Call(name=tool.name, arguments=arguments))
        if environment.state() != Environment(task).state():
            changed.add(tool.name)
    assert changed == set(WRITES)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3 * 37 + 2 * 52", 215),  # 111 + 104
        ("7", 7),
        ("2*3*4", 24),
        ("", None),
        ("2 - 1", None),
        ("2 * ", None),
        ("1.5 + 1", None),
        ("__import__('os')", None),
        ("9999999999", None),
        (" * ".join(["999999999"] * 600), None),
    ],
)
def test_expressions(expression, value):
    assert evaluate(expression) == value
