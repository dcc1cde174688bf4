import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from rmtrain.config.model import HeadSettings, TrainerSettings, as_heads
from rmtrain.dataset.examples import Example
from rmtrain.errors import ConfigError, DataError, ModelError
from rmtrain.model.module import TrainingModule
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import predict
from rmtrain.model.train import LabelledSet, check_trainer, fit

NAN, INF = float("nan"), float("inf")
Build = Callable[..., RewardNetwork]
Labelled = Callable[..., LabelledSet]


@pytest.mark.parametrize("tune", ["frozen", "top", "full"])
def test_a_small_set_is_learned_by_heart(
    tune: str, build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    data = labelled(9)
    model = build(tune=tune)
    before = model.backbone.digest()
    settings = replace(trainer, epochs=40, lr_heads=1e-2)
    fitted = fit(model, data, data, settings, folder=tmp_path)
    last = fitted.history[-1].values
    assert last["val_kappa/step_quality"] > 0.95
    assert last["val_r2/correctness"] > 0.9
    assert last["val_accuracy/consistency"] == 1.0
    assert (model.backbone.digest() == before) == (tune == "frozen")
    # the model that comes back is the one of the best epoch
    values = {item.trajectory_id: item.values["correctness"] for item in predict(model, data.examples).items}
    known = [(values[e.trajectory_id], e.trajectory_labels["correctness"]) for e in data.examples]
    errors = [(float(a) - b) ** 2 for a, b in known if b is not None]
    spread = np.var([b for _, b in known if b is not None])
    best = fitted.history[fitted.best_epoch].values["val_r2/correctness"]
    assert 1 - np.mean(errors) / spread == pytest.approx(best, abs=1e-3)


def test_history_has_every_figure_of_every_head(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    fitted = fit(build(), labelled(12), labelled(9, seed=1), trainer, folder=tmp_path)
    assert [epoch.epoch for epoch in fitted.history] == [0, 1, 2]
    keys = set(fitted.history[0].values)
    for name in ("correctness", "step_quality", "consistency"):
        assert {f"train_loss/{name}", f"val_loss/{name}", f"loss_weight/{name}"} <= keys
    assert {"val_r2/correctness", "val_kappa/step_quality", "val_accuracy/consistency", "val_criterion"} <= keys
    best = min(fitted.history, key=lambda epoch: epoch.values["val_criterion"])
    assert fitted.best_epoch == best.epoch
    assert not fitted.model.training


@pytest.mark.parametrize(
    "raw",
    [
        {"correctness": {}, "consistency": {"objective": "bradley_terry"}},
        {
            "correctness": {},
            "step_quality": {"level": "step", "objective": "ordinal"},
            "consistency": {"objective": "bradley_terry"},
            "tool_efficiency": {"early": 2.0},
            "safety": {"level": "step", "objective": "bce", "late": 3.0},
        },
    ],
)
def test_two_heads_and_a_fifth_train_from_settings_alone(
    raw: dict[str, dict[str, object]], build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    def more(example: Example, number: int) -> Example:
        steps = tuple(0.3 + 0.1 * (i % 3) for i in range(len(example.blocks)))
        return replace(
            example,
            trajectory_labels={**example.trajectory_labels, "tool_efficiency": number % 2 / 1},
            step_labels={**example.step_labels, "safety": steps},
        )

    data = labelled(12)
    data = LabelledSet([more(example, i) for i, example in enumerate(data.examples)], data.pairs)
    model = build(heads=as_heads(raw))
    fitted = fit(model, data, data, replace(trainer, epochs=1), folder=tmp_path)
    assert {key.split("/")[1] for key in fitted.history[0].values if key.startswith("val_loss/")} == set(raw)
    assert list(predict(model, data.examples[:1]).items[0].values) == list(raw)


class Recorder(pl.Callback):
    """Keeps the loss of every step and the weights it used."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.seen: dict[int, tuple[float, dict[str, float]]] = {}
        self.stop_at = stop_at

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: dict[str, torch.Tensor], *_: object
    ) -> None:
        assert isinstance(module, TrainingModule)
        self.seen[trainer.global_step] = (outputs["loss"].item(), module.weights())
        if trainer.global_step == self.stop_at:
            raise RuntimeError("crash")


# epochs of 4 steps; a crash after step 7 goes back to the end of an epoch, or to the last even step
@pytest.mark.parametrize(("every", "first"), [(None, 5), (2, 7)], ids=["end of epoch", "middle of epoch"])
def test_a_resumed_run_is_the_uninterrupted_one(
    every: int | None,
    first: int,
    build: Build,
    labelled: Labelled,
    trainer: TrainerSettings,
    tmp_path: Path,
) -> None:
    heads = {
        "correctness": HeadSettings(early=3.0, late=0.5),
        "step_quality": HeadSettings(level="step", objective="ordinal"),
        "consistency": HeadSettings(objective="bradley_terry"),
    }
    data, held = labelled(16), labelled(6, seed=1)

    def run(folder: Path, recorder: Recorder, resume: bool = False) -> list[dict[str, float]]:
        model = build(tune="full", heads=heads)
        model.scorer.encoder.layers[0].dropout1.p = 0.3  # the random state matters
        mid = {"every_n_train_steps": every, "enable_version_counter": False}
        more = [] if every is None else [ModelCheckpoint(folder, "last", **mid)]
        found = fit(model, data, held, trainer, folder=folder, callbacks=[recorder, *more], resume=resume)
        return [epoch.values for epoch in found.history]

    whole, before, after = Recorder(), Recorder(stop_at=7), Recorder()
    history = run(tmp_path / "whole", whole)
    with pytest.raises(RuntimeError, match="crash"):
        run(tmp_path / "broken", before)
    assert (tmp_path / "broken" / "last.ckpt").is_file()
    resumed = run(tmp_path / "broken", after, resume=True)
    assert min(after.seen) == first
    assert max(after.seen) == max(whole.seen) == 12
    assert before.seen | after.seen == whole.seen
    assert resumed == history


def test_early_stopping_and_no_validation(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    data = labelled(9)
    still = replace(trainer, epochs=9, patience=2, lr_heads=1e-30, weight_decay=0.0)  # too little to move a weight
    stopped = fit(build(), data, labelled(6, seed=1), still, folder=tmp_path / "a")
    assert len(stopped.history) == 3
    assert stopped.best_epoch == 0
    whole = fit(build(), data, None, still, folder=tmp_path / "b")
    assert len(whole.history) == 9
    assert whole.best_epoch == 8
    assert "val_criterion" not in whole.history[0].values
    assert stopped.notes == ()
    assert whole.notes == (
        "no validation: the last epoch is kept.",
        "trainer.patience=2 has no effect: validation cannot compare the epochs.",
    )


def test_without_validation_or_patience_one_note_is_enough(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    for number, held in enumerate((None, LabelledSet([]))):
        fitted = fit(build(), labelled(9), held, replace(trainer, epochs=1), folder=tmp_path / str(number))
        assert fitted.notes == ("no validation: the last epoch is kept.",)


def test_a_head_without_validation_labels_is_said_and_left_out(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    held = LabelledSet(labelled(6, seed=1).examples)
    fitted = fit(build(), labelled(9), held, replace(trainer, epochs=1), folder=tmp_path)
    assert fitted.notes == ("head 'consistency' has no pairs in validation: it has no validation figures.",)
    assert fitted.history[0].undefined == {"val_accuracy/consistency": "no pairs"}
    assert "val_loss/consistency" not in fitted.history[0].values


def test_validation_that_cannot_choose_keeps_the_last_epoch(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    bare = [replace(e, trajectory_labels={}, step_labels={}) for e in labelled(6, seed=1).examples]
    fitted = fit(build(), labelled(9), LabelledSet(bare), replace(trainer, patience=1), folder=tmp_path)
    assert fitted.best_epoch == 2
    assert fitted.notes[-2:] == (
        "no head can choose an epoch by validation: the last one is kept.",
        "trainer.patience=1 has no effect: validation cannot compare the epochs.",
    )


def test_the_bar_counts_epochs_from_one(
    build: Build,
    labelled: Labelled,
    trainer: TrainerSettings,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fit(build(), labelled(), labelled(6, 1), replace(trainer, progress=True, epochs=2), folder=tmp_path)
    shown = "".join(capfd.readouterr())
    assert [f"epoch {number} of 2" in shown for number in range(4)] == [False, True, True, False]
    assert "Epoch" not in shown


def test_cuts_and_tokens_are_reported(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    data = labelled(9)
    long = replace(data.examples[0], blocks=("good " + "w1 " * 99,), step_labels={})
    data = LabelledSet([long, *data.examples[1:]], data.pairs)
    fitted = fit(build(), data, None, replace(trainer, epochs=1), folder=tmp_path)
    assert (fitted.cuts.blocks, fitted.cuts.block_tokens) == (1, 70)
    assert fitted.n_tokens == predict(fitted.model, data.examples).n_tokens


def test_bf16_trains(build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path) -> None:
    settings = replace(trainer, precision="bf16-mixed", epochs=2)
    fitted = fit(build(tune="full"), labelled(9), labelled(6, seed=1), settings, folder=tmp_path)
    assert all(parameter.dtype == torch.float32 for parameter in fitted.model.parameters())
    assert np.isfinite(list(fitted.history[-1].values.values())).all()


def test_a_terminated_run_does_not_exit_as_if_it_had_finished(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    class Terminate(pl.Callback):
        def on_train_batch_start(self, *_: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as stopped:
        fit(build(), labelled(9), None, trainer, folder=tmp_path, callbacks=[Terminate()])
    assert stopped.value.code == 143


@pytest.mark.parametrize("how", ["raised", "sent"])
def test_an_interrupted_run_says_so_and_leaves_the_signal_as_it_was(
    how: str, build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    class Interrupt(pl.Callback):
        def on_train_epoch_start(self, trainer: pl.Trainer, *_: object) -> None:
            if trainer.current_epoch == 1:
                if how == "raised":
                    raise KeyboardInterrupt
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(build(), labelled(9), None, trainer, folder=tmp_path, callbacks=[Interrupt()])
    assert signal.getsignal(signal.SIGINT) is before
    assert (tmp_path / "last.ckpt").is_file()  # of the epoch before


@pytest.mark.parametrize("was_there", [False, True])
def test_a_full_disk_ends_training_in_a_sentence_and_leaves_nothing(
    was_there: bool,
    build: Build,
    labelled: Labelled,
    trainer: TrainerSettings,
    full_disk: Callable[..., AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "checkpoints"
    if was_there:
        folder.mkdir()
        (folder / "last.ckpt").write_bytes(b"older")
    model, data = build(), labelled(9)
    with (
        full_disk(1000),
        pytest.raises(ModelError, match=r"\.ckpt cannot be written \(File too large\)"),
    ):
        fit(model, data, None, trainer, folder=folder)
    assert [path.read_bytes() for path in tmp_path.rglob("*.ckpt")] == ([b"older"] if was_there else [])
    assert folder.exists() == was_there
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".ckpt"] == []


def test_a_cache_that_cannot_be_written_is_one_note_and_no_end(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    settings = replace(trainer, epochs=1)
    fitted = fit(build(), labelled(9), labelled(6, seed=1), settings, folder=tmp_path / "a", cache=tmp_path / "cache")
    (note,) = fitted.notes
    assert note.startswith(f"the backbone's vectors could not be kept in {tmp_path}/cache (")
    alone = fit(build(), labelled(9), labelled(6, seed=1), settings, folder=tmp_path / "b")
    assert fitted.history == alone.history


def test_two_runs_are_one(build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path) -> None:
    def run(name: str) -> list[dict[str, float]]:
        found = fit(build(), labelled(9), labelled(6, seed=1), trainer, folder=tmp_path / name)
        return [epoch.values for epoch in found.history]

    assert run("a") == run("b")
    assert not torch.are_deterministic_algorithms_enabled()


def test_labels_are_checked_before_anything_runs(
    build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="head 'consistency' has no pairs in training"):
        fit(build(), LabelledSet(labelled(6).examples), None, trainer, folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"epochs": 0}, "trainer.epochs is 0"),
        ({"accumulate": 0}, "trainer.accumulate is 0"),
        ({"devices": 2}, "trainer.devices is 2"),
        ({"warmup": 1.0}, "trainer.warmup is 1.0"),
        ({"warmup": NAN}, "trainer.warmup is nan"),
        ({"clip": -1.0}, "trainer.clip is -1.0. Expected a finite number >= 0; 0 clips nothing"),
        ({"clip": INF}, "trainer.clip is inf"),
        ({"clip": NAN}, "trainer.clip is nan"),
        ({"weight_decay": -0.01}, "trainer.weight_decay is -0.01. Expected a finite number >= 0; 0 decays nothing"),
        ({"weight_decay": INF}, "trainer.weight_decay is inf"),
        ({"lr_heads": 0.0}, "trainer.lr_heads is 0.0. Expected a finite number > 0"),
        ({"lr_heads": -1e-3}, "trainer.lr_heads is -0.001"),
        ({"lr_backbone": NAN}, "trainer.lr_backbone is nan.*set backbone.tune=frozen"),
        ({"lr_backbone": INF}, "trainer.lr_backbone is inf"),
        ({"patience": -1}, "trainer.patience is -1. Expected epochs >= 0"),
        ({"seed": -1}, "trainer.seed is -1. Expected a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "trainer.seed is 4294967296"),
        ({"precision": "64"}, "unknown precision '64'"),
        ({"precision": "16-mixed"}, "trainer.precision is 16-mixed, which needs a GPU"),
        ({"accelerator": "tpuu"}, "unknown accelerator 'tpuu'"),
        ({"accelerator": "cuda"}, "accelerator cuda is not available"),
    ],
)
def test_settings_that_cannot_run_are_refused(
    changed: dict[str, object],
    match: str,
    build: Build,
    labelled: Labelled,
    trainer: TrainerSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=match):
        check_trainer(replace(trainer, **changed))
    with pytest.raises(ConfigError, match=match):
        fit(build(), labelled(6), None, replace(trainer, **changed), folder=tmp_path)


@pytest.mark.parametrize("changed", [{"clip": 0.0}, {"weight_decay": 0.0}, {"seed": 2**32 - 1}, {"seed": 0}])
def test_the_ends_of_every_range_train(
    changed: dict[str, object], build: Build, labelled: Labelled, trainer: TrainerSettings, tmp_path: Path
) -> None:
    fitted = fit(build(), labelled(9), None, replace(trainer, epochs=1, **changed), folder=tmp_path)
    assert np.isfinite(list(fitted.history[0].values.values())).all()
