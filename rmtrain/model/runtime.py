"""Lightning as needed here: checkpoints whole or not at all, epochs from 1, Ctrl-C as anywhere else, no banners."""

import io
import logging
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.plugins.io import TorchCheckpointIO

from rmtrain.errors import ModelError


class CheckpointError(ModelError):
    """A checkpoint cannot be written."""


class CheckpointFiles(TorchCheckpointIO):
    """Checkpoints as files, whole or not at all; Lightning's own passes over a folder it may not write to."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        target = Path(path)
        partial = target.with_name(f".{target.name}.partial")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(buffer.getbuffer())
            os.replace(partial, target)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise CheckpointError(
                f"checkpoint {path} cannot be written ({error.strerror}). "
                "Free some space or mend the folder's rights, and train again."
            ) from error


class EpochBar(TQDMProgressBar):
    """Lightning's progress bar with epochs counted from 1, as everywhere else, out of how many."""

    def on_train_epoch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        self.train_progress_bar.reset(self.total_train_batches)
        self.train_progress_bar.set_description(f"epoch {trainer.current_epoch + 1} of {trainer.max_epochs}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends what is inside as it ends anything else; Lightning would exit with 1 and leave the signal ignored."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        if handler is not None and signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def calm() -> Iterator[None]:
    """Lightning without its banners, and torch's global determinism as it was before."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    names = ("lightning.pytorch.utilities.rank_zero", "lightning.pytorch.accelerators.cuda")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            yield
    finally:
        torch.use_deterministic_algorithms(deterministic)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
