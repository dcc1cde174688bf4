"""Small episodes, written down as they read: `make.episode(make.step((make.call("get"), "result")))`."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from rmtrain.trajectories.schema import (
    Call,
    Observation,
    Outcome,
    Reference,
    Source,
    Step,
    Subgoal,
    Task,
    Tool,
    Trajectory,
    make_trajectory,
)

settings.register_profile("no_deadline", deadline=None)  # a busy machine is no bug
settings.load_profile("no_deadline")


def call(tool: str, /, **arguments: Any) -> Call:
    return Call(name=tool, arguments=arguments)


def step(*pairs: tuple[Call, str | Observation | None], thought: str = "", **extra: Any) -> Step:
    """One step; each pair is a call and its result, None where none is recorded."""
    results = [result for _, result in pairs if result is not None]
    return Step(
        step_index=0,
        thought=thought,
        calls=tuple(each for each, _ in pairs),
        observations=tuple(Observation(content=each) if isinstance(each, str) else each for each in results),
        extra=extra,
    )


def episode(
    *steps: Step,
    answer: str | None = "done",
    tools: tuple[Tool, ...] = (),
    subgoals: tuple[Subgoal, ...] = (),
    actions: tuple[Call, ...] = (),
    answers: tuple[str, ...] = (),
    right_state: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
    reward: float | None = None,
    expected_steps: int | None = None,
    task_id: str = "t1",
    trial: int | None = None,
) -> Trajectory:
    return make_trajectory(
        task=Task(
            task_id=task_id,
            query="do it",
            tools=tools,
            subgoals=subgoals,
            reference=Reference(answers=answers, actions=actions, final_state=right_state),
            expected_steps=expected_steps,
        ),
        steps=tuple(each.model_copy(update={"step_index": index}) for index, each in enumerate(steps)),
        source=Source(format="test", trial=trial),
        answer=answer,
        outcome=Outcome(reward=reward, final_state=state),
    )


def tool(name: str, /, required: tuple[str, ...] = (), **properties: Any) -> Tool:
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name=name, parameters=parameters)


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    return SimpleNamespace(call=call, step=step, episode=episode, tool=tool)
