"""The table measures model, baselines and truth on test alone, with cut points from validation alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rmtrain.model.evaluation.table as score_table
from rmtrain.dataset.build import SplitData
from rmtrain.dataset.store import Dataset
from rmtrain.model.evaluation.table import HeadTable, as_values, head_table
from rmtrain.model.predict import predict

QUALITY = {"bad": 0.0, "fair": 1.0, "good": 2.0}


def knowing(data):
    """The set with true values: step quality as its words say, correctness as labelled, consistency by length."""
    return [
        replace(
            one,
            truth={"consistency": float(len(one.blocks)), "correctness": one.trajectory_labels["correctness"] or 0.0},
            step_truth={"step_quality": tuple(QUALITY[block.split()[0]] for block in one.blocks)},
        )
        for one in data.examples
    ]


@pytest.fixture
def dataset(labelled):
    splits = {
        name: SplitData(knowing(data), list(data.pairs))
        for name, data in (("train", labelled(24)), ("validation", labelled(9, 1)), ("test", labelled(12, 2)))
    }
    return Dataset({**splits, "calibration": SplitData()}, "0" * 16, "h", False, {}, Path("d"))


def test_every_column_is_there_with_truth_at_the_top(build, dataset, trainer):
    model = build()
    rows = {row.head: row for row in head_table(model, dataset, trainer, baselines=True).rows}
    assert list(rows) == list(model.card.heads)
    test = dataset.splits["test"]
    assert rows["correctness"].n == sum(e.trajectory_labels["correctness"] is not None for e in test.examples)
    assert rows["consistency"].n == sum(pair.target != 0.5 for pair in test.pairs)
    assert rows["correctness"].ceiling == 1.0
    assert rows["step_quality"].ceiling == 1.0
    assert [row.chance for row in rows.values()] == [0.0, 0.0, 0.5]
    for row in rows.values():
        assert None not in (row.majority, row.tfidf, row.model)
    assert rows["step_quality"].tfidf > 0.5  # the words say it


def test_without_baselines_or_truth_those_columns_are_empty(build, dataset, trainer):
    for data in dataset.splits.values():
        data.examples[:] = [replace(one, truth={}, step_truth={}) for one in data.examples]
    for row in head_table(build(), dataset, trainer, baselines=False).rows:
        assert (row.majority, row.tfidf, row.ceiling) == (None, None, None)
        assert row.model is not None
        assert row.way(row.model) is None


def test_without_a_test_split_there_is_no_table(build, dataset, trainer):
    dataset.splits["test"] = SplitData()
    found = head_table(build(), dataset, trainer, baselines=True)
    assert found == HeadTable(notes=found.notes)
    assert [note.split(":")[0] for note in found.notes] == ["no test tasks, so no figures"]


def test_a_cache_that_could_not_be_written_is_told_of(build, dataset, trainer, tmp_path):
    (tmp_path / "file").touch()
    model = build()
    assert head_table(model, dataset, trainer, baselines=False, cache=tmp_path / "ok").notes == ()
    (note,) = head_table(model, dataset, trainer, baselines=False, cache=tmp_path / "file").notes
    assert "could not be kept in" in note


def test_cuts_come_from_validation_only(build, dataset, trainer, monkeypatch):
    seen = []
    choose = score_table.choose_cuts

    def watch(heads, values, examples):
        seen.append(([one.trajectory_id for one in examples], {name: len(rows) for name, rows in values.items()}))
        return choose(heads, values, examples)

    monkeypatch.setattr(score_table, "choose_cuts", watch)
    head_table(build(), dataset, trainer, baselines=True)
    validation = dataset.splits["validation"].examples
    assert len(seen) == 4  # model, majority, tfidf, ceiling
    for names, lengths in seen:
        assert names == [one.trajectory_id for one in validation]
        assert set(lengths.values()) == {len(validation)}


def test_figures_are_of_the_test_split_only(build, dataset, trainer):
    model = build()
    before = head_table(model, dataset, trainer, baselines=False).rows
    one = dataset.splits["validation"].examples[0]
    dataset.splits["validation"].examples[0] = replace(one, trajectory_labels={"correctness": 0.123})
    after = head_table(model, dataset, trainer, baselines=False).rows
    assert [row.model for row in before if row.head == "correctness"] == [
        row.model for row in after if row.head == "correctness"
    ]


def test_each_family_has_its_own_figures_and_what_training_never_saw_is_named(build, dataset, trainer):
    for name, data in dataset.splits.items():
        data.examples[:] = [
            replace(one, task_family="new" if name == "test" and one.task_id == "task0" else "known")
            for one in data.examples
        ]
    model, test = build(), dataset.splits["test"]
    whole = head_table(model, dataset, trainer, baselines=True)
    assert list(whole.families) == ["known", "new"]
    assert whole.unseen == ("new",)
    for family, rows in whole.families.items():
        held = [one for one in test.examples if one.task_family == family]
        ids = {one.trajectory_id for one in held}
        kept = SplitData(held, [pair for pair in test.pairs if pair.trajectory_a in ids and pair.trajectory_b in ids])
        alone = replace(dataset, splits={**dataset.splits, "test": kept})
        assert head_table(model, alone, trainer, baselines=True).rows == rows


def test_predictions_have_one_value_per_unit(build, dataset):
    model = build()
    examples = dataset.splits["test"].examples
    values = as_values(model, predict(model, examples))
    assert [len(row) for row in values["correctness"]] == [1] * len(examples)
    assert [len(row) for row in values["step_quality"]] == [len(one.blocks) for one in examples]
    assert all(isinstance(row, np.ndarray) for rows in values.values() for row in rows)
