"""Tasks are divided by a hash of their id: stable, by the shares, and never on two sides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.dataset.split import refuse_leak, split_of
from rmtrain.errors import DataError
from rmtrain.trajectories.schema import SPLITS

SHARES = {"train": 0.6, "validation": 0.15, "calibration": 0.1, "test": 0.15}


def test_shares_are_met_and_every_task_keeps_its_split():
    found = [split_of(f"task-{i}", SHARES, 0) for i in range(4000)]
    for split, share in SHARES.items():
        assert found.count(split) / 4000 == pytest.approx(share, abs=0.03)
    assert found == [split_of(f"task-{i}", SHARES, 0) for i in range(4000)]
    assert found != [split_of(f"task-{i}", SHARES, 1) for i in range(4000)]


@settings(deadline=None)
@given(st.text(), st.integers(0, 5), st.sampled_from(SPLITS))
def test_a_share_of_one_takes_all_and_of_zero_none(task_id, seed, split):
    assert split_of(task_id, {split: 1.0}, seed) == split
    others = {name: 1 / 3 for name in SPLITS if name != split}
    assert split_of(task_id, others, seed) != split


def test_raising_the_share_of_train_takes_no_task_out_of_it():
    more = {"train": 0.8, "validation": 0.1, "calibration": 0.05, "test": 0.05}
    for i in range(500):
        if split_of(f"task-{i}", SHARES, 0) == "train":
            assert split_of(f"task-{i}", more, 0) == "train"


def test_a_task_on_two_sides_is_refused():
    refuse_leak({"a": {"train"}, "b": {"test"}})
    with pytest.raises(DataError, match=r"^task 'b' is in test and train\. A task must be in one split"):
        refuse_leak({"a": {"train"}, "c": {"test", "validation"}, "b": {"train", "test"}})
