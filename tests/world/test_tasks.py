"""The public form of a task follows from its true moves."""

import pytest

from rmtrain.world.tasks import Move, fill, public_task

MOVES = (
    Move("find", {"name": "{name}"}, "find", {}, "name", ()),
    Move("get_record", {"key": "{key}"}, "open", {}, "key", (), requires=(0,)),
    Move("reserve", {"room": "{room}"}, "reserve", {}, "room", (), requires=(1,), counts=False),
)
TRUTH = {"name": "anna falcon", "key": "river-12", "room": "oak-30"}


def public(moves=MOVES):
    return public_task(
        task_id="t",
        family="lookup",
        query="?",
        moves=moves,
        truth=TRUTH,
        answer="room",
        tools=(),
        final_state=None,
    )


def test_templates_are_filled_from_beliefs():
    assert fill({"to": "{name}", "text": "{key} at noon"}, TRUTH) == {"to": "anna falcon", "text": "river-12 at noon"}
    with pytest.raises(KeyError, match="slot"):
        fill({"slot": "{slot}"}, TRUTH)


def test_moves_that_count_become_subgoals_with_their_prerequisites():
    task = public()
    assert [(s.subgoal_id, s.kind, s.name, s.arguments, s.requires) for s in task.subgoals] == [
        ("move-0", "called", "find", {"name": "anna falcon"}, ()),
        ("move-1", "called", "get_record", {"key": "river-12"}, ("move-0",)),
        ("answer", "answer", None, None, ("move-1",)),  # the last move that counts
    ]
    assert task.subgoals[-1].value == "oak-30"


def test_the_reference_holds_every_move_and_the_answer():
    task = public()
    assert [(call.name, call.arguments) for call in task.reference.actions] == [
        ("find", {"name": "anna falcon"}),
        ("get_record", {"key": "river-12"}),
        ("reserve", {"room": "oak-30"}),
    ]
    assert task.reference.answers == ("oak-30",)
    assert task.expected_steps == 4  # three moves and the answer


def test_real_tasks_have_sound_prerequisites_and_every_belief(tasks):
    for world_task in tasks:
        task = world_task.task
        ids = [subgoal.subgoal_id for subgoal in task.subgoals]
        for position, subgoal in enumerate(task.subgoals):
            assert set(subgoal.requires) <= set(ids[:position]), task.task_id
        assert any(subgoal.requires for subgoal in task.subgoals[:-1])
        for move in world_task.moves:
            fill(move.arguments, world_task.truth)
            fill(move.slots, world_task.truth)
            assert move.pivot in move.arguments
        assert world_task.truth[world_task.answer] not in world_task.wrong_answers
        assert {move.tool for move in world_task.moves} <= {tool.name for tool in task.tools}
