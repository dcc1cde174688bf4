"""Which tasks train, validate, calibrate and test: by `task_id`, so that no task is on two sides."""

import hashlib
from collections.abc import Mapping

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import SPLITS, Split


def split_of(task_id: str, shares: Mapping[str, float], seed: int) -> Split:
    """The split of a task: a hash of its id and the seed, cut by the shares.

    Adding tasks later moves no task that was there before.

    Args:
        task_id: the task.
        shares: share of tasks per split, in [0, 1], summing to 1.
        seed: another seed gives another assignment.
    """
    point = int.from_bytes(hashlib.sha256(f"{seed}/{task_id}".encode()).digest()[:8], "big") / 2**64
    for split in SPLITS:
        point -= shares.get(split, 0.0)
        if point < 0:
            return split
    return SPLITS[0]


def refuse_leak(splits_of_tasks: Mapping[str, set[Split]]) -> None:
    """Check that every task is in one split.

    Args:
        splits_of_tasks: task_id to all splits in which it occurs.

    Raises:
        DataError: a task is in several; the message names the first such task.
    """
    for task_id, splits in sorted(splits_of_tasks.items()):
        if len(splits) > 1:
            raise DataError(
                f"task '{task_id}' is in {' and '.join(sorted(splits))}. A task must be in one split, or the test "
                "measures memory: give all its trajectories the same source.split, or none."
            )
