"""Verifier and verdict: a rule looks at a trajectory and gives values in [0, 1], each with its reason.

A verifier that cannot decide abstains and says why. An abstention is never a zero: a reward that
confuses the two teaches the policy to trigger it. In every verdict 1 is the good side.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field, model_validator

from rmtrain.trajectories.schema import Record, Trajectory

VERDICT_VERSION: Final = "rmtrain.verdict/1"


class Verdict(Record):
    """What one verifier says about one trajectory, step or call.

    Attributes:
        verifier: name of the rule.
        version: version of the rule; raise it when its verdicts change.
        trajectory_id: the subject's trajectory.
        step_index: the step, None for a verdict on the whole trajectory.
        call_index: position of the call inside the step, None for a verdict on the step or trajectory.
        dimension: the dimension this verdict is a label for, None for a fact that only feeds another verdict.
        value: in [0, 1], None exactly when the verifier abstains.
        abstained_because: the reason of an abstention, None exactly when there is a value.
        reason: one sentence for a reader.
        evidence: the facts the value rests on, JSON.
    """

    schema_version: Literal["rmtrain.verdict/1"] = VERDICT_VERSION
    verifier: str
    version: int = Field(ge=1)
    trajectory_id: str
    step_index: int | None = Field(default=None, ge=0)
    call_index: int | None = Field(default=None, ge=0)
    dimension: str | None = None
    value: float | None = Field(default=None, ge=0, le=1)
    abstained_because: str | None = None
    reason: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _value_or_abstention(self) -> "Verdict":
        if (self.value is None) == (self.abstained_because is None):
            raise ValueError("a verdict has either a value or abstained_because")
        return self


@runtime_checkable
class Verifier(Protocol):
    """A rule. It must not change the trajectory, and returns the same verdicts for the same input."""

    name: str
    version: int

    def verify(self, trajectory: Trajectory) -> Iterable[Verdict]:
        """Every verdict of this rule on `trajectory`, in order of step and call."""
        ...


def decided(
    rule: Verifier,
    trajectory: Trajectory,
    value: float,
    reason: str,
    *,
    dimension: str | None = None,
    evidence: dict[str, Any] | None = None,
) -> Verdict:
    """The verdict of `rule` on the whole trajectory: `value` in [0, 1] and the sentence that explains it."""
    return Verdict(
        verifier=rule.name,
        version=rule.version,
        trajectory_id=trajectory.trajectory_id,
        dimension=dimension,
        value=value,
        reason=reason,
        evidence=evidence or {},
    )


def abstained(
    rule: Verifier,
    trajectory: Trajectory,
    because: str,
    *,
    dimension: str | None = None,
    evidence: dict[str, Any] | None = None,
) -> Verdict:
    """The abstention of `rule` on the whole trajectory, with its reason."""
    return Verdict(
        verifier=rule.name,
        version=rule.version,
        trajectory_id=trajectory.trajectory_id,
        dimension=dimension,
        abstained_because=because,
        evidence=evidence or {},
    )
