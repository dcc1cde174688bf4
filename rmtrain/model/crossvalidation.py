"""Every task judged by a model that never saw it; what is chosen is chosen inside the training folds.

Small labelled sets have no test split worth the name. Here each fold is the test set once. A recipe has a few
options (numbers of epochs, strengths of regularisation): the one with the smallest loss on folds of the training tasks
is taken, and so are the points at which its values are cut into classes, by one rule for every recipe.
"""

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rmtrain.config.crossvalidation import FoldSettings
from rmtrain.config.model import HeadSettings, TrainerSettings
from rmtrain.dataset.examples import Example, Value, unit_labels
from rmtrain.dataset.folds import task_folds
from rmtrain.errors import ConfigError
from rmtrain.model.evaluation.baselines import Array, step_logistic
from rmtrain.model.evaluation.figures import choose_cuts
from rmtrain.model.metrics import plain_kappa
from rmtrain.model.network import RewardNetwork
from rmtrain.model.precision import find_device
from rmtrain.model.predict import predict
from rmtrain.model.train import MOST, LabelledSet, fit

Classes = tuple[int, ...]
Taught = Mapping[str, tuple[Value, ...]]
"""trajectory_id to further labels of its steps, that teach where the trajectory is in training."""
Recipe = Callable[[Sequence[int], Sequence[int], Any], dict[int, Array]]
"""Indices to learn from, indices to judge, an option → class probabilities [steps, classes] by index."""


@dataclass(frozen=True)
class OutOfFold:
    """What a recipe says of every example without having seen its task.

    Attributes:
        classes: class of each step, by example.
        chosen: the option taken for each fold.
    """

    classes: list[Classes]
    chosen: tuple[Any, ...] = ()


@dataclass
class Crossvalidation:
    """A step head, the examples that are labelled for it, and how tasks are divided.

    Attributes:
        name: the head.
        head: its settings: a step head with classes.
        examples: all of them.
        folds: how tasks are divided.
        notes: sentences about what happened on the way, and how often each.
    """

    name: str
    head: HeadSettings
    examples: Sequence[Example]
    folds: FoldSettings
    notes: Counter[str] = field(default_factory=Counter)

    def run(
        self, recipe: Recipe, options: Sequence[Any], seed: int, done: Callable[[], object] = lambda: None
    ) -> OutOfFold:
        """Let a recipe say of every example what it learned from the other folds.

        Args:
            recipe: learns and tells.
            options: what it is tried with on the training tasks.
            seed: of the division into folds.
            done: called after each fold.

        Raises:
            ConfigError: the folds are not possible.
            DataError: a training part has nothing to learn from.
        """
        classes: dict[int, Classes] = {}
        chosen: list[Any] = []
        for train, test in self._divided(range(len(self.examples)), "number", seed):
            tried: list[dict[int, Array]] = []
            for option in options:
                held: dict[int, Array] = {}
                for rest, part in self._divided(train, "inner", seed):
                    held |= recipe(rest, part, option)
                tried.append(held)
            best = int(np.argmin([self._loss(held) for held in tried]))
            chosen.append(options[best])
            cuts = choose_cuts(
                {self.name: self.head},
                {self.name: [self._values(tried[best][index]) for index in train]},
                [self.examples[index] for index in train],
                plain_kappa,
            )[self.name]
            for index, found in recipe(train, test, options[best]).items():
                classes[index] = tuple(np.digitize(self._values(found), cuts).tolist())
            done()
        return OutOfFold([classes[index] for index in range(len(self.examples))], tuple(chosen))

    def majority(self) -> Recipe:
        """The commonest class of the training tasks, for every step."""

        def tell(train: Sequence[int], test: Sequence[int], option: Any) -> dict[int, Array]:
            labels = [label for index in train for label in unit_labels(self.name, self.head, self.examples[index])]
            total = np.sum([label for label in labels if isinstance(label, tuple)], axis=0)
            row = np.eye(self.head.classes)[int(np.argmax(total))]
            return {index: np.tile(row, (len(self.examples[index].blocks), 1)) for index in test}

        return tell

    def logistic(self) -> Recipe:
        """TF-IDF and counts with a logistic model, for each of `STRENGTHS`; see `step_logistic`."""

        def tell(train: Sequence[int], test: Sequence[int], option: float) -> dict[int, Array]:
            own, other = ([self.examples[index] for index in part] for part in (train, test))
            return dict(zip(test, step_logistic(self.name, self.head, own, other, option), strict=True))

        return tell

    def trained(
        self,
        start: RewardNetwork,
        trainer: TrainerSettings,
        scratch: Path,
        cache: Path | None = None,
        taught: Taught | None = None,
    ) -> Recipe:
        """A reward model, for each number of epochs.

        Args:
            start: the untrained model; it is copied.
            trainer: how it is trained.
            scratch: folder for checkpoints, deleted.
            cache: folder of cached vectors of a frozen backbone.
            taught: further labels, used where their trajectory is in training.
        """

        def tell(train: Sequence[int], test: Sequence[int], epochs: int) -> dict[int, Array]:
            model = copy.deepcopy(start)
            own = [self.examples[index] for index in train]
            more = [
                replace(example, trajectory_id=f"{example.trajectory_id}+", step_labels={self.name: labels})
                for example in own
                if (labels := (taught or {}).get(example.trajectory_id)) is not None
            ]
            known = {label for e in (*own, *more) for label in e.step_labels[self.name] if label is not None}
            if len(known) < 2:
                self.notes["a part of the training tasks has one and the same label, which was told of every step"] += 1
                row = np.array(next(iter(known)) if known else np.eye(self.head.classes)[0])
                return {index: np.tile(row, (len(self.examples[index].blocks), 1)) for index in test}
            settings = replace(trainer, epochs=epochs, progress=False)
            try:
                fit(model, LabelledSet([*own, *more]), None, settings, folder=scratch, cache=cache)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            found = predict(
                model,
                [self.examples[index] for index in test],
                precision=settings.precision,
                device=find_device(settings.accelerator).type,
                chunk_tokens=settings.chunk_tokens,
                cache=cache,
                progress=False,
            )
            if found.note is not None:
                self.notes[found.note] += 1
            rows = [item.probabilities[self.name].astype(np.float64) for item in found.items]
            return dict(zip(test, rows, strict=True))

        return tell

    def _divided(self, indices: Sequence[int], which: str, seed: int) -> list[tuple[list[int], list[int]]]:
        """Indices to learn from and to judge, for each fold of the tasks among `indices`."""
        tasks = [self.examples[index].task_id for index in indices]
        try:
            folds = task_folds(tasks, getattr(self.folds, which), seed)
        except ConfigError as error:
            raise ConfigError(f"folds.{which}: {error}") from None
        return [
            (
                [index for index, task in zip(indices, tasks, strict=True) if task not in fold],
                [index for index, task in zip(indices, tasks, strict=True) if task in fold],
            )
            for fold in folds
        ]

    def _values(self, probabilities: Array) -> Array:
        return np.asarray(probabilities @ np.arange(self.head.classes) / (self.head.classes - 1))

    def _loss(self, found: Mapping[int, Array]) -> float:
        """Mean cross-entropy, in nats, over the labelled steps."""
        losses = [
            -float(np.dot(label, np.log(np.clip(row, 1e-6, None))))
            for index, rows in found.items()
            for row, label in zip(rows, unit_labels(self.name, self.head, self.examples[index]), strict=True)
            if isinstance(label, tuple)
        ]
        return float(np.mean(losses)) if losses else np.inf


def check_folds(settings: FoldSettings, trainer: TrainerSettings) -> None:
    """Refuse folds that cannot be made, before anything is read.

    Raises:
        ConfigError: a number is outside its range.
    """
    for name in ("number", "inner"):
        if getattr(settings, name) < 2:
            raise ConfigError(f"folds.{name} is {getattr(settings, name)}. Expected a whole number >= 2.")
    multiple = trainer.epochs_per_pass
    if (
        not settings.epochs
        or not 1 <= min(settings.epochs) <= max(settings.epochs) <= MOST
        or any(epochs % multiple for epochs in settings.epochs)
    ):
        of = "" if multiple == 1 else f", each a multiple of trainer.epochs_per_pass={multiple}"
        raise ConfigError(f"folds.epochs is {list(settings.epochs)}. Expected one or more whole numbers > 0{of}.")
    if not settings.seeds or len(set(settings.seeds)) < len(settings.seeds):
        raise ConfigError(
            f"folds.seeds is {list(settings.seeds)}. Expected another seed for each division: folds.seeds=[0,1,2]"
        )
