"""Annotations: every answer one annotator gave, as given, one JSON object a line; nothing is overwritten.

Four kinds of question: the value of one step, the value of a whole trajectory, which of two trajectories of a
task agrees better with itself, and a ranking of several. What a dataset holds is derived from these by
`rmtrain.labels.aggregate`.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from rmtrain.trajectories.schema import Record

ANNOTATION_VERSION: Literal["rmtrain.annotation/1"] = "rmtrain.annotation/1"


class Answer(Record):
    """What every annotation carries. `dimension` names the head that learns from it.

    `role` is ``gold`` where the answer is an expert's or was agreed by people beforehand, and goes before all others.
    `given` is what was answered where that is no legal value, as it was; None where it was null.
    """

    schema_version: Literal["rmtrain.annotation/1"] = ANNOTATION_VERSION
    annotation_id: str
    annotator: str
    role: Literal["annotator", "gold"] = "annotator"
    dimension: str
    given: JsonValue = None
    reason: str = ""
    fault_codes: tuple[str, ...] = ()
    lead_time_s: float | None = Field(default=None, ge=0)


class StepLabel(Answer):
    """The value of one step: 0 serious error, 1 partly sound, 2 sound and efficient; None: no legal answer."""

    kind: Literal["step"] = "step"
    trajectory_id: str
    step_index: int = Field(ge=0)
    value: Literal[0, 1, 2] | None


class TrajectoryLabel(Answer):
    """The value in [0, 1] of a whole trajectory; None: no legal answer."""

    kind: Literal["trajectory"] = "trajectory"
    trajectory_id: str
    value: float | None = Field(ge=0, le=1)


class Comparison(Answer):
    """Which of two trajectories of one task is better in `dimension`; `confidence` applies to a side only."""

    kind: Literal["comparison"] = "comparison"
    task_id: str
    trajectory_a: str
    trajectory_b: str
    choice: Literal["A", "B", "tie", "cannot_judge"]
    confidence: Literal["clear", "slight"] | None = None


class Ranking(Answer):
    """Several trajectories of one task, best first; trajectories in one inner tuple are tied."""

    kind: Literal["ranking"] = "ranking"
    task_id: str
    order: tuple[tuple[str, ...], ...]


Annotation = StepLabel | TrajectoryLabel | Comparison | Ranking
ANNOTATION: TypeAdapter[Annotation] = TypeAdapter(Annotated[Annotation, Field(discriminator="kind")])
