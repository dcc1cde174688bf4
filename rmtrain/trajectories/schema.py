"""The trajectory: one recorded episode of an agent, immutable, one JSON object a line on disk.

The unit that is judged is the *step*: one agent action (its message and tool calls) plus the
observations it produced. A user turn in the middle is context of the step after it, never a step,
because nobody should credit or blame the agent for what a user said.
"""

import hashlib
import json
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION: Final = "rmtrain.trajectory/1"

Split = Literal["train", "validation", "calibration", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "calibration", "test")


class Record(BaseModel):
    """A frozen row: unknown fields are refused, so that a misspelt one is never lost in silence, and so are
    NaN and infinity: a value that is absent is None."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Tool(Record):
    """A tool the agent could call. `parameters` is a JSON Schema of the arguments object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})


class Call(Record):
    """One tool call. `arguments` is None exactly when the text could not be parsed; then `raw_arguments` holds it."""

    call_id: str | None = None
    name: str
    arguments: dict[str, Any] | None = None
    raw_arguments: str | None = None


class Observation(Record):
    """What a call returned. `is_error` is None where the log does not say whether the call failed."""

    call_id: str | None = None
    content: str
    is_error: bool | None = None


class Message(Record):
    """A turn that is not the agent's: context of the step that follows it."""

    role: str
    content: str


class Step(Record):
    """One agent action and what came of it; `context` is what others said just before it."""

    step_index: int = Field(ge=0)
    context: tuple[Message, ...] = ()
    thought: str = ""
    calls: tuple[Call, ...] = ()
    observations: tuple[Observation, ...] = ()
    action_type: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class Subgoal(Record):
    """One requirement of a task, decidable by rule.

    `kind` says what is looked at: ``answer`` (the final answer contains `value`), ``observed`` (some
    observation contains `value`), ``called`` (a call to tool `name` whose arguments include
    `arguments` returned without error), ``state`` (the final state holds `value` at dotted path `name`).
    `requires` lists subgoals that must be met for this one to count in the reading with prerequisites.
    """

    subgoal_id: str
    description: str = ""
    kind: Literal["answer", "observed", "called", "state"]
    name: str | None = None
    value: Any = None
    arguments: dict[str, Any] | None = None
    requires: tuple[str, ...] = ()


class Reference(Record):
    """What a right solution looks like; an empty field means that this kind of reference is absent."""

    answers: tuple[str, ...] = ()
    actions: tuple[Call, ...] = ()
    final_state: dict[str, Any] | None = None


class Task(Record):
    """The problem the agent was given. `task_id` groups trajectories and defines every split."""

    task_id: str
    query: str
    family: str | None = None
    context: str = ""
    tools: tuple[Tool, ...] = ()
    reference: Reference | None = None
    subgoals: tuple[Subgoal, ...] = ()
    expected_steps: int | None = Field(default=None, ge=1)


class Outcome(Record):
    """What the environment said at the end. `reward` is the source's own, None where it gave none."""

    reward: float | None = None
    final_state: dict[str, Any] | None = None


class Source(Record):
    """Where a trajectory comes from: its file, the line its row starts on and, where one line may hold many
    rows, the row's position from 1. `split` is set where the source declares one."""

    format: str
    file: str | None = None
    line: int | None = Field(default=None, ge=1)
    row: int | None = Field(default=None, ge=1)
    trial: int | None = None
    policy: str | None = None
    temperature: float | None = None
    seed: int | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    split: Split | None = None


class Trajectory(Record):
    """One recorded episode: task, ordered steps, answer, outcome. `extra` keeps what had no place."""

    schema_version: Literal["rmtrain.trajectory/1"] = SCHEMA_VERSION
    trajectory_id: str
    task: Task
    steps: tuple[Step, ...]
    answer: str | None = None
    outcome: Outcome = Outcome()
    source: Source
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _steps_in_order(self) -> "Trajectory":
        for position, step in enumerate(self.steps):
            if step.step_index != position:
                raise ValueError(f"step {position} has step_index {step.step_index}; steps count from 0 in order")
        return self


def make_trajectory(
    *,
    task: Task,
    steps: tuple[Step, ...],
    source: Source,
    answer: str | None = None,
    outcome: Outcome | None = None,
    extra: dict[str, Any] | None = None,
) -> Trajectory:
    """Build a trajectory whose id is the hash of its content, trial, seed and place in its source file.

    Two trials of one task with equal contents keep two ids: repeated trials are data.

    Returns:
        The trajectory; `trajectory_id` is 16 hexadecimal digits.
    """
    content = {
        "task_id": task.task_id,
        "query": task.query,
        "steps": [step.model_dump(mode="json") for step in steps],
        "answer": answer,
        "trial": source.trial,
        "seed": source.seed,
        "line": source.line,
        "row": source.row,
    }
    return Trajectory(
        trajectory_id=digest(content)[:16],
        task=task,
        steps=steps,
        answer=answer,
        outcome=outcome or Outcome(),
        source=source,
        extra=extra or {},
    )


def call_key(call: Call) -> str:
    """A key that two calls share exactly when tool and arguments are equal, whatever the order of the arguments."""
    return digest([call.name, call.arguments, call.raw_arguments if call.arguments is None else None])


def digest(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of `value` (sorted keys, no spaces, UTF-8)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
