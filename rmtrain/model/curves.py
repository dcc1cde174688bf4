"""Figures of a training run, handed on after every epoch."""

from collections.abc import Callable, Mapping
from typing import Any

import lightning.pytorch as pl

from rmtrain.model.module import TrainingModule


class Curves(pl.Callback):
    """Passes on what the module measured. (Lightning takes the name `log` of a callback for itself.)

    Args:
        send: called with metric key to value, and the epoch from 0 as the step.
    """

    def __init__(self, send: Callable[[Mapping[str, float], int], None]) -> None:
        self.send = send

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        assert isinstance(pl_module, TrainingModule)
        if pl_module.history:
            latest = pl_module.history[-1]
            self.send(latest.values, latest.epoch)
