"""What is true of an episode in every dimension, by the world's own bookkeeping.

The rules of `rmtrain.verifiers` are not consulted: where they and this disagree, they are wrong.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from rmtrain.trajectories.schema import Record

TRUTH_VERSION: Literal["rmtrain.truth/1"] = "rmtrain.truth/1"

SEVERITY: dict[str, float] = {
    "announces_other": 1.0,
    "fabricates": 1.0,
    "ignores_observation": 1.0,
    "skips_check": 1.0,
    "overlooks": 1.2,
    "gives_up": 0.4,
}
REPAIRED = 0.5


@dataclass(frozen=True)
class StepTruth:
    """What is true of one step.

    Attributes:
        quality: 0 serious error, 1 partly sound, 2 sound and efficient, given what was known then.
        fault: what went wrong, None if nothing.
        n_calls: calls in the step.
        is_right_tool: the call's tool was right at that point; None without a call.
        is_valid: its arguments satisfied the schema; None without a call.
        is_wasted: it achieved nothing.
        is_repaired: the agent saw the fault and mended it in the next step.
    """

    quality: Literal[0, 1, 2]
    fault: str | None = None
    n_calls: int = 1
    is_right_tool: bool | None = True
    is_valid: bool | None = True
    is_wasted: bool = False
    is_repaired: bool = False


class Truth(Record):
    """The true values of one trajectory.

    Attributes:
        correctness: share of the task's requirements met, each only if what it requires is met, in [0, 1].
        tool_efficiency: mean of right tools, valid arguments and 1 - waste over the calls, less 0.05 for each
            step beyond the expected number (0.3 at most), in [0, 1]; None without any call.
        consistency: minus the summed severity of its inconsistencies, in logits before scaling, <= 0.
        step_quality: 0, 1 or 2 per step.
        faults: per step, what went wrong.
    """

    schema_version: Literal["rmtrain.truth/1"] = TRUTH_VERSION
    trajectory_id: str
    correctness: float = Field(ge=0, le=1)
    tool_efficiency: float | None = Field(ge=0, le=1)
    consistency: float = Field(le=0)
    step_quality: tuple[Literal[0, 1, 2], ...]
    faults: tuple[str | None, ...]


def judge(trajectory_id: str, steps: list[StepTruth], n_met: int, n_subgoals: int, expected_steps: int) -> Truth:
    """The true values of an episode.

    Args:
        trajectory_id: whose values.
        steps: the truth of each step, in order.
        n_met: requirements met, prerequisites counted.
        n_subgoals: requirements of the task.
        expected_steps: steps of a shortest solution, the answer included.
    """
    calls = [step for step in steps if step.n_calls]
    efficiency = None
    if calls:
        parts = (
            sum(bool(step.is_right_tool) for step in calls) / len(calls),
            sum(bool(step.is_valid) for step in calls) / len(calls),
            1 - sum(step.is_wasted for step in calls) / len(calls),
        )
        over = max(0, len(steps) - expected_steps)
        efficiency = max(0.0, sum(parts) / len(parts) - min(0.3, 0.05 * over))
    faults = [(step.fault, REPAIRED if step.is_repaired else 1.0) for step in steps if step.fault]
    return Truth(
        trajectory_id=trajectory_id,
        correctness=n_met / n_subgoals,
        tool_efficiency=efficiency,
        consistency=-sum(SEVERITY.get(fault, 0.0) * share for fault, share in faults if fault),
        step_quality=tuple(step.quality for step in steps),
        faults=tuple(step.fault for step in steps),
    )
