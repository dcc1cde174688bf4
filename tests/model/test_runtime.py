"""Checkpoints are whole or not there, an interruption stays one, and what was set before is set after."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch

from rmtrain.model.runtime import CheckpointError, CheckpointFiles, calm, interruptible


def test_a_checkpoint_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.ckpt"
    CheckpointFiles().save_checkpoint({"weights": torch.arange(3)}, path)
    assert torch.load(path, weights_only=True)["weights"].tolist() == [0, 1, 2]
    assert [file.name for file in path.parent.iterdir()] == ["a.ckpt"]


def test_a_full_disk_leaves_the_older_checkpoint(
    full_disk: Callable[..., AbstractContextManager[None]], tmp_path: Path
) -> None:
    files, path = CheckpointFiles(), tmp_path / "a.ckpt"
    files.save_checkpoint({"epoch": 1}, path)
    with full_disk(10), pytest.raises(CheckpointError, match=r"a\.ckpt cannot be written \(File too large\)\. Free"):
        files.save_checkpoint({"epoch": 2}, path)
    assert torch.load(path, weights_only=True) == {"epoch": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["a.ckpt"]


def test_a_folder_that_may_not_be_written_to_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(CheckpointError, match=r"cannot be written \(Permission denied\)"):
        CheckpointFiles().save_checkpoint({"epoch": 1}, tmp_path / "a.ckpt")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_that_became_an_exit_is_one_again() -> None:
    before = signal.getsignal(signal.SIGINT)

    def as_lightning_does() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sys.exit(1)

    with pytest.raises(KeyboardInterrupt), interruptible():
        as_lightning_does()
    assert signal.getsignal(signal.SIGINT) is before


def test_any_other_exit_stays_one_also_in_a_thread() -> None:
    with pytest.raises(SystemExit) as stopped, interruptible():
        sys.exit(3)
    assert stopped.value.code == 3
    done: list[bool] = []

    def work() -> None:
        with interruptible():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_levels_and_determinism_are_as_before() -> None:
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    level, deterministic = logger.level, torch.are_deterministic_algorithms_enabled()
    with calm():
        torch.use_deterministic_algorithms(not deterministic)
        assert logger.level == logging.WARNING
    assert (logger.level, torch.are_deterministic_algorithms_enabled()) == (level, deterministic)
