from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from rmtrain.errors import ModelError
from rmtrain.model.features import features
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import make_reading
from rmtrain.model.train import LabelledSet


class Calls:
    """Counts backbone calls."""

    def __init__(self, model: RewardNetwork) -> None:
        self.n = 0
        model.backbone.register_forward_hook(self._count)

    def _count(self, *_: object) -> None:
        self.n += 1


@pytest.fixture
def compute(tmp_path: Path) -> Callable[..., list[np.ndarray]]:
    def run(
        model: RewardNetwork, data: LabelledSet, precision: str = "32-true", cache: Path | None = tmp_path
    ) -> list[np.ndarray]:
        return features(
            model,
            data.examples,
            model.windows(list(data.examples)),
            reading=make_reading(model, 256),
            precision=precision,
            device=torch.device("cpu"),
            cache=cache,
        )

    return run


def test_vectors_are_computed_once_and_shared_between_sets(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], compute: Callable[..., list[np.ndarray]]
) -> None:
    model, data = build(), labelled(9)
    calls = Calls(model)
    first = compute(model, data)
    assert [len(array) for array in first] == [1 + len(example.blocks) for example in data.examples]
    made = calls.n
    again = compute(model, LabelledSet(data.examples[::-1]))
    assert calls.n == made > 0
    assert all(np.array_equal(a, b) for a, b in zip(first, again[::-1], strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(first, compute(model, data, cache=None), strict=True))


@pytest.mark.parametrize("what", ["text", "weights", "windows", "precision"])
def test_what_changes_vectors_computes_them_anew(
    what: str,
    build: Callable[..., RewardNetwork],
    labelled: Callable[..., LabelledSet],
    compute: Callable[..., list[np.ndarray]],
) -> None:
    model, data = build(), labelled(1)
    compute(model, data)
    calls = Calls(model)
    if what == "text":
        data = LabelledSet([replace(data.examples[0], blocks=("w1", "w2"))])
    elif what == "weights":
        with torch.no_grad():
            next(model.backbone.parameters()).add_(1.0)
    elif what == "windows":
        model.card.encoder = replace(model.card.encoder, block_tokens=4)
    compute(model, data, precision="bf16-mixed" if what == "precision" else "32-true")
    assert calls.n > 0


def test_a_damaged_shard_is_named(
    build: Callable[..., RewardNetwork],
    labelled: Callable[..., LabelledSet],
    compute: Callable[..., list[np.ndarray]],
    tmp_path: Path,
) -> None:
    model, data = build(), labelled(2)
    compute(model, data)
    (shard,) = tmp_path.glob("*/*.safetensors")
    shard.write_bytes(shard.read_bytes()[:20])
    with pytest.raises(ModelError, match=rf"{shard.name} is damaged .* Delete it"):
        compute(model, data)
