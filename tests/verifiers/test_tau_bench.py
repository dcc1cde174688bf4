"""The published facts of tau-bench's airline trajectories, counted again by the rules."""

import json
from functools import cache
from pathlib import Path

import pytest

from rmtrain.trajectories.schema import (
    Call,
    Observation,
    Outcome,
    Reference,
    Source,
    Step,
    Task,
    Tool,
    Trajectory,
    digest,
    make_trajectory,
)
from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.verifiers.summary import VerdictSummary


@cache
def airline(folder: Path) -> tuple[Trajectory, ...]:
    """The 200 trajectories, read minimally: assistant messages are steps, tool messages their observations."""
    declared = json.loads((folder / "tau-bench/schemas/airline_tools.json").read_text())
    tools = tuple(Tool(**tool["function"]) for tool in declared)
    records = json.loads((folder / "tau-bench/gpt-4o-airline.json").read_text())
    return tuple(_trajectory(record, tools, line) for line, record in enumerate(records, start=1))


def _trajectory(record: dict, tools: tuple[Tool, ...], line: int) -> Trajectory:
    steps: list[Step] = []
    for message in record["traj"]:
        if message["role"] == "assistant":
            functions = [call["function"] for call in message.get("tool_calls") or ()]
            calls = tuple(Call(name=each["name"], arguments=json.loads(each["arguments"])) for each in functions)
            steps.append(Step(step_index=len(steps), thought=message["content"] or "", calls=calls))
        elif message["role"] == "tool":
            observation = Observation(content=message["content"])
            steps[-1] = steps[-1].model_copy(update={"observations": (*steps[-1].observations, observation)})
    described = record["info"]["task"]
    actions = tuple(Call(name=each["name"], arguments=each["kwargs"]) for each in described["actions"])
    task = Task(
        task_id=f"airline-{record['task_id']}",
        query=described["instruction"],
        tools=tools,
        reference=Reference(actions=actions),
    )
    source = Source(format="tau-bench", line=line, trial=record["trial"])
    return make_trajectory(task=task, steps=tuple(steps), source=source, outcome=Outcome(reward=record["reward"]))


@pytest.fixture(scope="module")
def trajectories(real_data: Path) -> tuple[Trajectory, ...]:
    return airline(real_data)


def test_counts_are_the_published_ones(trajectories, real_data):
    # shared/data/tau-bench/README.md: 1164 calls, all known and schema-valid, 32 exact repeats. It says 72 errors;
    # the file holds 73 tool messages that start with "Error", counted here without our code.
    records = json.loads((real_data / "tau-bench/gpt-4o-airline.json").read_text())
    messages = [message for record in records for message in record["traj"] if message["role"] == "tool"]
    errors = sum(message["content"].startswith("Error") for message in messages)
    summary = VerdictSummary()
    before = digest([each.model_dump(mode="json") for each in trajectories])
    for verdicts in VerifierSuite().verify_corpus(trajectories):
        summary.add(verdicts)
    totals = summary.totals
    assert summary.trajectories == 200
    assert totals["calls"] == totals["known_tools"] == totals["schema_valid"] == 1164
    assert totals["exact_repeats"] == 32
    assert totals["error_results"] == errors == 73
    assert digest([each.model_dump(mode="json") for each in trajectories]) == before
