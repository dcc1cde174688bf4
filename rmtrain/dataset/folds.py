"""Folds for cross-validation, by `task_id`: all trajectories of a task are in one fold."""

from collections.abc import Iterable
from random import Random

from rmtrain.errors import ConfigError


def task_folds(task_ids: Iterable[str], n_folds: int, seed: int) -> list[frozenset[str]]:
    """Divide tasks into folds whose sizes differ by one at most.

    Args:
        task_ids: the tasks; each counts once, whatever their order.
        n_folds: number of folds, at least 2.
        seed: another seed gives another division.

    Raises:
        ConfigError: there are fewer tasks than folds, or fewer than 2 folds.
    """
    tasks = sorted(set(task_ids))
    if len(tasks) < 2:
        raise ConfigError(f"one task cannot be divided into {n_folds} folds. Label trajectories of more tasks.")
    if n_folds < 2 or len(tasks) < n_folds:
        raise ConfigError(f"{len(tasks)} tasks cannot be divided into {n_folds} folds. Expected 2 to {len(tasks)}.")
    Random(f"folds/{seed}").shuffle(tasks)
    return [frozenset(tasks[start::n_folds]) for start in range(n_folds)]
