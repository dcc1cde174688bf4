"""Every task judged by a model that never saw it: number of epochs and cut points are chosen inside the training folds.

Small labelled sets have no test split worth the name. Here each fold is the test set once; what is chosen is
chosen by folds of the other tasks, so nothing about a task decides how it is judged.
"""

import copy
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rmtrain.config.crossvalidation import FoldSettings
from rmtrain.config.model import HeadSettings, TrainerSettings
from rmtrain.dataset.examples import Example, Value, unit_labels
from rmtrain.dataset.folds import task_folds
from rmtrain.errors import ConfigError
from rmtrain.model.evaluation.baselines import Array, step_logistic
from rmtrain.model.evaluation.figures import choose_cuts
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import predict
from rmtrain.model.train import LabelledSet, fit

Classes = tuple[int, ...]
Taught = Mapping[str, tuple[Value, ...]]
"""trajectory_id to further labels of its steps, that teach where the trajectory is in training."""


@dataclass(frozen=True)
class Judgement:
    """What one division into folds gave.

    Attributes:
        classes: class of each step, by example.
        epochs: number of epochs chosen for each fold.
    """

    classes: list[Classes]
    epochs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A step head to be cross-validated: what it is, what it learns from, how.

    Attributes:
        name: the head.
        head: its settings; an ordinal step head.
        examples: all of them.
        folds: how they are divided.
        trainer: how a model is trained; its number of epochs is chosen among those of `folds`.
        scratch: folder for checkpoints, deleted.
        cache: folder of cached vectors of a frozen backbone.
    """

    name: str
    head: HeadSettings
    examples: Sequence[Example]
    folds: FoldSettings
    trainer: TrainerSettings
    scratch: Path
    cache: Path | None

    def judge(
        self, start: RewardNetwork, seed: int, taught: Taught | None = None, done: Callable[[], object] = lambda: None
    ) -> Judgement:
        """Judge every example by a model of the other folds.

        Args:
            start: the untrained model; it is copied.
            seed: of the division into folds.
            taught: further labels, used where their trajectory is in training.
            done: called after each fold.

        Raises:
            ConfigError: the folds are not possible.
            DataError: a training part has no labels.
        """
        classes: dict[int, Classes] = {}
        chosen: list[int] = []
        for train, test in self.divided(range(len(self.examples)), self.folds.number, seed):
            best: tuple[float, int, dict[int, Array]] | None = None
            for epochs in self.folds.epochs:
                held: dict[int, Array] = {}
                for rest, part in self.divided(train, self.folds.inner, seed):
                    held |= self._probabilities(start, rest, part, epochs, taught)
                loss = self._loss(held)
                if best is None or loss < best[0]:
                    best = loss, epochs, held
            assert best is not None  # there is a number of epochs to choose
            _, epochs, held = best
            chosen.append(epochs)
            cuts = choose_cuts(
                {self.name: self.head},
                {self.name: [self._values(held[index]) for index in train]},
                [self.examples[index] for index in train],
            )[self.name]
            for index, found in self._probabilities(start, train, test, epochs, taught).items():
                classes[index] = tuple(np.digitize(self._values(found), cuts).tolist())
            done()
        return Judgement([classes[index] for index in range(len(self.examples))], tuple(chosen))

    def baseline(self, seed: int) -> Judgement:
        """The same by TF-IDF and counts with a logistic model; see `step_logistic`."""
        classes: dict[int, Classes] = {}
        for train, test in self.divided(range(len(self.examples)), self.folds.number, seed):
            inner = self.divided(range(len(train)), self.folds.inner, seed, [self.examples[index] for index in train])
            found = step_logistic(
                self.name,
                self.head,
                [self.examples[index] for index in train],
                [self.examples[index] for index in test],
                inner,
            )
            classes |= dict(zip(test, found, strict=True))
        return Judgement([classes[index] for index in range(len(self.examples))])

    def majority(self, seed: int) -> Judgement:
        """The commonest class of the other folds, everywhere."""
        classes: dict[int, Classes] = {}
        for train, test in self.divided(range(len(self.examples)), self.folds.number, seed):
            labels = [label for index in train for label in unit_labels(self.name, self.head, self.examples[index])]
            total = np.sum([label for label in labels if isinstance(label, tuple)], axis=0)
            classes |= {index: (int(np.argmax(total)),) * len(self.examples[index].blocks) for index in test}
        return Judgement([classes[index] for index in range(len(self.examples))])

    def divided(
        self, indices: Sequence[int], n_folds: int, seed: int, examples: Sequence[Example] | None = None
    ) -> list[tuple[list[int], list[int]]]:
        """Indices of training and test examples for each fold of the tasks among `indices`."""
        held = self.examples if examples is None else examples
        folds = task_folds((held[index].task_id for index in indices), n_folds, seed)
        return [
            (
                [index for index in indices if held[index].task_id not in fold],
                [index for index in indices if held[index].task_id in fold],
            )
            for fold in folds
        ]

    def _probabilities(
        self, start: RewardNetwork, train: Sequence[int], test: Sequence[int], epochs: int, taught: Taught | None
    ) -> dict[int, Array]:
        """Class probabilities [steps, classes] of the examples `test` by a model of the examples `train`."""
        model = copy.deepcopy(start)
        own = [self.examples[index] for index in train]
        more = [
            replace(example, trajectory_id=f"{example.trajectory_id}+", step_labels={self.name: labels})
            for example in own
            if (labels := (taught or {}).get(example.trajectory_id)) is not None
        ]
        settings = replace(self.trainer, epochs=epochs, progress=False)
        try:
            fit(model, LabelledSet([*own, *more]), None, settings, folder=self.scratch, cache=self.cache)
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
        found = predict(
            model,
            [self.examples[index] for index in test],
            precision=settings.precision,
            chunk_tokens=settings.chunk_tokens,
            cache=self.cache,
            progress=False,
        )
        return {
            index: item.probabilities[self.name].astype(np.float64)
            for index, item in zip(test, found.items, strict=True)
        }

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


def check_folds(settings: FoldSettings) -> None:
    """Refuse folds that cannot be made, before anything is read.

    Raises:
        ConfigError: a number is outside its range.
    """
    for name in ("number", "inner"):
        if getattr(settings, name) < 2:
            raise ConfigError(f"folds.{name} is {getattr(settings, name)}. Expected a whole number >= 2.")
    if not settings.epochs or min(settings.epochs) < 1:
        raise ConfigError(f"folds.epochs is {list(settings.epochs)}. Expected one or more whole numbers > 0.")
    if not settings.seeds:
        raise ConfigError("folds.seeds is empty. Expected one seed for each division into folds: folds.seeds=[0,1,2]")
