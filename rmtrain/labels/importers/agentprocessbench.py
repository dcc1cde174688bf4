"""Labels of AgentProcessBench: -1, 0 or 1 for every assistant message and for the result, by people or by a rater.

What people agreed on is gold; a row with ``rater`` is one annotator of that name. Missing labels stay missing, a
null or another value is kept as it was given. The label of the result is one of correctness: 0, 0.5 or 1.
"""

from collections.abc import Iterator
from typing import Any, Literal

from rmtrain.errors import DataError
from rmtrain.labels.importers.base import Place
from rmtrain.labels.schema import Annotation, StepLabel, TrajectoryLabel
from rmtrain.trajectories.importers.agentprocessbench import AgentProcessBench
from rmtrain.trajectories.schema import Trajectory, digest

PEOPLE = "people"
VALUES: dict[int, Literal[0, 1, 2]] = {-1: 0, 0: 1, 1: 2}


class AgentProcessBenchLabels:
    """Importer of gold labels, of ratings by models, and of the labels in files of trajectories."""

    name = AgentProcessBench.name

    def signs(self, payload: Any) -> str | None:
        if not isinstance(payload, dict) or not {"step_labels", "query_index", "sample_index"} <= payload.keys():
            return None
        return "'step_labels', 'query_index' and 'sample_index'"

    def record_of(self, trajectory: Trajectory) -> str | None:
        is_ours = trajectory.source.format == self.name
        return f"{trajectory.task.task_id}:{trajectory.source.trial}" if is_ours else None

    def record(self, payload: Any) -> str:
        if self.signs(payload) is None:
            raise DataError("it holds no labels of AgentProcessBench: it lacks step_labels or its indices")
        given = payload.get("record_id")
        if isinstance(given, str):
            return given
        source = payload.get("data_source")
        domain = source if isinstance(source, str) else AgentProcessBench.name
        return f"{domain}:{payload['query_index']}:{payload['sample_index']}"

    def messages(self, payload: Any) -> list[int]:
        labels = payload["step_labels"]
        if not isinstance(labels, dict):
            raise DataError("its step_labels are no object of labels by message index")
        if odd := [key for key in labels if not (key.isascii() and key.isdigit())]:
            raise DataError(f"its step_labels speak of message {odd[0]!r}, which is no index")
        return [int(key) for key in labels]

    def annotations(self, payload: Any, place: Place) -> Iterator[Annotation]:
        rater = payload.get("rater")
        annotator = rater if isinstance(rater, str) else PEOPLE
        role: Literal["annotator", "gold"] = "annotator" if isinstance(rater, str) else "gold"
        record = self.record(payload)
        for message, given in zip(self.messages(payload), payload["step_labels"].values(), strict=True):
            if message not in place.steps:
                raise DataError(f"record '{record}': message {message} is no step of '{place.trajectory_id}'")
            value = _legal(given)
            yield StepLabel(
                annotation_id=_id(annotator, record, message),
                annotator=annotator,
                role=role,
                dimension="step_quality",
                trajectory_id=place.trajectory_id,
                step_index=place.steps[message],
                value=value,
                given=given if value is None else None,
            )
        if "final_label" in payload:
            given, value = payload["final_label"], _legal(payload["final_label"])
            yield TrajectoryLabel(
                annotation_id=_id(annotator, record, None),
                annotator=annotator,
                role=role,
                dimension="correctness",
                trajectory_id=place.trajectory_id,
                value=None if value is None else value / 2,
                given=given if value is None else None,
            )


def _legal(given: Any) -> Literal[0, 1, 2] | None:
    return VALUES.get(given) if isinstance(given, int) and not isinstance(given, bool) else None


def _id(annotator: str, record: str, message: int | None) -> str:
    return digest([AgentProcessBench.name, annotator, record, message])[:16]
