"""True values worked by hand; close to what the rules find, and not taken from them."""

from pathlib import Path

import numpy as np
import pytest

from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.world.truth import SEVERITY, StepTruth, judge

WORLD = Path(__file__).resolve().parents[2] / "rmtrain" / "world"


def truth(*steps, n_met=1, n_subgoals=2, expected_steps=10):
    return judge("t", list(steps), n_met, n_subgoals, expected_steps)


def test_a_sound_episode_is_perfect():
    found = truth(StepTruth(2), StepTruth(2, None, 0, None, None), n_met=2)
    assert (found.correctness, found.tool_efficiency, found.consistency) == (1.0, 1.0, 0.0)
    assert found.step_quality == (2, 2)
    assert found.faults == (None, None)


def test_efficiency_is_the_mean_of_its_parts():
    # of 4 calls 3 have the right tool, 2 are valid, 1 is wasted: (3/4 + 2/4 + 3/4) / 3 = 2/3
    steps = (
        StepTruth(2),
        StepTruth(1, "invalid_arguments", is_valid=False, is_wasted=True),
        StepTruth(1, "wrong_tool", is_right_tool=False),
        StepTruth(1, "invalid_arguments", is_valid=False),
    )
    assert truth(*steps).tool_efficiency == pytest.approx(2 / 3)
    # two steps over the expected two: 2/3 - 2 * 0.05
    assert truth(*steps, expected_steps=2).tool_efficiency == pytest.approx(2 / 3 - 0.1)


def test_the_penalty_of_length_is_bounded():
    # 20 sound calls where 1 was expected: 1 - min(0.3, 19 * 0.05)
    assert truth(*[StepTruth(2)] * 20, expected_steps=1).tool_efficiency == pytest.approx(0.7)


def test_without_a_call_there_is_no_efficiency():
    assert truth(StepTruth(1, "gives_up", 0, None, None)).tool_efficiency is None


def test_consistency_sums_severities_and_halves_what_was_repaired():
    found = truth(
        StepTruth(0, "announces_other", is_repaired=True),
        StepTruth(0, "overlooks"),
        StepTruth(1, "repeat"),
    )
    # a repeat is wasteful, not inconsistent
    assert found.consistency == pytest.approx(-(SEVERITY["announces_other"] / 2 + SEVERITY["overlooks"]))
    assert found.faults == ("announces_other", "overlooks", "repeat")


def test_ignoring_a_contradiction_weighs_most():
    assert max(SEVERITY, key=SEVERITY.__getitem__) == "overlooks"


def test_rules_and_truth_agree_nearly_always(records):
    suite = VerifierSuite()
    pairs: dict[str, list[tuple[float, float]]] = {"correctness": [], "tool_efficiency": []}
    for record in records:
        for trajectory, true in zip(record.trajectories, record.truths, strict=True):
            assert true.trajectory_id == trajectory.trajectory_id
            for verdict in suite.verify(trajectory):
                if verdict.dimension is not None:
                    own = getattr(true, verdict.dimension)
                    assert (verdict.value is None) == (own is None)
                    if own is not None:
                        pairs[verdict.dimension].append((verdict.value, own))
    for dimension, rows in pairs.items():
        assert len(rows) >= 200
        assert np.corrcoef(np.array(rows).T)[0, 1] > 0.95, dimension


def test_the_world_does_not_ask_the_rules():
    sources = list(WORLD.rglob("*.py"))
    assert len(sources) >= 10
    for path in sources:
        code = [line for line in path.read_text(encoding="utf-8").splitlines() if "import" in line]
        assert not any("verifiers" in line for line in code), path
