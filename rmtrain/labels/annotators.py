"""Simulated annotators: people with their own severity, noise and position bias, who see only the truth's shadow."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Literal

from rmtrain.config.world import AnnotatorSettings
from rmtrain.errors import ConfigError
from rmtrain.labels.schema import Comparison, Ranking, StepLabel
from rmtrain.world.truth import Truth


@dataclass(frozen=True)
class Person:
    """One annotator.

    Attributes:
        name: as it stands in the annotations.
        severity: chance to mark a step one value lower than it deserves.
        noise: chance to give a neighbouring value for no reason.
        position_bias: preference for side A, in logits.
        sharpness: logits per unit of difference in true consistency.
    """

    name: str
    severity: float
    noise: float
    position_bias: float
    sharpness: float

    def step_value(self, rng: Random, true: int) -> Literal[0, 1, 2]:
        value = true
        if rng.random() < self.severity:
            value -= 1
        if rng.random() < self.noise:
            value += rng.choice((-1, 1))
        return _VALUES[min(2, max(0, value))]

    def compare(
        self, rng: Random, a: float, b: float
    ) -> tuple[Literal["A", "B", "tie"], Literal["clear", "slight"] | None]:
        felt = self.sharpness * (a - b) + self.position_bias + _logistic(rng)
        if abs(felt) < 0.9:
            return "tie", None
        return ("A" if felt > 0 else "B"), ("clear" if abs(felt) > 2.0 else "slight")


_VALUES: tuple[Literal[0], Literal[1], Literal[2]] = (0, 1, 2)


def _logistic(rng: Random) -> float:
    u = min(max(rng.random(), 1e-9), 1 - 1e-9)
    return 0.6 * math.log(u / (1 - u))


MOST = {"noise": 1.0, "severity": 0.5, "ranked_share": 1.0, "position_bias": math.inf, "sharpness": math.inf}
"""The most that a setting may be; the least is 0."""


def hire(settings: AnnotatorSettings, seed: int) -> list[Person]:
    """The people, deterministic by seed.

    Raises:
        ConfigError: there are fewer people than each item needs.
    """
    if not 1 <= settings.overlap <= settings.count:
        raise ConfigError(
            f"world.annotators.overlap is {settings.overlap} and count {settings.count}. Each item needs `overlap` "
            "distinct people, at least 1: raise count or lower overlap."
        )
    for name, most in MOST.items():
        value = getattr(settings, name)
        if not (0 <= value <= most and math.isfinite(value)):
            allowed = f"a number from 0 to {most:g}" if math.isfinite(most) else "a finite number >= 0"
            raise ConfigError(f"world.annotators.{name} is {value}. Expected {allowed}.")
    rng = Random(f"people/{seed}")
    return [
        Person(
            name=f"annotator-{index:02d}",
            severity=2 * settings.severity * rng.random(),
            noise=settings.noise,
            position_bias=rng.gauss(0, settings.position_bias),
            sharpness=settings.sharpness,
        )
        for index in range(settings.count)
    ]


def annotate_task(
    truths: Sequence[Truth], task_id: str, people: Sequence[Person], settings: AnnotatorSettings, seed: int
) -> Iterator[StepLabel | Comparison | Ranking]:
    """All answers on the trajectories of one task: every step labelled, every pair compared or all ranked.

    Each item goes to `settings.overlap` distinct people; sides of a pair are shown in random order.
    """
    rng = Random(f"annotate/{seed}/{task_id}")
    for truth in truths:
        for person in rng.sample(list(people), settings.overlap):
            for index, true in enumerate(truth.step_quality):
                yield StepLabel(
                    annotation_id=f"{truth.trajectory_id}:{index}:{person.name}",
                    annotator=person.name,
                    dimension="step_quality",
                    trajectory_id=truth.trajectory_id,
                    step_index=index,
                    value=person.step_value(rng, true),
                )
    if rng.random() < settings.ranked_share and len(truths) > 2:
        for person in rng.sample(list(people), settings.overlap):
            yield _rank(rng, person, truths, task_id)
        return
    for one, other in combinations(truths, 2):
        for person in rng.sample(list(people), settings.overlap):
            a, b = (one, other) if rng.random() < 0.5 else (other, one)
            choice, confidence = person.compare(rng, a.consistency, b.consistency)
            yield Comparison(
                annotation_id=f"{a.trajectory_id}:{b.trajectory_id}:{person.name}",
                annotator=person.name,
                dimension="consistency",
                task_id=task_id,
                trajectory_a=a.trajectory_id,
                trajectory_b=b.trajectory_id,
                choice=choice,
                confidence=confidence,
            )


def _rank(rng: Random, person: Person, truths: Sequence[Truth], task_id: str) -> Ranking:
    felt = {t.trajectory_id: person.sharpness * t.consistency + _logistic(rng) for t in truths}
    order: list[list[str]] = []
    for name in sorted(felt, key=lambda name: -felt[name]):
        if order and felt[order[-1][0]] - felt[name] < 0.9:
            order[-1].append(name)
        else:
            order.append([name])
    return Ranking(
        annotation_id=f"{task_id}:ranking:{person.name}",
        annotator=person.name,
        dimension="consistency",
        task_id=task_id,
        order=tuple(tuple(level) for level in order),
    )
