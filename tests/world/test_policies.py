"""Policies put faults where they make sense, and a task's rollouts come from different policies."""

from random import Random
from typing import get_args

import pytest

from rmtrain.world.policies import POLICIES, SHARES, Fault, write_script


@pytest.mark.parametrize("policy", POLICIES)
def test_faults_stand_where_they_can_happen(policy, tasks):
    rng = Random(0)
    for task in tasks:
        script = POLICIES[policy](rng, task)
        assert script.policy == policy
        for index, fault in script.faults.items():
            assert fault in get_args(Fault)
            assert 0 <= index <= len(task.moves)
            if index == len(task.moves):
                assert fault == "fabricates"
            elif fault == "skips_check":
                assert task.moves[index].promised
            elif fault == "overlooks":
                assert task.moves[index].settles
            elif fault in ("fabricates", "ignores_observation"):
                assert task.moves[index].requires


def test_the_expert_errs_nowhere_and_only_some_correct_themselves(tasks):
    rng = Random(0)
    assert not any(POLICIES["expert"](rng, task).faults for task in tasks)
    corrects = {name: {POLICIES[name](rng, task).corrects for task in tasks} for name in POLICIES}
    assert corrects.pop("corrects_itself") == {True}
    assert corrects.pop("mixture") == {True, False}
    assert set().union(*corrects.values()) == {False}


def test_mixtures_draw_several_faults(tasks):
    rng = Random(0)
    counts = [len(set(POLICIES["mixture"](rng, task).faults.values())) for task in tasks]
    assert max(counts) >= 3
    assert sum(count >= 2 for count in counts) > len(counts) / 2


def test_of_a_tasks_rollouts_only_mixtures_share_a_policy(tasks):
    assert set(SHARES) == set(POLICIES)
    seen: set[str] = set()
    for number, task in enumerate(tasks):
        rng, taken = Random(number), list[str]()
        for _ in range(6):
            taken.append(write_script(rng, task, set(taken)).policy)
        own = [name for name in taken if name != "mixture"]
        assert len(set(own)) == len(own)
        seen |= set(taken)
    assert seen == set(POLICIES)


def test_equal_seeds_write_equal_scripts(tasks):
    for task in tasks:
        assert write_script(Random(5), task, set()) == write_script(Random(5), task, set())
