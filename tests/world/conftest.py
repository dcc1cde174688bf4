"""Tasks of all families and splits, and a way to act out a script in one."""

from collections.abc import Callable

import pytest

from rmtrain.config.world import WorldSettings
from rmtrain.trajectories.schema import Trajectory
from rmtrain.world.episode import run_episode
from rmtrain.world.policies import Fault, Script
from rmtrain.world.simulate import TaskRecord, make_task, simulate
from rmtrain.world.tasks import WorldTask
from rmtrain.world.truth import Truth

Play = Callable[..., tuple[Trajectory, Truth]]


@pytest.fixture(scope="session")
def tasks() -> list[WorldTask]:
    """Sixteen tasks of each family, over four seeds and all splits."""
    return [make_task(WorldSettings(n_tasks=16, seed=seed), index) for seed in range(4) for index in range(16)]


@pytest.fixture(scope="session")
def family(tasks: list[WorldTask]) -> Callable[[str], list[WorldTask]]:
    return lambda name: [task for task in tasks if task.task.family == name]


@pytest.fixture(scope="session")
def records() -> list[TaskRecord]:
    """A corpus of 60 tasks with four rollouts each."""
    return list(simulate(WorldSettings(n_tasks=60)))


@pytest.fixture(scope="session")
def play() -> Play:
    """`play(task, {0: "repeat"})`: one episode with these faults; without any it is the expert's."""

    def act(task: WorldTask, faults: dict[int, Fault] | None = None, corrects: bool = False, trial: int = 0):
        return run_episode(task, Script("test", faults or {}, corrects), trial, seed=0)

    return act
