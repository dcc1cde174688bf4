"""An expert is perfect in every dimension; each fault lowers what it should and nothing else."""

from random import Random

import pytest

from rmtrain.trajectories.render import render
from rmtrain.world.environment import WRITES, Environment
from rmtrain.world.policies import POLICIES


def places(task, fault):
    """Every single place at which a fault can happen."""
    found = {
        "skips_check": [i for i, move in enumerate(task.moves) if move.promised],
        "overlooks": [i for i, move in enumerate(task.moves) if move.settles][:1],
        "ignores_observation": [i for i, move in enumerate(task.moves) if move.requires],
        "gives_up": list(range(1, len(task.moves))),
        "roundabout": list(range(1, len(task.moves))),
    }
    return found.get(fault, list(range(len(task.moves))))


def test_the_expert_is_perfect(tasks, play):
    for task in tasks:
        trajectory, truth = play(task)
        assert truth.correctness == 1.0
        assert truth.tool_efficiency == 1.0
        assert truth.consistency == 0.0
        assert set(truth.step_quality) == {2}
        assert set(truth.faults) == {None}
        assert len(trajectory.steps) == len(truth.step_quality) == len(task.moves) + 1
        assert trajectory.answer == task.task.reference.answers[0]


@pytest.mark.parametrize("fault", ["repeat", "roundabout", "invalid_arguments", "wrong_tool"])
def test_waste_costs_efficiency_and_step_quality_only(fault, tasks, play):
    for task in tasks:
        for index in places(task, fault):
            trajectory, truth = play(task, {index: fault})
            assert truth.tool_efficiency < 1.0
            assert min(truth.step_quality) == 1
            assert truth.correctness == 1.0
            assert truth.consistency == 0.0
            assert fault in truth.faults
            slip_mended = fault == "repeat" and task.world.slips and task.moves[index].tool == "reserve"
            assert len(trajectory.steps) > len(task.moves) + (not slip_mended)


@pytest.mark.parametrize("fault", ["announces_other", "ignores_observation", "fabricates"])
def test_a_wrong_turn_costs_consistency_and_correctness(fault, tasks, play):
    n = 0
    for task in tasks:
        for index in places(task, fault):
            _, truth = play(task, {index: fault})
            assert truth.consistency <= -1.0
            assert min(truth.step_quality) == 0
            assert fault in truth.faults
            if task.moves[index].counts:
                assert truth.correctness < 1.0
                n += 1
    assert n >= 100


def test_a_fabricated_answer_costs_the_answer_alone(tasks, play):
    for task in tasks:
        trajectory, truth = play(task, {len(task.moves): "fabricates"})
        n = len(task.task.subgoals)
        assert truth.correctness == pytest.approx((n - 1) / n)
        assert truth.step_quality == (2,) * len(task.moves) + (0,)
        assert truth.tool_efficiency == 1.0
        assert truth.consistency < 0
        assert trajectory.answer not in task.task.reference.answers


@pytest.mark.parametrize("fault", ["skips_check", "overlooks"])
def test_what_is_passed_over_is_blamed_on_the_step_after_it(fault, tasks, play):
    n = 0
    for task in tasks:
        for index in places(task, fault):
            trajectory, truth = play(task, {index: fault})
            assert truth.consistency < 0
            assert truth.faults[index] == fault
            assert truth.step_quality[index] == (0 if fault == "overlooks" else 1)
            assert truth.faults.count(fault) == 1
            assert len(trajectory.steps) < len(task.moves) + 1
            n += 1
    assert n >= 8


def test_giving_up_costs_correctness_and_consistency(tasks, play):
    admitted = 0
    for task in tasks:
        for index in places(task, "gives_up"):
            trajectory, truth = play(task, {index: "gives_up"})
            assert truth.correctness < 1.0
            assert truth.consistency < 0
            assert len(trajectory.steps) == index + 1
            assert truth.step_quality[-1] == (1 if trajectory.answer is None else 0)
            admitted += trajectory.answer is None
    assert admitted > 20


def test_who_corrects_himself_ends_correct_and_pays_half(tasks, play):
    n = 0
    for number, task in enumerate(tasks):
        script = POLICIES["corrects_itself"](Random(number), task)
        _, truth = play(task, script.faults, corrects=True)
        assert truth.correctness == 1.0
        assert truth.consistency == pytest.approx(-0.5 * len(script.faults))
        assert truth.step_quality.count(0) == len(script.faults)
        n += len(script.faults)
    assert n >= len(tasks)


def test_the_limit_of_calls_ends_an_episode(tasks, play):
    for task in tasks[:16]:
        trajectory, truth = play(task, dict.fromkeys(range(len(task.moves)), "repeat"))
        assert sum(len(step.calls) for step in trajectory.steps) <= task.max_steps
        assert len(truth.step_quality) == len(trajectory.steps)


def test_what_was_recorded_is_what_the_environment_says(records):
    for record in records:
        for trajectory in record.trajectories:
            seen = [step.observations[0] for step in trajectory.steps if step.calls]
            assert [o.call_id for o in seen] == [step.calls[0].call_id for step in trajectory.steps if step.calls]
            environment = Environment(record.world_task)  # of another seed, so errors are worded otherwise
            results = [environment.act(step.calls[0]) for step in trajectory.steps if step.calls]
            assert [result.observation.is_error for result in results] == [o.is_error for o in seen]
            for result, observation in zip(results, seen, strict=True):
                assert not result.fields or result.observation == observation
            assert environment.outcome() == trajectory.outcome


def test_writes_carry_the_state_before_and_after(records):
    for record in records:
        for trajectory in record.trajectories:
            state = {"bookings": {}, "messages": []}
            for step in trajectory.steps:
                if step.calls and step.calls[0].name in WRITES:
                    assert step.extra["state_before"] == state
                    state = step.extra["state_after"]
                else:
                    assert not step.extra
            assert state == trajectory.outcome.final_state


def test_the_text_gives_nothing_away(records):
    """Neither the policy, nor a fault's name, nor the reference is rendered."""
    words = (
        "announces_other",
        "ignores_observation",
        "fabricates",
        "skips_check",
        "gives_up",
        "move-0",
        "expected_steps",
    )
    for record in records:
        for trajectory in record.trajectories:
            text = render(trajectory).text
            assert not any(word in text for word in words)


def test_equal_arguments_give_equal_episodes_and_trials_differ(tasks, play):
    for task in tasks[:8]:
        assert play(task, {0: "repeat"}) == play(task, {0: "repeat"})
        one, other = play(task)[0], play(task, trial=1)[0]
        assert one.trajectory_id != other.trajectory_id
