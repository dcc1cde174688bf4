"""Annotations → labels: votes on a step become a distribution, comparisons and rankings become pairs.

Nothing is arbitrated here: two people who differ give a split distribution, which the losses take as it is.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from rmtrain.labels.schema import Comparison, Ranking, StepLabel

N_CLASSES = 3

TARGETS = {("A", "clear"): 1.0, ("A", "slight"): 0.75, ("tie", None): 0.5, ("B", "slight"): 0.25, ("B", "clear"): 0.0}


@dataclass(frozen=True)
class PairLabel:
    """What people together say about two trajectories of one task.

    Attributes:
        dimension: the head that learns from it.
        task_id: the task both belong to.
        trajectory_a: the id that sorts first.
        trajectory_b: the other.
        target: mean over people of the probability in [0, 1] that A is preferred: 0.5 for a tie, 1 or 0 for a
            clear choice, 0.75 or 0.25 for a slight one.
        pair_weight: 1 for a comparison; a ranking of k gives each of its pairs 1/(k-1).
        n_annotators: distinct people behind it.
    """

    dimension: str
    task_id: str
    trajectory_a: str
    trajectory_b: str
    target: float
    pair_weight: float
    n_annotators: int


@dataclass
class Labels:
    """Labels by subject, and how many subjects got none.

    Attributes:
        steps: dimension to (trajectory_id, step_index) to [p0, p1, p2].
        pairs: one per dimension, unordered pair and kind of question.
        n_annotations: annotations read.
        dropped: reason to number of subjects without a label.
    """

    steps: dict[str, dict[tuple[str, int], tuple[float, ...]]] = field(default_factory=dict)
    pairs: list[PairLabel] = field(default_factory=list)
    n_annotations: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


def aggregate(annotations: Iterable[StepLabel | Comparison | Ranking]) -> Labels:
    """Combine all answers on each subject.

    Args:
        annotations: as given; one person's later answer to the same question replaces the earlier one.

    Returns:
        Step distributions (shares of votes), pairs (mean target), and counts of what was dropped.
    """
    labels = Labels()
    votes: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    opinions: dict[tuple[str, str, str, str, float], dict[str, float | None]] = defaultdict(dict)
    for annotation in annotations:
        labels.n_annotations += 1
        if isinstance(annotation, StepLabel):
            subject = (annotation.dimension, annotation.trajectory_id, annotation.step_index)
            votes[subject][annotation.annotator] = annotation.value
        elif isinstance(annotation, Comparison):
            target = TARGETS.get((annotation.choice, annotation.confidence if annotation.choice != "tie" else None))
            if target is None and annotation.choice in ("A", "B"):
                target = 1.0 if annotation.choice == "A" else 0.0
            _note(opinions, annotation.dimension, annotation.task_id, annotation.trajectory_a, annotation.trajectory_b,
                  1.0, annotation.annotator, target)  # fmt: skip
        else:
            for a, b, target, share in ranking_pairs(annotation):
                _note(opinions, annotation.dimension, annotation.task_id, a, b, share, annotation.annotator, target)
    for (dimension, trajectory_id, step_index), by_person in votes.items():
        counts = [sum(value == k for value in by_person.values()) for k in range(N_CLASSES)]
        distribution = tuple(count / len(by_person) for count in counts)
        labels.steps.setdefault(dimension, {})[trajectory_id, step_index] = distribution
    for (dimension, task_id, a, b, share), by_judge in opinions.items():
        targets = [target for target in by_judge.values() if target is not None]
        if not targets:
            labels.dropped["nobody could judge the pair"] = labels.dropped.get("nobody could judge the pair", 0) + 1
            continue
        if len(targets) < len(by_judge):
            reason = "not everybody could judge the pair: a dispute that nobody arbitrated"
            labels.dropped[reason] = labels.dropped.get(reason, 0) + 1
            continue
        labels.pairs.append(PairLabel(dimension, task_id, a, b, sum(targets) / len(targets), share, len(targets)))
    return labels


def ranking_pairs(ranking: Ranking) -> list[tuple[str, str, float, float]]:
    """A ranking of k trajectories as its k(k-1)/2 pairs.

    Returns:
        (trajectory_a, trajectory_b, target, pair_weight): target 1 where A ranks higher, 0.5 where tied;
        every pair weighs 1/(k-1), so a ranking counts as much as k/2 comparisons.
    """
    place = {name: level for level, names in enumerate(ranking.order) for name in names}
    share = 1 / max(1, len(place) - 1)
    return [
        (a, b, 0.5 if place[a] == place[b] else float(place[a] < place[b]), share) for a, b in combinations(place, 2)
    ]


def _note(
    opinions: dict[tuple[str, str, str, str, float], dict[str, float | None]],
    dimension: str,
    task_id: str,
    a: str,
    b: str,
    share: float,
    annotator: str,
    target: float | None,
) -> None:
    """Keep one person's opinion with the sides in sorted order."""
    if a > b:
        a, b, target = b, a, None if target is None else 1 - target
    opinions[dimension, task_id, a, b, share][annotator] = target
