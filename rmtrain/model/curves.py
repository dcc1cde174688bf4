"""Figures of a training run, handed on after every epoch."""

from collections.abc import Callable, Mapping
from typing import Any

import lightning.pytorch as pl

from rmtrain.model.module import TrainingModule


class Curves(pl.Callback):
    """Passes on what the module measured. (Lightning takes the name `log` of a callback for itself.)

    Args:
        send: called with metric key to value, and the epoch from 0 as the step, once for each epoch that ended.
    """

    def __init__(self, send: Callable[[Mapping[str, float], int], None]) -> None:
        self.send = send
        self._n_sent = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self._n_sent = len(pl_module.history)  # a resumed run has sent these already

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self._send_new(pl_module)  # Lightning ends an epoch for callbacks before it does for the module

    def on_train_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self._send_new(pl_module)

    def _send_new(self, module: Any) -> None:
        assert isinstance(module, TrainingModule)
        for epoch in module.history[self._n_sent :]:
            self.send(epoch.values, epoch.epoch)
        self._n_sent = len(module.history)
