"""Two sources: where they differ, the standing of both is looked up and the final one counts."""

import pytest


def split(tasks):
    return [t for t in tasks if t.truth["a"] != t.truth["b"]], [t for t in tasks if t.truth["a"] == t.truth["b"]]


def test_both_kinds_occur_and_take_5_or_7_steps(family, play):
    differing, agreeing = split(family("contradiction"))
    assert differing
    assert agreeing
    assert {len(play(task)[0].steps) for task in differing} == {7}
    assert {len(play(task)[0].steps) for task in agreeing} == {5}


def test_the_final_source_has_the_answer(family):
    for task in family("contradiction"):
        final = [source for source, status in task.world.status.items() if status == "final"]
        assert len(final) == 1
        key = task.truth["key"]
        assert task.world.sources[final[0]][key][1] == task.truth[task.answer]
        assert all(source in task.task.query for source in task.world.sources)


@pytest.mark.parametrize("position", [4, 5])
def test_settling_needs_both_sources_first(position, family):
    differing, _ = split(family("contradiction"))
    for task in differing:
        assert task.moves[position].settles
        assert task.moves[position].requires == (2, 3)


def test_a_contradiction_is_remarked_on(family, play):
    differing, _ = split(family("contradiction"))
    for task in differing:
        thought = play(task)[0].steps[4].thought
        assert task.truth["a"] in thought
        assert task.truth["b"] in thought
