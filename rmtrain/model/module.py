"""Training as Lightning sees it: weighted losses of all heads in one step, per-head figures per epoch.

Each head's loss is the sum over its labels in the batch, divided by the labels a batch holds on average
over the epoch: so neither batch composition nor accumulation changes the objective. The loss weights are
computed in every step from the epoch alone, because a hook at the epoch's start is skipped on resume.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from rmtrain.config.model import TrainerSettings
from rmtrain.errors import ModelError
from rmtrain.model import losses
from rmtrain.model.batch import TensorBatch
from rmtrain.model.encoder import embed
from rmtrain.model.heads import head_values
from rmtrain.model.metrics import (
    Figure,
    constant_bce,
    constant_ordinal,
    explained_share,
    pair_accuracy,
    quadratic_kappa,
)
from rmtrain.model.network import RewardNetwork
from rmtrain.model.objectives import OBJECTIVES
from rmtrain.schedule import check_schedule, loss_weights

CRITERION = "val_criterion"
"""Metric key of the mean over heads of validation loss / loss of the best constant: what the epoch is chosen by."""

Logits = dict[str, Float[Tensor, "batch ..."]]


@dataclass(frozen=True)
class Epoch:
    """What one epoch was.

    Attributes:
        epoch: from 0.
        values: metric key to value, as logged.
        undefined: metric key to the reason why it has no value.
    """

    epoch: int
    values: dict[str, float]
    undefined: dict[str, str]


class TrainingModule(pl.LightningModule):
    """Loss, optimizer and figures of one training run.

    Args:
        model: trained in place. Its backbone is part of this module only where it is trained.
        settings: epochs, learning rates, seed.
        amounts: head name to its labels in an epoch on average, or the sum of its pair weights.
        n_batches: batches in an epoch, > 0.
    """

    def __init__(
        self, model: RewardNetwork, settings: TrainerSettings, amounts: dict[str, float], n_batches: int
    ) -> None:
        super().__init__()
        check_schedule(model.card.schedule, model.card.heads)
        self.heads = model.card.heads
        self.schedule = model.card.schedule
        self.settings = settings
        self.scorer = model.scorer
        self.backbone = None if model.backbone.tune == "frozen" else model.backbone
        self.n_batches = n_batches
        self.expected = {name: amount / n_batches for name, amount in amounts.items()}
        self.log_variances: nn.ParameterDict | None = None
        if self.schedule.kind == "uncertainty":
            self.log_variances = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in self.heads})
        self.history: list[Epoch] = []
        self._sums: dict[str, list[float]] = {}
        self._seen: dict[str, list[tuple[NDArray[Any], NDArray[Any]]]] = {}
        self._validated: tuple[dict[str, float], dict[str, str]] = ({}, {})

    def forward(self, batch: TensorBatch) -> Logits:
        vectors = batch.vectors
        if vectors is None:
            assert self.backbone is not None
            assert batch.chunks is not None
            vectors = embed(self.backbone, batch.chunks)
        found: Logits = self.scorer(vectors, batch.step_mask)
        return found

    def loss_sums(self, logits: Logits, batch: TensorBatch) -> dict[str, losses.LossSum]:
        """Head name to its sum of losses over the batch's labels and what it is a sum over."""
        found = {}
        for name, head in self.heads.items():
            if head.objective == "bradley_terry":
                pairs, score = batch.pairs[name], logits[name][..., 0]
                found[name] = losses.bradley_terry(score[pairs.a] - score[pairs.b], pairs.targets, pairs.weights)
            elif head.objective == "ordinal":
                found[name] = losses.ordinal(logits[name], batch.labels[name].targets, batch.labels[name].mask)
            else:
                found[name] = losses.bce(logits[name][..., 0], batch.labels[name].targets, batch.labels[name].mask)
        return found

    def weights(self) -> dict[str, float]:
        """Loss weight of each head now; they always sum to the schedule's total."""
        if self.log_variances is None:
            return loss_weights(self.schedule, self.heads, self.current_epoch, self.settings.epochs)
        shares = torch.stack([-self.log_variances[name].detach() for name in self.heads]).softmax(0)
        return {name: self.schedule.total * float(share) for name, share in zip(self.heads, shares, strict=True)}

    def training_step(self, batch: TensorBatch, batch_idx: int) -> Tensor:
        sums = self.loss_sums(self(batch), batch)
        weights = self.weights()
        total: Tensor = next(iter(sums.values()))[0].new_zeros(())
        for name, (loss_sum, amount) in sums.items():
            self._check(name, loss_sum, batch, f"training batch {batch_idx}")
            loss = loss_sum / self.expected[name]
            total = total + weights[name] * loss
            if self.log_variances is not None:
                # the network above, and the log variance here, each learn from a loss of their own
                log_variance = self.log_variances[name]
                total = total + (-log_variance).exp() * loss.detach() + log_variance
            running = self._sums.setdefault(name, [0.0, 0.0])
            running[0] += float(loss_sum.detach())
            running[1] += amount
        return total

    def on_train_batch_start(self, batch: TensorBatch, batch_idx: int) -> None:
        # dropout of a resumed run must be that of the uninterrupted one, wherever it was stopped
        torch.manual_seed(self.settings.seed + self.global_step * 1_000_003 + batch_idx)

    def on_train_epoch_end(self) -> None:
        values = {f"train_loss/{name}": total / n for name, (total, n) in self._sums.items() if n}
        values |= {f"loss_weight/{name}": weight for name, weight in self.weights().items()}
        values |= {f"lr/{group['name']}": group["lr"] for group in self.trainer.optimizers[0].param_groups}
        self._sums = {}
        self.log_dict(values)
        validated, undefined = self._validated
        self.history.append(Epoch(self.current_epoch, values | validated, undefined))

    def on_validation_epoch_start(self) -> None:
        self._seen = {name: [] for name in self.heads}
        self._val_sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def validation_step(self, batch: TensorBatch, batch_idx: int) -> None:
        logits = self(batch)
        for name, (loss_sum, amount) in self.loss_sums(logits, batch).items():
            self._check(name, loss_sum, batch, f"validation batch {batch_idx}")
            self._val_sums[name][0] += float(loss_sum)
            self._val_sums[name][1] += amount
        for name, head in self.heads.items():
            if head.objective == "bradley_terry":
                pairs, score = batch.pairs[name], logits[name][..., 0]
                found, target = score[pairs.a] - score[pairs.b], pairs.targets
            else:
                labels = batch.labels[name]
                found, target = head_values(head, logits[name])[labels.mask], labels.targets[labels.mask]
            self._seen[name].append((found.float().cpu().numpy(), target.cpu().numpy().astype(np.float64)))

    def on_validation_epoch_end(self) -> None:
        values: dict[str, float] = {}
        undefined: dict[str, str] = {}
        relative: list[float] = []
        for name in self.heads:
            loss_sum, amount = self._val_sums[name]
            key, figure, constant = self._figure(name)
            if figure.value is None:
                undefined[key] = figure.reason or ""
            else:
                values[key] = figure.value
            if amount:
                values[f"val_loss/{name}"] = loss_sum / amount
                if constant:
                    relative.append(loss_sum / amount / constant)
        if relative:
            values[CRITERION] = float(np.mean(relative))
        self._validated = (values, undefined)
        self.log_dict(values)

    def _check(self, name: str, loss_sum: Tensor, batch: TensorBatch, where: str) -> None:
        if not torch.isfinite(loss_sum):
            raise ModelError(
                f"the loss of head '{name}' is {float(loss_sum.detach())} in epoch {self.current_epoch}, {where} "
                f"(trajectories {', '.join(batch.trajectory_ids)}). Lower trainer.lr_heads or trainer.lr_backbone, "
                "or set trainer.precision=32-true."
            )

    def _figure(self, name: str) -> tuple[str, Figure, float | None]:
        head = self.heads[name]
        found = np.concatenate([values for values, _ in self._seen[name]])
        targets = np.concatenate([targets for _, targets in self._seen[name]])
        key = f"val_{OBJECTIVES[head.objective].key}/{name}"
        if head.objective == "bradley_terry":
            return key, pair_accuracy(found, targets), float(np.log(2))
        if head.objective == "ordinal":
            classes = np.rint(found * (head.classes - 1)).astype(np.int64)
            return key, quadratic_kappa(classes, targets), constant_ordinal(targets)
        return key, explained_share(found, targets), constant_bce(targets)

    def configure_optimizers(self) -> Any:
        groups = parameter_groups(self, self.settings)
        is_scaled = self.settings.precision == "16-mixed"
        optimizer = torch.optim.AdamW(groups, fused=not is_scaled and self.device.type in ("cpu", "cuda"))
        # not the trainer's estimate: that sets the loader up before a resumed run restores its place
        total = math.ceil(self.n_batches / self.settings.accumulate) * self.settings.epochs
        warmup = round(self.settings.warmup * total)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_share(step, warmup, total))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        # Lightning refuses to clip for a fused optimizer, for fear of gradients that are still scaled: ours never are
        if gradient_clip_val:
            nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["rmtrain"] = {
            "history": [(e.epoch, e.values, e.undefined) for e in self.history],
            "sums": self._sums,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.history = [Epoch(*entry) for entry in checkpoint["rmtrain"]["history"]]
        self._sums = {name: list(value) for name, value in checkpoint["rmtrain"]["sums"].items()}


def learning_rate_share(step: int, warmup: int, total: int) -> float:
    """Share of the peak learning rate: linear rise over `warmup` steps, then linear decay towards 0 at `total`."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(total - step, 0) / max(total - warmup, 1)


def parameter_groups(module: TrainingModule, settings: TrainerSettings) -> list[dict[str, Any]]:
    """Trained parameters by learning rate and decay; vectors (norms, biases, queries) do not decay."""
    groups: dict[tuple[str, bool], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            part = name.split(".", 1)[0]
            groups["backbone" if part == "backbone" else part, part != "log_variances" and parameter.ndim > 1].append(
                parameter
            )
    return [
        {
            "name": f"{part}{'' if decays else '_vectors'}",
            "params": parameters,
            "lr": settings.lr_backbone if part == "backbone" else settings.lr_heads,
            "weight_decay": settings.weight_decay if decays else 0.0,
        }
        for (part, decays), parameters in groups.items()
    ]
