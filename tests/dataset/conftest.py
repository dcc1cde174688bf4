"""Small episodes with their labels, written down as they are meant."""

from collections.abc import Callable

import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.trajectories.schema import Call, Observation, Source, Split, Step, Task, Trajectory, make_trajectory
from rmtrain.verifiers.base import Verdict


@pytest.fixture
def heads() -> dict[str, HeadSettings]:
    return {
        "correctness": HeadSettings(),
        "step_quality": HeadSettings(level="step", objective="ordinal"),
        "consistency": HeadSettings(objective="bradley_terry"),
    }


@pytest.fixture(scope="session")
def episode() -> Callable[..., Trajectory]:
    """`episode("task", trial, n_steps, split)`: a trajectory whose steps call and see something."""

    def make(task_id: str = "k", trial: int = 0, n_steps: int = 2, split: Split | None = None) -> Trajectory:
        steps = tuple(
            Step(
                step_index=i,
                thought=f"thought {i}",
                calls=(Call(call_id=f"c{i}", name="look", arguments={"at": i}),),
                observations=(Observation(call_id=f"c{i}", content="ok", is_error=False),),
            )
            for i in range(n_steps)
        )
        source = Source(format="test", trial=trial, split=split, policy="expert")
        return make_trajectory(task=Task(task_id=task_id, query="Look.", family="f"), steps=steps, source=source)

    return make


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """`verdict(trajectory, 0.5)`; without a value it abstains."""

    def make(
        trajectory: Trajectory,
        value: float | None = None,
        dimension: str | None = "correctness",
        step_index: int | None = None,
    ) -> Verdict:
        return Verdict(
            verifier="rule",
            version=1,
            trajectory_id=trajectory.trajectory_id,
            dimension=dimension,
            step_index=step_index,
            value=value,
            abstained_because=None if value is not None else "no reference",
        )

    return make
