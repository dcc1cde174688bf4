"""Annotations → labels: votes on a step become a distribution, comparisons and rankings become pairs.

Nothing is arbitrated here: two people who differ give a split distribution, which the losses take as it is. A gold
answer goes before all others on its subject.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from rmtrain.config.labels import AggregationSettings
from rmtrain.errors import ConfigError, unknown
from rmtrain.labels.dawid_skene import MISSING, dawid_skene
from rmtrain.labels.schema import Annotation, Comparison, Ranking, StepLabel, TrajectoryLabel
from rmtrain.labels.temperature import fit_temperature, tempered

N_CLASSES = 3
METHODS = ("votes", "dawid_skene", "gold")
MIN_GOLD = 30  # gold answers below which a temperature is not fitted: it would follow chance
Subject = tuple[str, int]

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
        trajectories: dimension to trajectory_id to a value in [0, 1], the mean of what people gave.
        pairs: one per dimension, unordered pair and kind of question.
        n_annotations: annotations read.
        dropped: reason to number of answers or subjects without a label.
        notes: what a person should know of how the labels came about.
    """

    steps: dict[str, dict[Subject, tuple[float, ...]]] = field(default_factory=dict)
    trajectories: dict[str, dict[str, float]] = field(default_factory=dict)
    pairs: list[PairLabel] = field(default_factory=list)
    n_annotations: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, n: int = 1) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + n


def aggregate(
    annotations: Iterable[Annotation],
    settings: AggregationSettings = AggregationSettings(),
    calibrates: Callable[[str], bool] = lambda trajectory_id: True,
) -> Labels:
    """Combine all answers on each subject.

    Args:
        annotations: as given; one person's later answer to the same question replaces the earlier one.
        settings: how.
        calibrates: whether the gold answers on a trajectory may be looked at to temper the others'; a test
            trajectory's may not.

    Returns:
        Step distributions, trajectory values, pairs (mean target), and counts of what was dropped.

    Raises:
        ConfigError: the method is unknown.
    """
    if settings.method not in METHODS:
        raise ConfigError(unknown("labels.method", settings.method, METHODS))
    labels = Labels()
    votes: dict[str, dict[Subject, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    gold: dict[str, dict[Subject, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    values: dict[tuple[str, str], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    opinions: dict[tuple[str, str, str, str, float], dict[str, float | None]] = defaultdict(dict)
    for annotation in annotations:
        labels.n_annotations += 1
        if isinstance(annotation, StepLabel | TrajectoryLabel) and annotation.value is None:
            labels.drop("answers without a legal value")
            if isinstance(annotation, StepLabel):  # it withdraws what the same person said before
                group = gold if annotation.role == "gold" else votes
                subject = (annotation.trajectory_id, annotation.step_index)
                group[annotation.dimension][subject].pop(annotation.annotator, None)
            else:
                by_role = values[annotation.dimension, annotation.trajectory_id]
                by_role[annotation.role].pop(annotation.annotator, None)
        elif isinstance(annotation, StepLabel):
            group = gold if annotation.role == "gold" else votes
            subject = (annotation.trajectory_id, annotation.step_index)
            group[annotation.dimension][subject][annotation.annotator] = int(annotation.value or 0)
        elif isinstance(annotation, TrajectoryLabel):
            by_role = values[annotation.dimension, annotation.trajectory_id]
            by_role[annotation.role][annotation.annotator] = float(annotation.value or 0)
        elif isinstance(annotation, Comparison) and annotation.trajectory_a == annotation.trajectory_b:
            labels.drop("comparisons of a trajectory with itself")
        elif isinstance(annotation, Comparison):
            target = TARGETS.get((annotation.choice, annotation.confidence if annotation.choice != "tie" else None))
            if target is None and annotation.choice in ("A", "B"):
                target = 1.0 if annotation.choice == "A" else 0.0
            _note(opinions, annotation.dimension, annotation.task_id, annotation.trajectory_a, annotation.trajectory_b,
                  1.0, annotation.annotator, target)  # fmt: skip
        else:
            for a, b, target, share in ranking_pairs(annotation):
                _note(opinions, annotation.dimension, annotation.task_id, a, b, share, annotation.annotator, target)
    for dimension in dict.fromkeys([*votes, *gold]):
        said = {} if settings.method == "gold" else _answered(votes.get(dimension, {}))
        known = _answered(gold.get(dimension, {}))
        if settings.method == "dawid_skene" and said:
            found = _weighed(labels, dimension, said, known, settings.calibrate, calibrates)
        else:
            found = {subject: _shares(by_person) for subject, by_person in said.items()}
        found |= {subject: _shares(by_person) for subject, by_person in known.items()}
        if found:
            labels.steps[dimension] = found
    for (dimension, trajectory_id), by_role in values.items():
        people = by_role.get("gold") or ({} if settings.method == "gold" else by_role["annotator"])
        if people:
            labels.trajectories.setdefault(dimension, {})[trajectory_id] = sum(people.values()) / len(people)
    for (dimension, task_id, a, b, share), by_judge in opinions.items():
        targets = [target for target in by_judge.values() if target is not None]
        if not targets:
            labels.drop("nobody could judge the pair")
            continue
        if len(targets) < len(by_judge):
            labels.drop("not everybody could judge the pair: a dispute that nobody arbitrated")
            continue
        labels.pairs.append(PairLabel(dimension, task_id, a, b, sum(targets) / len(targets), share, len(targets)))
    return labels


def _answered(by_subject: Mapping[Subject, dict[str, int]]) -> dict[Subject, dict[str, int]]:
    """Without the subjects on which nobody's answer stands."""
    return {subject: by_person for subject, by_person in by_subject.items() if by_person}


def _shares(by_person: Mapping[str, int]) -> tuple[float, ...]:
    counts = [sum(value == k for value in by_person.values()) for k in range(N_CLASSES)]
    return tuple(count / len(by_person) for count in counts)


def _weighed(
    labels: Labels,
    dimension: str,
    said: Mapping[Subject, Mapping[str, int]],
    known: Mapping[Subject, Mapping[str, int]],
    calibrate: bool,
    calibrates: Callable[[str], bool],
) -> dict[Subject, tuple[float, ...]]:
    """Distributions by Dawid-Skene, tempered where enough gold answers say how sure they may be."""
    people = {name: number for number, name in enumerate(sorted({name for votes in said.values() for name in votes}))}
    votes = np.full((len(said), len(people)), MISSING)
    for row, by_person in enumerate(said.values()):
        for name, value in by_person.items():
            votes[row, people[name]] = value
    probabilities = dawid_skene(votes, N_CLASSES).probabilities
    if calibrate:
        shown = {s: _shares(by_person) for s, by_person in known.items() if s in said and calibrates(s[0])}
        right = {subject: shares.index(1.0) for subject, shares in shown.items() if 1.0 in shares}
        if len(right) < MIN_GOLD or len(set(right.values())) < 2:
            labels.notes.append(
                f"'{dimension}': the labels weighed by annotator were not calibrated, since gold answers of training "
                f"tasks are on {len(right)} of their items, and {MIN_GOLD} of two classes are needed"
            )
        else:
            rows = [row for row, subject in enumerate(said) if subject in right]
            temperature = fit_temperature(probabilities[rows], np.array([right[s] for s in said if s in right]))
            probabilities = tempered(probabilities, temperature)
            labels.notes.append(
                f"'{dimension}': the labels weighed by annotator were tempered by {temperature:.2f}, fitted on "
                f"{len(right):,} gold answers"
            )
    return {subject: tuple(row) for subject, row in zip(said, probabilities.tolist(), strict=True)}


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
