"""Labelled trajectories and pairs to a trained reward model: the whole training run on one page."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.utilities.exceptions import SIGTERMException

from rmtrain.config.model import TrainerSettings
from rmtrain.dataset.batching import BatchPlan, Loader
from rmtrain.dataset.examples import Example, Pair
from rmtrain.errors import ConfigError
from rmtrain.model.batch import Collator, Reading, TensorBatch
from rmtrain.model.features import features
from rmtrain.model.labels import check_labels
from rmtrain.model.module import CRITERION, Epoch, TrainingModule
from rmtrain.model.network import RewardNetwork
from rmtrain.model.precision import find_device, settle
from rmtrain.model.predict import make_reading
from rmtrain.model.runtime import CheckpointError, CheckpointFiles, EpochBar, calm, interruptible
from rmtrain.model.windows import Cuts

LAST = "last.ckpt"
MOST = 1_000_000_000
"""The most of any count in the trainer's settings."""


@dataclass(frozen=True)
class LabelledSet:
    """Examples and the pairs among them."""

    examples: Sequence[Example]
    pairs: Sequence[Pair] = ()


@dataclass(frozen=True)
class Fitted:
    """A trained model and how it came to be.

    Attributes:
        model: the reward model with its best weights, on the CPU.
        history: what each epoch was.
        best_epoch: the epoch whose weights it has, by `val_criterion`; the last one without validation.
        notes: sentences for the report.
        cuts: what was cut to fit, over training and validation.
        precision: what it was trained in.
        n_tokens: tokens of one pass, special tokens and repeated prefixes included.
    """

    model: RewardNetwork
    history: tuple[Epoch, ...]
    best_epoch: int
    notes: tuple[str, ...]
    cuts: Cuts
    precision: str
    n_tokens: int


def fit(
    model: RewardNetwork,
    train: LabelledSet,
    validation: LabelledSet | None,
    settings: TrainerSettings,
    *,
    folder: Path,
    cache: Path | None = None,
    callbacks: Sequence[pl.Callback] = (),
    resume: bool = False,
) -> Fitted:
    """Train a reward model.

    Args:
        model: trained in place; see `new_model`.
        train: what to learn from.
        validation: what to choose the best epoch by; None keeps the last.
        settings: the run.
        folder: where checkpoints go.
        cache: folder of cached backbone vectors, used where the backbone is frozen; None keeps none.
        callbacks: further Lightning callbacks.
        resume: go on from the last checkpoint in `folder` where there is one.

    Raises:
        DataError: a head has nothing to learn from, or a label is malformed.
        ConfigError: a setting is not allowed.
        ModelError: a head's loss is not finite, or a checkpoint cannot be written.
        KeyboardInterrupt: the user stopped it; its checkpoints stay.
    """
    check_trainer(settings)
    device = find_device(settings.accelerator)
    settings = replace(settings, precision=settle(settings.precision, device))
    heads = model.card.heads
    held = validation if validation is not None and validation.examples else None
    check = check_labels(heads, train.examples, train.pairs, *((held.examples, held.pairs) if held else ()))
    reading = make_reading(model, settings.chunk_tokens)
    notes = list(check.notes)
    loaders: list[Loader[TensorBatch]] = []
    cuts, n_tokens = Cuts(), 0
    for part, moves in ((train, True), (held, False)):
        if part is None:
            continue
        loader, part_cuts, part_tokens, note = _loader(model, part, settings, reading, cache, moves)
        loaders.append(loader)
        notes += [note] if note is not None and note not in notes else []
        cuts += part_cuts
        n_tokens += part_tokens if moves else 0
    amounts = {name: amount / settings.epochs_per_pass for name, amount in check.amounts.items()}
    module = TrainingModule(model, settings, amounts, len(loaders[0]))
    each_epoch: dict[str, Any] = {"save_on_train_epoch_end": True, "enable_version_counter": False}
    best = ModelCheckpoint(folder, "best", monitor=CRITERION, **each_epoch)
    ends: list[pl.Callback] = [ModelCheckpoint(folder, "last", **each_epoch)]
    chooses = bool(held and check.chooses)
    if held is None:
        notes.append("no validation: the last epoch is kept.")
    if not chooses and settings.patience:
        notes.append(f"trainer.patience={settings.patience} has no effect: validation cannot compare the epochs.")
    if chooses:
        ends.append(best)
        if settings.patience:
            ends.append(EarlyStopping(CRITERION, patience=settings.patience, check_on_train_epoch_end=True))
    is_new = not folder.exists()
    with calm():
        trainer = pl.Trainer(
            max_epochs=settings.epochs,
            accelerator=device.type,
            devices=settings.devices,
            precision=settings.precision,  # type: ignore[arg-type]
            accumulate_grad_batches=settings.accumulate,
            gradient_clip_val=settings.clip or None,
            callbacks=[*callbacks, *ends, *([EpochBar()] if settings.progress else [])],
            logger=False,
            enable_progress_bar=settings.progress,
            enable_model_summary=False,
            log_every_n_steps=1,
            num_sanity_val_steps=0,
            deterministic=True,
            default_root_dir=folder,
            plugins=[CheckpointFiles()],
        )
        checkpoint = folder / LAST if resume and (folder / LAST).is_file() else None
        try:
            with interruptible():
                trainer.fit(module, loaders[0], loaders[1] if held else None, ckpt_path=checkpoint, weights_only=True)
        except SIGTERMException:
            raise SystemExit(143) from None  # Lightning's own exit code would be 0, as if it had finished
        except CheckpointError:
            if is_new:
                shutil.rmtree(folder, ignore_errors=True)
            raise
    best_epoch = _restore(module, Path(best.best_model_path)) if chooses else len(module.history) - 1
    model.to("cpu").eval()
    return Fitted(model, tuple(module.history), best_epoch, tuple(notes), cuts, settings.precision, n_tokens)


def _loader(
    model: RewardNetwork,
    part: LabelledSet,
    settings: TrainerSettings,
    reading: Reading,
    cache: Path | None,
    moves: bool,
) -> tuple[Loader[TensorBatch], Cuts, int, str | None]:
    windows = model.windows(list(part.examples))
    inputs: Sequence[Any] = windows
    note = None
    if model.backbone.tune == "frozen":
        kept = features(
            model,
            part.examples,
            windows,
            reading=reading,
            precision=settings.precision,
            device=find_device(settings.accelerator),
            cache=cache,
            progress=settings.progress,
        )
        inputs, note = kept.vectors, kept.note
    pairs = [pair for pair in part.pairs if pair.head in model.card.heads]
    at = {example.trajectory_id: index for index, example in enumerate(part.examples)}
    tokens = [item.n_tokens for item in windows]
    plan = BatchPlan(
        tokens,
        [(at[pair.trajectory_a], at[pair.trajectory_b]) for pair in pairs],
        budget=settings.batch_tokens,
        seed=settings.seed,
        epochs=settings.epochs if moves else 1,
        epochs_per_pass=settings.epochs_per_pass if moves else 1,
        shuffle=moves,
    )
    collate = Collator(part.examples, pairs, model.card.heads, inputs, reading)
    return Loader(plan, collate, moves=moves), sum((item.cuts for item in windows), Cuts()), sum(tokens), note


def _restore(module: TrainingModule, path: Path) -> int:
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    module.load_state_dict(checkpoint["state_dict"])
    return int(checkpoint["epoch"])


def check_trainer(settings: TrainerSettings) -> None:
    """Refuse settings that cannot train, or that would train otherwise than they say.

    Raises:
        ConfigError: a number is outside its range, or the machine has no such device or precision.
    """
    for field in ("epochs", "epochs_per_pass", "batch_tokens", "chunk_tokens", "accumulate"):
        if not 1 <= getattr(settings, field) <= MOST:
            raise ConfigError(
                f"trainer.{field} is {getattr(settings, field):,}. Expected a whole number from 1 to {MOST:,}."
            )
    if settings.epochs % settings.epochs_per_pass:
        raise ConfigError(
            f"trainer.epochs is {settings.epochs} and trainer.epochs_per_pass {settings.epochs_per_pass}, so the last "
            f"pass would leave data out. Set trainer.epochs to a multiple of {settings.epochs_per_pass}."
        )
    if settings.devices != 1:
        raise ConfigError(
            f"trainer.devices is {settings.devices}, but training runs on one device. Set trainer.devices=1."
        )
    if not 0 <= settings.warmup < 1:
        raise ConfigError(f"trainer.warmup is {settings.warmup}. Expected a share of the steps in [0, 1).")
    for field in ("lr_backbone", "lr_heads"):
        rate = getattr(settings, field)
        if not (rate > 0 and math.isfinite(rate)):
            raise ConfigError(
                f"trainer.{field} is {rate}. Expected a finite number > 0; to train the heads alone set "
                "backbone.tune=frozen."
            )
    for field, nothing in (("weight_decay", "decays nothing"), ("clip", "clips nothing")):
        value = getattr(settings, field)
        if not (value >= 0 and math.isfinite(value)):
            raise ConfigError(f"trainer.{field} is {value}. Expected a finite number >= 0; 0 {nothing}.")
    if settings.patience < 0:
        raise ConfigError(f"trainer.patience is {settings.patience}. Expected epochs >= 0; 0 never stops early.")
    if not 0 <= settings.seed < 2**32:
        raise ConfigError(f"trainer.seed is {settings.seed}. Expected a whole number from 0 to {2**32 - 1}.")
    device = find_device(settings.accelerator)
    if settle(settings.precision, device) == "16-mixed" and device.type == "cpu":
        raise ConfigError(
            "trainer.precision is 16-mixed, which needs a GPU to train, and this is a CPU. "
            "Set trainer.precision to auto, bf16-mixed or 32-true."
        )
