"""Simulated people: distinct per item, deterministic, each with a severity and bias that show in the mean."""

import math
from collections import defaultdict
from random import Random

import pytest

from rmtrain.config.world import AnnotatorSettings
from rmtrain.errors import ConfigError
from rmtrain.labels.annotators import Person, annotate_task, hire
from rmtrain.labels.schema import Comparison, Ranking, StepLabel
from rmtrain.world.truth import Truth

PLAIN = {"severity": 0.0, "noise": 0.0, "position_bias": 0.0, "sharpness": 2.5}


def truths(*consistencies):
    return [
        Truth(
            trajectory_id=f"t{i}",
            correctness=1.0,
            tool_efficiency=1.0,
            consistency=value,
            step_quality=(0, 1, 2),
            faults=(None, None, None),
        )
        for i, value in enumerate(consistencies)
    ]


def answers(settings, task="k", seed=0, of=(0.0, -1.0, -2.0, -3.0)):
    return list(annotate_task(truths(*of), task, hire(settings, seed), settings, seed))


@pytest.mark.parametrize("ranked_share", [0.0, 1.0])
@pytest.mark.parametrize("overlap", [1, 2, 5])
def test_every_item_has_so_many_distinct_people(overlap, ranked_share):
    people = defaultdict(list)
    for answer in answers(AnnotatorSettings(count=5, overlap=overlap, ranked_share=ranked_share)):
        if isinstance(answer, StepLabel):
            item = (answer.trajectory_id, answer.step_index)
        elif isinstance(answer, Comparison):
            item = frozenset((answer.trajectory_a, answer.trajectory_b))
        else:
            item = "ranking"
        people[item].append(answer.annotator)
    # 4 trajectories of 3 steps; 6 pairs or one ranking
    assert len(people) == 12 + (1 if ranked_share else 6)
    for names in people.values():
        assert len(names) == len(set(names)) == overlap


def test_equal_seeds_give_equal_answers():
    settings = AnnotatorSettings()
    assert answers(settings, seed=1) == answers(settings, seed=1)
    assert answers(settings, seed=1) != answers(settings, seed=2)
    assert hire(settings, 1) != hire(settings, 2)
    ids = [answer.annotation_id for answer in answers(settings)]
    assert len(ids) == len(set(ids))


def test_without_noise_and_severity_people_tell_the_truth():
    exact = AnnotatorSettings(noise=0.0, severity=0.0)
    steps = [answer for answer in answers(exact) if isinstance(answer, StepLabel)]
    assert all(answer.value == answer.step_index for answer in steps)  # the truth is 0, 1, 2


def test_severity_lowers_and_never_below_0():
    def mean(severity):
        person, rng = Person("p", **{**PLAIN, "severity": severity}), Random(0)
        values = [person.step_value(rng, true) for true in (0, 1, 2) for _ in range(500)]
        assert set(values) <= {0, 1, 2}
        return sum(values) / len(values)

    # a severity s lowers classes 1 and 2 by one with chance s: the mean 1 falls by 2/3 s
    assert mean(0.0) == 1.0
    assert mean(0.3) == pytest.approx(0.8, abs=0.05)
    assert mean(1.0) == pytest.approx(1 / 3)


def test_noise_gives_neighbouring_values_in_both_directions():
    person, rng = Person("p", **{**PLAIN, "noise": 0.4}), Random(0)
    values = [person.step_value(rng, 1) for _ in range(2000)]
    assert values.count(0) / 2000 == pytest.approx(0.2, abs=0.04)
    assert values.count(2) / 2000 == pytest.approx(0.2, abs=0.04)


def test_position_bias_shifts_towards_side_a():
    def shares(bias):
        person, rng = Person("p", **{**PLAIN, "position_bias": bias}), Random(0)
        choices = [person.compare(rng, -1.0, -1.0)[0] for _ in range(1000)]
        return choices.count("A") / 1000, choices.count("B") / 1000

    a, b = shares(0.0)
    assert a == pytest.approx(b, abs=0.06)
    biased_a, biased_b = shares(1.0)
    assert biased_a > a + 0.2
    assert biased_b < b - 0.1


def test_the_better_side_wins_and_a_clear_choice_needs_a_large_difference():
    person, rng = Person("p", **PLAIN), Random(0)
    far = [person.compare(rng, 0.0, -2.0) for _ in range(300)]
    near = [person.compare(rng, 0.0, -0.4) for _ in range(300)]
    assert sum(choice == "A" for choice, _ in far) > 280
    assert {confidence for choice, confidence in far + near if choice == "tie"} <= {None}
    assert all(confidence is not None for choice, confidence in far + near if choice != "tie")
    assert sum(c == ("A", "clear") for c in far) > 2 * sum(c == ("A", "clear") for c in near)


def test_rankings_hold_every_trajectory_once():
    settings = AnnotatorSettings(ranked_share=1.0)
    found = [a for task in "abcdef" for a in answers(settings, task) if isinstance(a, Ranking)]
    assert len(found) == 6 * settings.overlap
    for ranking in found:
        names = [name for level in ranking.order for name in level]
        assert sorted(names) == ["t0", "t1", "t2", "t3"]
        assert all(ranking.order)
    best = [ranking.order[0] for ranking in found]
    assert sum("t0" in level for level in best) > len(best) / 2


def test_two_trajectories_are_compared_and_one_is_not():
    settings = AnnotatorSettings(ranked_share=1.0)
    kinds = {type(answer) for answer in answers(settings, of=(0.0, -1.0))}
    assert kinds == {StepLabel, Comparison}
    assert {type(answer) for answer in answers(settings, of=(0.0,))} == {StepLabel}


@pytest.mark.parametrize(("count", "overlap"), [(2, 3), (2, 0), (0, 1)])
def test_fewer_people_than_asked_for_are_refused(count, overlap):
    with pytest.raises(
        ConfigError,
        match=rf"world\.annotators\.overlap is {overlap} and count {count}\. .*raise count or lower overlap",
    ):
        hire(AnnotatorSettings(count=count, overlap=overlap), 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("noise", 9.0), ("noise", -1.0), ("ranked_share", 2.0), ("sharpness", math.inf), ("severity", math.nan)],
)
def test_what_no_person_can_be_is_refused(name, value):
    with pytest.raises(ConfigError, match=rf"world\.annotators\.{name} is {value}\. Expected a "):
        hire(AnnotatorSettings(**{name: value}), 0)
