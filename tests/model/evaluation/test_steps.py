"""Judged steps: figures against hand-made cases, an independent kappa, and the published figures of twenty raters."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from rmtrain.config.labels import LabelSourceSettings
from rmtrain.labels.importers.importing import LabelCounts, import_labels
from rmtrain.labels.schema import StepLabel
from rmtrain.model.evaluation.steps import SaidSteps, differences, intervals, step_figures


def random_rows(seed, n=60, tasks=12):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        labels = rng.integers(0, 3, rng.integers(1, 7))
        said = np.where(rng.random(len(labels)) < 0.6, labels, rng.integers(0, 3, len(labels)))
        rows.append(SaidSteps(f"t{i % tasks}", tuple(labels.tolist()), tuple(said.tolist())))
    return rows


def test_by_hand():
    said = [
        SaidSteps("a", (2, 0, 0), (2, 0, 2)),  # the first error is right
        SaidSteps("a", (2, 2), (2, 2)),  # none, and none was said
        SaidSteps("b", (2, 0), (0, 0)),  # said too early
        SaidSteps("b", (None, 0), (0, 0)),  # what has no label counts nowhere
        SaidSteps("b", (2, 0), (2, None)),  # nothing said is wrong, and no error
        SaidSteps("c", (None,), (2,)),
    ]
    found = step_figures(said)
    assert (found["step_accuracy"].value, found["step_accuracy"].n) == (pytest.approx(7 / 10), 10)
    assert (found["first_error_accuracy"].value, found["first_error_accuracy"].n) == (pytest.approx(3 / 5), 5)
    assert found["kappa"].n == 9


def test_a_trajectory_of_which_nothing_was_said_is_wrong_even_where_it_has_no_error():
    assert step_figures([SaidSteps("a", (2, 2), (None, None))])["first_error_accuracy"].value == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_scikit_learn(seed):
    judged = random_rows(seed)
    labels, said = ([value for one in judged for value in getattr(one, side)] for side in ("labels", "said"))
    assert step_figures(judged)["kappa"].value == pytest.approx(cohen_kappa_score(labels, said), abs=1e-12)


def test_what_is_undefined_has_no_value_and_a_reason():
    assert step_figures([SaidSteps("a", (2, 2), (2, 2))])["kappa"].reason == "one and the same class everywhere"
    for said in ([], [SaidSteps("a", (None,), (2,))]):
        for figure in step_figures(said).values():
            assert (figure.value, figure.n, figure.reason) == (None, 0, "no labelled steps")


def test_until_the_first_error():
    assert SaidSteps("a", (2, 0, 0), (1, 2, 0)).until_first_error() == SaidSteps("a", (2, 0), (1, 2))
    assert SaidSteps("a", (2, 1), (1, 2)).until_first_error() == SaidSteps("a", (2, 1), (1, 2))


def test_intervals_hold_the_figures_and_shrink_with_tasks():
    few, many = intervals(random_rows(0, 60, 5)), intervals(random_rows(0, 1200, 100))
    for name, figure in step_figures(random_rows(0, 60, 5)).items():
        assert few[name].value == figure.value
        assert few[name].draws == 2000
        assert few[name].low <= few[name].value <= few[name].high
        assert many[name].high - many[name].low < few[name].high - few[name].low


def test_the_bootstrap_is_that_of_whole_tasks():
    """Copies of a task's trajectories add nothing: the interval stays as wide."""
    judged = random_rows(1, 24, 12)
    assert intervals(judged) == intervals([one for one in judged for _ in range(7)])


def test_a_difference_is_paired():
    judged = random_rows(2)
    assert differences(judged, judged)["kappa"].high == 0.0
    worse = [SaidSteps(one.task_id, one.labels, (2,) * len(one.labels)) for one in judged]
    found = differences(judged, worse)["kappa"]
    assert found.low > 0
    assert found.value == pytest.approx(step_figures(judged)["kappa"].value)


def test_the_published_figures_of_twenty_raters(real_data: Path, tmp_path: Path):
    for file in ("gold_labels_hotpotqa_q00-24.jsonl", "model_ratings_hotpotqa_q00-24_20raters.jsonl"):
        (tmp_path / file).symlink_to(real_data / "agentprocessbench" / file)
    rows = [
        row
        for row in import_labels(LabelSourceSettings(path=str(tmp_path), alone=True), None, LabelCounts())
        if isinstance(row, StepLabel)
    ]
    gold: dict[str, dict[int, int | None]] = {}
    for row in rows:
        if row.role == "gold":
            gold.setdefault(row.trajectory_id, {})[row.step_index] = row.value
    said = {(row.annotator, row.trajectory_id, row.step_index): row.value for row in rows if row.role == "annotator"}

    def judged(of):
        return [
            SaidSteps(name.split(":")[1], tuple(steps.values()), tuple(of(name, step) for step in steps))
            for name, steps in gold.items()
        ]

    always = judged(lambda name, step: 2)
    found = step_figures(always)
    assert found["step_accuracy"].n == 352
    assert [figure.value for figure in found.values()] == [
        pytest.approx(0.665, abs=5e-4), pytest.approx(0.592, abs=5e-4), 0.0,
    ]  # fmt: skip
    raters = [
        step_figures(judged(lambda name, step, who=who: said.get((who, name, step))))
        for who in {who for who, _, _ in said}
    ]
    assert len(raters) == 20
    best = {name: max(figures[name].value for figures in raters) for name in found}
    assert best == {
        "step_accuracy": pytest.approx(0.790, abs=5e-4),
        "first_error_accuracy": pytest.approx(0.744, abs=5e-4),
        "kappa": pytest.approx(0.525, abs=5e-4),
    }
