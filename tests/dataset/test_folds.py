"""Folds by task: every task in one, sizes alike, and the same for the same seed whatever the order."""

import pytest

from rmtrain.dataset.folds import task_folds
from rmtrain.errors import ConfigError


def test_every_task_is_in_one_fold_and_sizes_differ_by_one_at_most():
    folds = task_folds([f"t{i % 10}" for i in range(50)], 4, seed=0)
    assert sorted(task for fold in folds for task in fold) == sorted(f"t{i}" for i in range(10))
    assert sorted(len(fold) for fold in folds) == [2, 2, 3, 3]


def test_order_changes_nothing_and_the_seed_does():
    tasks = [f"t{i}" for i in range(25)]
    assert task_folds(tasks, 4, 1) == task_folds(tasks[::-1], 4, 1)
    assert task_folds(tasks, 4, 1) != task_folds(tasks, 4, 2)


@pytest.mark.parametrize("n_folds", [0, 1, 4])
def test_folds_that_cannot_be_made(n_folds):
    with pytest.raises(ConfigError, match=rf"^3 tasks cannot be divided into {n_folds} folds\. Expected 2 to 3\.$"):
        task_folds(["a", "b", "c"], n_folds, 0)
