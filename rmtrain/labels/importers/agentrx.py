"""Failure labels of AgentRx: the steps at which a run went wrong, counted from 1, with category and reason.

They are of a dimension of their own, ``failure``, which no head learns from: steps that are not named are not
thereby sound. A failure at a user's message is not the agent's, and no step is blamed for it.
"""

import re
from collections.abc import Iterator
from typing import Any

from rmtrain.errors import DataError
from rmtrain.labels.importers.base import Place
from rmtrain.labels.schema import Annotation, StepLabel
from rmtrain.trajectories.importers.agentrx import AgentRx
from rmtrain.trajectories.schema import Trajectory, digest

ROOT_CAUSE = "root_cause"


class AgentRxLabels:
    """Importer of ``failure_labels.json``."""

    name = AgentRx.name

    def signs(self, payload: Any) -> str | None:
        known = isinstance(payload, dict) and {"trajectory_id", "failures"} <= payload.keys()
        return "'trajectory_id' and 'failures'" if known else None

    def record_of(self, trajectory: Trajectory) -> str | None:
        is_ours = trajectory.source.format == self.name
        return trajectory.task.task_id.rpartition("-")[2] if is_ours else None

    def record(self, payload: Any) -> str:
        if self.signs(payload) is None:
            raise DataError("it holds no failure labels of AgentRx: it lacks trajectory_id or failures")
        return str(payload["trajectory_id"])

    def messages(self, payload: Any) -> list[int]:
        failures = payload["failures"]
        if not isinstance(failures, list):
            raise DataError("its failures are no list")
        for position, failure in enumerate(failures):
            number = failure.get("step_number") if isinstance(failure, dict) else None
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise DataError(f"its failure {position} has step_number {number!r}. Expected a whole number from 1")
        return [failure["step_number"] - 1 for failure in failures]

    def annotations(self, payload: Any, place: Place) -> Iterator[Annotation]:
        cause = payload.get("root_cause")
        root = cause.get("failure_id") if isinstance(cause, dict) else None
        for message, failure in zip(self.messages(payload), payload["failures"], strict=True):
            if message not in place.steps:
                continue  # a user's message, counted where labels are imported
            category = failure.get("failure_category")
            codes = [re.sub(r"\W+", "_", category.strip().lower())] if isinstance(category, str) else []
            if root is not None and failure.get("failure_id") == root:
                codes.append(ROOT_CAUSE)
            reason = failure.get("step_reason")
            yield StepLabel(
                annotation_id=digest([self.name, self.record(payload), failure.get("failure_id"), message])[:16],
                annotator="people",
                role="gold",
                dimension="failure",
                trajectory_id=place.trajectory_id,
                step_index=place.steps[message],
                value=0,
                fault_codes=tuple(codes),
                reason=reason if isinstance(reason, str) else "",
            )
