"""What an importer of labels is: it turns one row of a file into the annotations that it holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rmtrain.labels.schema import Annotation
from rmtrain.trajectories.schema import Trajectory


@dataclass(frozen=True)
class Place:
    """Where the labels of one record belong.

    Attributes:
        trajectory_id: the trajectory; the record's own name where there is none here.
        steps: index of an assistant message in the log to the index of its step.
    """

    trajectory_id: str
    steps: Mapping[int, int]


@runtime_checkable
class LabelImporter(Protocol):
    """One format of labels. A record is what its labels call a trajectory."""

    name: str

    def signs(self, payload: Any) -> str | None:
        """The keys by which a parsed row is known to hold such labels; None where it does not. It never raises."""
        ...

    def record_of(self, trajectory: Trajectory) -> str | None:
        """The record that a trajectory is called by in the labels; None where none can speak of it."""
        ...

    def record(self, payload: Any) -> str:
        """The record that a row speaks of.

        Raises:
            DataError: it names none.
        """
        ...

    def messages(self, payload: Any) -> list[int]:
        """Indices of the messages that a row speaks of.

        Raises:
            DataError: one is no index.
        """
        ...

    def annotations(self, payload: Any, place: Place) -> Iterator[Annotation]:
        """What a row says.

        Raises:
            DataError: it speaks of a message that is no step, or cannot be understood.
        """
        ...
