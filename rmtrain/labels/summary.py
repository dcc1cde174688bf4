"""Annotations counted: by dimension, who answered about how much."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rmtrain.labels.schema import Annotation, Comparison, Ranking, StepLabel


@dataclass
class DimensionCount:
    """The answers of one dimension.

    Attributes:
        answers: answers as they stand; of an answer given twice the later one.
        without_value: of those, the ones that are null or no legal value.
        annotators: answers by annotator.
        subjects: the different things that were asked about.
        values: answers by value, as text.
    """

    answers: int = 0
    without_value: int = 0
    annotators: Counter[str] = field(default_factory=Counter)
    subjects: set[tuple[Any, ...]] = field(default_factory=set)
    values: Counter[str] = field(default_factory=Counter)


class LabelSummary:
    """Counts annotations one at a time."""

    def __init__(self) -> None:
        self.dimensions: dict[str, DimensionCount] = {}
        self._latest: dict[str, Annotation] = {}

    def add(self, annotation: Annotation) -> None:
        before = self._latest.get(annotation.annotation_id)
        if before is not None:
            self._count(before, -1)
        self._latest[annotation.annotation_id] = annotation
        self._count(annotation, 1)

    def _count(self, annotation: Annotation, n: int) -> None:
        found = self.dimensions.setdefault(annotation.dimension, DimensionCount())
        found.answers += n
        found.annotators[annotation.annotator] += n
        found.subjects.add(_subject(annotation))
        value = _value(annotation)
        found.without_value += n * (value is None)
        found.values["none" if value is None else value] += n

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a report."""
        return {
            name: {
                "answers": found.answers,
                "without_value": found.without_value,
                "subjects": len(found.subjects),
                "annotators": dict(sorted((+found.annotators).items())),
                "values": dict(sorted((+found.values).items())),
            }
            for name, found in self.dimensions.items()
        }


def _subject(annotation: Annotation) -> tuple[Any, ...]:
    if isinstance(annotation, StepLabel):
        return (annotation.trajectory_id, annotation.step_index)
    if isinstance(annotation, Comparison):
        return tuple(sorted((annotation.trajectory_a, annotation.trajectory_b)))
    if isinstance(annotation, Ranking):
        return tuple(sorted(name for level in annotation.order for name in level))
    return (annotation.trajectory_id,)


def _value(annotation: Annotation) -> str | None:
    if isinstance(annotation, Comparison):
        return annotation.choice
    if isinstance(annotation, Ranking):
        return "ranking"
    return None if annotation.value is None else f"{annotation.value:g}"
