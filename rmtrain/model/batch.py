"""Batches of indices to tensors: backbone input or cached vectors, labels with masks, pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from numpy.typing import NDArray
from torch import Tensor

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.batching import Batch
from rmtrain.dataset.examples import Example, Pair, unit_labels
from rmtrain.model.chunks import Chunks, make_chunks
from rmtrain.model.windows import Windows

Vectors = Float32[NDArray[Any], "_ dim"]


@dataclass
class LabelTensors:
    """Labels of one head: a value, or a distribution over classes along the last axis; `mask` where there is one."""

    targets: Float[Tensor, "..."]
    mask: Bool[Tensor, "..."]


@dataclass
class PairTensors:
    """Pairs of one head: positions of both sides in the batch, target and weight."""

    a: Int[Tensor, " pairs"]
    b: Int[Tensor, " pairs"]
    targets: Float[Tensor, " pairs"]
    weights: Float[Tensor, " pairs"]


@dataclass
class TensorBatch:
    """What the module takes: `chunks` for the backbone, or the `vectors` it gave earlier.

    Not frozen, because Lightning moves it to a device field by field.
    """

    trajectory_ids: list[str]
    step_mask: Bool[Tensor, "batch steps"]
    chunks: Chunks | None = None
    vectors: Float[Tensor, "batch slots dim"] | None = None
    labels: dict[str, LabelTensors] = field(default_factory=dict)
    pairs: dict[str, PairTensors] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How windows become backbone calls."""

    chunk_tokens: int
    is_causal: bool
    causal: bool

    def chunks(self, items: Sequence[Windows]) -> Chunks:
        return make_chunks(items, chunk_tokens=self.chunk_tokens, is_causal=self.is_causal, causal=self.causal)


class Collator:
    """Turns batches of indices into tensors.

    Args:
        examples: labelled trajectories.
        pairs: preference pairs among them.
        heads: head name to its settings.
        inputs: for each example its windows, or the vectors a frozen backbone gave.
        reading: how windows become backbone calls.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        pairs: Sequence[Pair],
        heads: dict[str, HeadSettings],
        inputs: Sequence[Windows] | Sequence[Vectors],
        reading: Reading,
    ) -> None:
        self._examples = examples
        self._pairs = pairs
        self._heads = heads
        self._inputs = inputs
        self._reading = reading

    def __call__(self, batch: Batch) -> TensorBatch:
        examples = [self._examples[index] for index in batch.examples]
        found = make_inputs([self._inputs[index] for index in batch.examples], examples, self._reading)
        for name, head in self._heads.items():
            if head.objective == "bradley_terry":
                found.pairs[name] = self._pair_tensors(name, batch)
            else:
                found.labels[name] = label_tensors(name, head, examples, batch.label_mask)
        return found

    def _pair_tensors(self, name: str, batch: Batch) -> PairTensors:
        held = [(self._pairs[number], a, b) for number, a, b in batch.pairs if self._pairs[number].head == name]
        return PairTensors(
            a=torch.tensor([a for _, a, _ in held], dtype=torch.long),
            b=torch.tensor([b for _, _, b in held], dtype=torch.long),
            targets=torch.tensor([pair.target for pair, _, _ in held], dtype=torch.float32),
            weights=torch.tensor([pair.pair_weight for pair, _, _ in held], dtype=torch.float32),
        )


def make_inputs(
    inputs: Sequence[Windows] | Sequence[Vectors] | Sequence[Windows | Vectors],
    examples: Sequence[Example],
    reading: Reading,
) -> TensorBatch:
    """A batch without labels."""
    n_steps = [len(example.blocks) for example in examples]
    step_mask = torch.arange(max(n_steps))[None] < torch.tensor(n_steps)[:, None]
    found = TensorBatch([example.trajectory_id for example in examples], step_mask)
    windows = [item for item in inputs if isinstance(item, Windows)]
    if windows:
        found.chunks = reading.chunks(windows)
        return found
    arrays = [item for item in inputs if isinstance(item, np.ndarray)]
    vectors = np.zeros((len(arrays), 1 + max(n_steps), arrays[0].shape[1]), dtype=np.float32)
    for position, array in enumerate(arrays):
        vectors[position, : len(array)] = array
    found.vectors = torch.from_numpy(vectors)
    return found


def label_tensors(
    name: str, head: HeadSettings, examples: Sequence[Example], label_mask: Sequence[bool]
) -> LabelTensors:
    """Labels of one head for a batch; what is None, or where `label_mask` is False, is masked."""
    shape: tuple[int, ...] = (len(examples),)
    if head.level == "step":
        shape += (max(len(example.blocks) for example in examples),)
    mask = np.zeros(shape, dtype=bool)
    classes = (head.classes,) if head.objective == "ordinal" else ()
    targets = np.zeros(shape + classes, dtype=np.float32)
    for position, (example, counts) in enumerate(zip(examples, label_mask, strict=True)):
        for index, value in enumerate(unit_labels(name, head, example) if counts else ()):
            if value is not None:
                at = (position, index) if head.level == "step" else (position,)
                mask[at] = True
                targets[at] = value
    return LabelTensors(torch.from_numpy(targets), torch.from_numpy(mask))
