"""How well step classes match labelled ones: accuracy, first error, agreement beyond chance; intervals over tasks.

Classes are those of a step head, 0 the lowest: for `step_quality` 0 is an error. A step without a label counts
nowhere; one with a label of which nothing was said is wrong, and of no class that agreement could count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmtrain.model.metrics import Figure

ERROR = 0
"""The class of a step that does harm."""
DRAWS = 2000
"""Bootstrap samples behind an interval."""

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class SaidSteps:
    """One trajectory's labelled steps beside what somebody said of them.

    Attributes:
        task_id: groups trajectories; intervals resample tasks.
        labels: class of each step, None where nobody labelled it.
        said: likewise, None where nothing was said.
    """

    task_id: str
    labels: tuple[int | None, ...]
    said: tuple[int | None, ...]

    def until_first_error(self) -> "SaidSteps":
        """The same up to the first step that is labelled an error, that one included."""
        end = self.labels.index(ERROR) + 1 if ERROR in self.labels else len(self.labels)
        return SaidSteps(self.task_id, self.labels[:end], self.said[:end])


@dataclass(frozen=True)
class Interval:
    """A figure with the 2.5 % and 97.5 % quantiles of its bootstrap distribution over tasks; None where undefined.

    `draws` is the number of bootstrap samples in which it was defined.
    """

    value: float | None
    low: float | None
    high: float | None
    draws: int


def step_figures(said: Sequence[SaidSteps], classes: int = 3) -> dict[str, Figure]:
    """Three figures of somebody's classes against the labels.

    - ``step_accuracy``: share of labelled steps whose class was said; one of which nothing was said is wrong.
    - ``first_error_accuracy``: share of trajectories whose first error was said to be where it is labelled, no error
      at all being a place too; a trajectory of which nothing was said is wrong.
    - ``kappa``: Cohen's kappa without weights, over the labelled steps of which something was said.

    Args:
        said: the trajectories.
        classes: number of classes.

    Source:
        The accuracies: AgentProcessBench, https://arxiv.org/abs/2603.14465. Kappa: Cohen 1960,
        https://doi.org/10.1177/001316446002000104
    """
    counts = _counts(said, classes).sum(axis=0)
    n_of = {"step_accuracy": counts[0], "first_error_accuracy": counts[2], "kappa": counts[4:].sum()}
    found = {}
    for name, of in _FIGURES.items():
        value, n = of(counts, classes), int(n_of[name])
        reason = None if value is not None else "one and the same class everywhere" if n else "no labelled steps"
        found[name] = Figure(value, n, reason)
    return found


def intervals(said: Sequence[SaidSteps], classes: int = 3, seed: int = 0) -> dict[str, Interval]:
    """Step accuracy, first-error accuracy and kappa, each with a 95 % interval over tasks."""
    return differences(said, None, classes, seed)


def differences(
    said: Sequence[SaidSteps], other: Sequence[SaidSteps] | None, classes: int = 3, seed: int = 0
) -> dict[str, Interval]:
    """The figures of one minus those of another on the same trajectories, tasks resampled for both alike.

    Args:
        said: what one said.
        other: what the other said, in the same order; None subtracts nothing.
        classes: number of classes.
        seed: of the resampling.
    """
    tasks = sorted({one.task_id for one in said})
    at = {task: index for index, task in enumerate(tasks)}
    own = _by_task(said, at, classes)
    against = None if other is None else _by_task(other, at, classes)
    drawn = np.random.default_rng(seed).multinomial(len(tasks), np.full(len(tasks), 1 / len(tasks)), size=DRAWS)
    found = {}
    for name, of in _FIGURES.items():
        value = _minus(of(own.sum(axis=0), classes), None if against is None else of(against.sum(axis=0), classes))
        samples = [
            _minus(of(weights @ own, classes), None if against is None else of(weights @ against, classes))
            for weights in drawn
        ]
        known = [sample for sample in samples if sample is not None]
        low, high = np.quantile(known, (0.025, 0.975)) if value is not None and known else (None, None)
        found[name] = Interval(
            value, None if low is None else float(low), None if high is None else float(high), len(known)
        )
    return found


def _minus(value: float | None, other: float | None) -> float | None:
    return value if value is None or other is None else value - other


def _by_task(said: Sequence[SaidSteps], at: dict[str, int], classes: int) -> Counts:
    rows = _counts(said, classes)
    found = np.zeros((len(at), rows.shape[1]))
    np.add.at(found, [at[one.task_id] for one in said], rows)
    return found


def _counts(said: Sequence[SaidSteps], classes: int) -> Counts:
    """Per trajectory: labelled steps, right ones, 1 if any is labelled, 1 if the first error is right, then the
    table of said (rows) against labelled classes."""
    rows = np.zeros((len(said), 4 + classes * classes))
    for row, one in zip(rows, said, strict=True):
        pairs = [(own, label) for own, label in zip(one.said, one.labels, strict=True) if label is not None]
        row[0] = len(pairs)
        row[1] = sum(own == label for own, label in pairs)
        row[2] = bool(pairs)
        found, labelled = ([number for number, pair in enumerate(pairs) if pair[side] == ERROR] for side in (0, 1))
        row[3] = any(own is not None for own, _ in pairs) and found[:1] == labelled[:1]
        for own, label in pairs:
            if own is not None:
                row[4 + classes * own + label] += 1
    return rows


def _accuracy(counts: Counts, classes: int = 3) -> float | None:
    return float(counts[1] / counts[0]) if counts[0] else None


def _first_error(counts: Counts, classes: int = 3) -> float | None:
    return float(counts[3] / counts[2]) if counts[2] else None


def _kappa(counts: Counts, classes: int) -> float | None:
    table = counts[4:].reshape(classes, classes)
    n = table.sum()
    if not n:
        return None
    expected = float((table.sum(axis=1) * table.sum(axis=0)).sum() / n**2)
    return None if expected > 1 - 1e-12 else float((np.trace(table) / n - expected) / (1 - expected))


_FIGURES: dict[str, Callable[[Counts, int], float | None]] = {
    "step_accuracy": _accuracy,
    "first_error_accuracy": _first_error,
    "kappa": _kappa,
}
"""What is told of somebody's classes, by name."""
