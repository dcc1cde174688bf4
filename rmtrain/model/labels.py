"""Examples and pairs to what is said about them before training: a refusal in words, or how much there is.

A head without labels, or with one and the same label everywhere, would train into a constant and look
fine, so it is refused here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, unit_labels
from rmtrain.errors import DataError
from rmtrain.model.metrics import constant_bce, constant_ordinal


@dataclass(frozen=True)
class LabelCheck:
    """What was found.

    Attributes:
        amounts: head name to its number of labels in training, or the sum of its pair weights.
        chooses: heads whose validation loss can choose an epoch.
        notes: sentences for the report, e.g. that a head has no labels in validation.
    """

    amounts: dict[str, float]
    chooses: tuple[str, ...]
    notes: tuple[str, ...]


def check_labels(
    heads: dict[str, HeadSettings],
    train: Sequence[Example],
    train_pairs: Sequence[Pair],
    validation: Sequence[Example] = (),
    validation_pairs: Sequence[Pair] = (),
) -> LabelCheck:
    """Check labels and pairs before training starts.

    Args:
        heads: head name to its settings.
        train: examples to learn from.
        train_pairs: pairs to learn from.
        validation: examples to choose the checkpoint by; may be empty.
        validation_pairs: pairs among those.

    Raises:
        DataError: a head has nothing to learn from, or a label or pair is malformed.
    """
    amounts: dict[str, float] = {}
    chooses: list[str] = []
    notes: list[str] = []
    check_pairs(train, train_pairs)
    check_pairs(validation, validation_pairs)
    for name, head in heads.items():
        if head.objective == "bradley_terry":
            targets = [pair.target for pair in train_pairs if pair.head == name]
            if not targets:
                raise DataError(
                    f"head '{name}' has no pairs in training. Compare trajectories of one task, or remove the head."
                )
            if all(target == 0.5 for target in targets):
                raise DataError(
                    f"head '{name}': all {len(targets)} pairs in training are ties, so there is no order to learn. "
                    "Add decided pairs, or remove the head."
                )
            amounts[name] = sum(pair.pair_weight for pair in train_pairs if pair.head == name)
            n_validation = sum(pair.head == name for pair in validation_pairs)
            differ = n_validation > 0
        else:
            labels = label_array(name, head, train)
            if not len(labels):
                raise DataError(
                    f"head '{name}' has no labels in training (level {head.level}). "
                    "Label some trajectories, or remove the head."
                )
            if np.ptp(labels, axis=0).max() == 0:
                shown = np.array2string(labels[0], precision=3)
                raise DataError(
                    f"head '{name}': all {len(labels)} labels in training are {shown}, one class only, so there is "
                    "nothing to tell apart. Add labels of another class, or remove the head."
                )
            amounts[name] = float(len(labels))
            held = label_array(name, head, validation)
            n_validation = len(held)
            constant = constant_ordinal(held) if head.objective == "ordinal" else constant_bce(held)
            differ = bool(constant)
        if differ:
            chooses.append(name)
        elif n_validation:
            notes.append(f"head '{name}' has one class only in validation: it does not help to choose the epoch.")
        elif validation:
            kind = "pairs" if head.objective == "bradley_terry" else "labels"
            notes.append(f"head '{name}' has no {kind} in validation: it has no validation figures.")
    if validation and not chooses:
        notes.append("no head can choose an epoch by validation: the last one is kept.")
    return LabelCheck(amounts, tuple(chooses), tuple(notes))


def check_pairs(examples: Sequence[Example], pairs: Sequence[Pair]) -> None:
    """Refuse pairs whose sides are missing, equal or of two tasks, and targets outside [0, 1].

    Raises:
        DataError: naming the pair.
    """
    tasks = {example.trajectory_id: example.task_id for example in examples}
    for pair in pairs:
        what = f"pair {pair.trajectory_a} / {pair.trajectory_b} of head '{pair.head}'"
        for side in (pair.trajectory_a, pair.trajectory_b):
            if side not in tasks:
                raise DataError(f"{what}: trajectory '{side}' is not in the same split. Build the dataset again.")
        if pair.trajectory_a == pair.trajectory_b:
            raise DataError(f"{what} compares a trajectory with itself. Remove it.")
        if tasks[pair.trajectory_a] != tasks[pair.trajectory_b]:
            raise DataError(f"{what} compares two tasks. A pair holds two trajectories of one task: remove it.")
        if not 0 <= pair.target <= 1 or not pair.pair_weight > 0:
            raise DataError(
                f"{what} has target {pair.target} and weight {pair.pair_weight}. "
                "Expected a target in [0, 1] and a weight > 0."
            )


def label_array(
    name: str, head: HeadSettings, examples: Sequence[Example]
) -> Float[NDArray[Any], " n"] | Float[NDArray[Any], "n classes"]:
    """All labels of a head that are not None.

    Raises:
        DataError: a label is not what the objective needs, or there is not one per step.
    """
    found: list[float | tuple[float, ...]] = []
    for example in examples:
        labels = unit_labels(name, head, example)
        if head.level == "step" and len(labels) != len(example.blocks):
            raise DataError(
                f"trajectory '{example.trajectory_id}' has {len(example.blocks)} steps and {len(labels)} labels of "
                f"head '{name}'. Expected one label, or null, per step."
            )
        for label in labels:
            if label is not None:
                _check_label(name, head, example, label)
                found.append(label)
    width = (head.classes,) if head.objective == "ordinal" else ()
    return np.asarray(found, dtype=np.float64).reshape(len(found), *width)


def _check_label(name: str, head: HeadSettings, example: Example, label: float | tuple[float, ...]) -> None:
    if head.objective == "ordinal":
        if isinstance(label, tuple) and len(label) == head.classes and min(label) >= 0 and abs(sum(label) - 1) < 1e-6:
            return
        wanted = f"a distribution over {head.classes} classes that sums to 1"
    else:
        if not isinstance(label, tuple) and 0 <= label <= 1:
            return
        wanted = "a value in [0, 1]"
    raise DataError(
        f"trajectory '{example.trajectory_id}': label {label} of head '{name}' (objective {head.objective}). "
        f"Expected {wanted}; null where nobody said anything."
    )
