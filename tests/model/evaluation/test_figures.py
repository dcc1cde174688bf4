"""One figure per head by one rule for every model: cut points from validation, the ceiling from the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair
from rmtrain.model.evaluation.figures import HeadRow, choose_cuts, figures, table, true_values
from rmtrain.model.metrics import Figure, quadratic_kappa

STEP = {"step_quality": HeadSettings(level="step", objective="ordinal")}
HEADS = {"correctness": HeadSettings(), **STEP, "consistency": HeadSettings(objective="bradley_terry")}
MIDDLE = (0.25, 0.75)


def example(name, qualities, correct=None, **truth):
    return Example(
        trajectory_id=name,
        task_id="k",
        prefix="p",
        blocks=("b",) * len(qualities),
        trajectory_labels={"correctness": correct},
        step_labels={
            "step_quality": tuple(None if q is None else tuple(float(k == q) for k in range(3)) for q in qualities)
        },
        **truth,
    )


def row(chance=0.0, ceiling: float | None = 0.8):
    return HeadRow("h", "m", 1, chance, None, None, None, ceiling)


def test_the_way_runs_from_chance_to_ceiling():
    assert row().way(0.6) == pytest.approx(0.75)  # 0.6 / 0.8
    assert row(0.5, 0.9).way(0.7) == pytest.approx(0.5)  # 0.2 / 0.4
    assert row(0.5, 0.9).way(0.5) == 0.0
    assert row(0.5, 0.9).way(0.3) == pytest.approx(-0.5)
    assert row().way(None) is None
    assert row(ceiling=None).way(0.5) is None
    assert row(0.5, 0.5).way(0.6) is None  # a ceiling that is no higher than chance measures nothing


def test_cuts_are_those_with_the_highest_kappa():
    # values 0.30, 0.35, 0.40 stand for classes 0, 1, 2: the middle would call all of them 1
    examples = [example(f"t{i}", [0, 1, 2]) for i in range(4)]
    values = {"step_quality": [np.array([0.30, 0.35, 0.40])] * 4}
    cuts = choose_cuts(STEP, values, examples)
    assert 0.30 < cuts["step_quality"][0] <= 0.35 < cuts["step_quality"][1] <= 0.40
    assert figures(STEP, values, examples, [], cuts)["step_quality"].value == 1.0
    assert figures(STEP, values, examples, [], {"step_quality": MIDDLE})["step_quality"].value == 0.0


def test_without_labels_the_cuts_lie_between_the_classes():
    values = {"step_quality": [np.array([0.1, 0.9])]}
    assert choose_cuts(HEADS, values, [example("t", [None, None])]) == {"step_quality": MIDDLE}
    assert choose_cuts(HEADS, {"step_quality": []}, []) == {"step_quality": MIDDLE}
    four = {"step_quality": HeadSettings(level="step", objective="ordinal", classes=4)}
    assert choose_cuts(four, {"step_quality": []}, [])["step_quality"] == pytest.approx((1 / 6, 1 / 2, 5 / 6))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2)), min_size=3, max_size=20))
def test_chosen_cuts_are_in_order_and_no_worse_than_the_middle(units):
    values = {"step_quality": [np.array([value for value, _ in units])]}
    examples = [example("t", [label for _, label in units])]
    chosen = choose_cuts(STEP, values, examples)["step_quality"]
    assert list(chosen) == sorted(chosen)
    labels = np.eye(3)[[label for _, label in units]]
    flat = values["step_quality"][0]
    best, middle = (quadratic_kappa(np.digitize(flat, cuts), labels).value for cuts in (chosen, MIDDLE))
    grid_middle = quadratic_kappa(np.digitize(flat, (0.26, 0.74)), labels).value  # the grid's nearest to the middle
    assert best is None or middle is None or grid_middle is None or best >= min(middle, grid_middle) - 1e-9


def test_only_what_was_labelled_is_measured():
    examples = [example("a", [0, None, 2], 0.0), example("b", [None], None), example("c", [1], 1.0)]
    values = {
        "correctness": [np.array([0.5]), np.array([9.0]), np.array([1.0])],
        "step_quality": [np.array([0.0, 9.0, 1.0]), np.array([9.0]), np.array([0.5])],
        "consistency": [np.array([1.0]), np.array([3.0]), np.array([2.0])],
    }
    pairs = [
        Pair("consistency", "a", "b", 0.0),
        Pair("consistency", "b", "c", 0.25),
        Pair("consistency", "a", "c", 0.5),
        Pair("another", "a", "b", 1.0),
    ]
    found = figures(HEADS, values, examples, pairs, {"step_quality": MIDDLE})
    # errors 0.5 and 0, around the mean 0.5 and 0.5: 1 - 0.25 / 0.5
    assert found["correctness"] == Figure(0.5, 2)
    assert found["step_quality"] == Figure(1.0, 3)
    # b over a as labelled, b over c against the label, the tie left out
    assert found["consistency"] == Figure(0.5, 2)


def test_rows_that_do_not_fit_are_a_bug():
    with pytest.raises(ValueError, match="zip"):
        figures(STEP, {"step_quality": [np.zeros(2)]}, [example("t", [0, 1, 2])], [], {"step_quality": MIDDLE})


def test_the_ceiling_is_the_truth_against_the_labels():
    known = {"truth": {"correctness": 1.0, "consistency": -1.0}, "step_truth": {"step_quality": (0.0, 2.0)}}
    examples = [example("a", [0, 2], 0.0, **known), example("b", [0, 1], None, **known)]
    values = true_values(HEADS, examples)
    assert [row.tolist() for row in values["step_quality"]] == [[0.0, 1.0]] * 2
    assert [row.tolist() for row in values["consistency"]] == [[-1.0]] * 2
    assert [row.tolist() for row in values["correctness"]] == [[1.0]] * 2


def test_a_head_without_truth_leaves_the_others_their_ceiling():
    known = {"truth": {"consistency": -1.0}, "step_truth": {"step_quality": (0.0, 2.0)}}
    heads = {**HEADS, "safety": HeadSettings()}
    labelled = example("a", [0, 2], 0.5, **known)
    assert set(true_values(heads, [labelled])) == {"step_quality", "consistency", "safety"}  # safety has no label
    unlabelled = example("b", [0, 2], None, **known)
    assert "correctness" in true_values(heads, [unlabelled])  # absent in label and truth alike, so never looked at
    assert true_values(STEP, [labelled, example("c", [0])]) == {}
    partly = {"step_truth": {"step_quality": (None, 2.0)}}
    assert true_values(STEP, [labelled, example("d", [0, 2], **partly)]) == {}
    assert "step_quality" in true_values(STEP, [labelled, example("d", [None, 2], **partly)])
    assert true_values(heads, []) == {}


def test_the_table_has_every_head_and_none_where_there_is_nothing():
    found = {
        "model": {
            "correctness": Figure(0.4, 7),
            "step_quality": Figure(None, 0, "no labels"),
            "consistency": Figure(0.8, 9),
        },
        "ceiling": {"consistency": Figure(0.9, 9)},
    }
    rows = {row.head: row for row in table(HEADS, found)}
    assert list(rows) == list(HEADS)
    assert rows["correctness"] == HeadRow("correctness", "explained share", 7, 0.0, None, None, 0.4, None)
    assert rows["step_quality"] == HeadRow("step_quality", "quadratic kappa", 0, 0.0, None, None, None, None)
    assert rows["consistency"] == HeadRow("consistency", "pair accuracy", 9, 0.5, None, None, 0.8, 0.9)
    assert rows["consistency"].way(rows["consistency"].model) == pytest.approx(0.75)
    assert [row.n for row in table(HEADS, {})] == [0, 0, 0]
