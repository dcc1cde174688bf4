"""A booking with a promised check: where it slipped, booking again is part of the way."""

from rmtrain.world.environment import Environment


def test_both_kinds_occur_and_take_6_or_7_steps(family, play):
    lengths = {bool(task.world.slips): set() for task in family("promise")}
    for task in family("promise"):
        lengths[bool(task.world.slips)].add(len(play(task)[0].steps))
    assert lengths == {False: {6}, True: {7}}


def test_the_expert_leaves_the_state_that_was_asked_for(family, play):
    for task in family("promise"):
        trajectory, _ = play(task)
        assert trajectory.outcome.final_state == task.task.reference.final_state
        assert trajectory.answer == task.truth["room"]


def test_the_plan_announces_the_check(family, play):
    for task in family("promise"):
        assert [move.tool for move in task.moves if move.promised] == ["list_bookings"]
        assert "check the booking" in play(task)[0].steps[0].thought


def test_a_slip_shows_in_the_check(family):
    for task in family("promise"):
        environment = Environment(task)
        seen = [environment.act(action).fields for action in task.task.reference.actions[:4]][-1]
        assert (seen["slot"] != task.truth["slot"]) == bool(task.world.slips)
        assert seen["slot"] == task.truth["seen"]
