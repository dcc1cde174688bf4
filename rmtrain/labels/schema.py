"""Annotations: every answer one annotator gave, as given, one JSON object a line; nothing is overwritten.

Three kinds of question: the value of one step, which of two trajectories of a task agrees better with
itself, and a ranking of several. What a dataset holds is derived from these by `rmtrain.labels.aggregate`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from rmtrain.trajectories.schema import Record

ANNOTATION_VERSION: Literal["rmtrain.annotation/1"] = "rmtrain.annotation/1"


class Answer(Record):
    """What every annotation carries. `dimension` names the head that learns from it."""

    schema_version: Literal["rmtrain.annotation/1"] = ANNOTATION_VERSION
    annotation_id: str
    annotator: str
    dimension: str
    reason: str = ""
    fault_codes: tuple[str, ...] = ()
    lead_time_s: float | None = Field(default=None, ge=0)


class StepLabel(Answer):
    """The value of one step: 0 serious error, 1 partly sound, 2 sound and efficient."""

    kind: Literal["step"] = "step"
    trajectory_id: str
    step_index: int = Field(ge=0)
    value: Literal[0, 1, 2]


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


Annotation = Annotated[StepLabel | Comparison | Ranking, Field(discriminator="kind")]
ANNOTATION: TypeAdapter[StepLabel | Comparison | Ranking] = TypeAdapter(Annotation)
