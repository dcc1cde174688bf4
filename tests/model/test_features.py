import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import rmtrain.model.features as module
from rmtrain.errors import ModelError
from rmtrain.model.features import features
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import make_reading, predict
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
        ).vectors

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


@pytest.mark.parametrize("why", ["the disk is full", "it is no folder", "it may not be moved"])
def test_a_cache_that_cannot_be_written_costs_time_and_not_the_run(
    why: str,
    build: Callable[..., RewardNetwork],
    labelled: Callable[..., LabelledSet],
    compute: Callable[..., list[np.ndarray]],
    full_disk: Callable[..., AbstractContextManager[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, data = build(), labelled(3)
    cache = tmp_path / "cache"
    if why == "it is no folder":
        cache.touch()
    elif why == "it may not be moved":
        monkeypatch.setattr(os, "replace", denied)
    with full_disk(0) if why == "the disk is full" else nullcontext():
        found = predict(model, data.examples, cache=cache)
    assert found.note is not None
    assert found.note.startswith(f"the backbone's vectors could not be kept in {cache} (")
    assert found.note.endswith("): another run computes them again")
    expected = predict(model, data.examples)
    assert expected.note is None
    for one, other in zip(found.items, expected.items, strict=True):
        assert np.allclose(one.values["correctness"], other.values["correctness"], atol=1e-5)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path != cache] == []


def denied(*_: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_after_one_failure_no_further_shard_is_tried(
    build: Callable[..., RewardNetwork],
    labelled: Callable[..., LabelledSet],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Path] = []

    def fails(folder: Path, shard: object) -> str:
        tried.append(folder)
        return "no"

    monkeypatch.setattr(module, "SHARD", 2)
    monkeypatch.setattr(module, "_write_shard", fails)
    assert predict(build(), labelled(6).examples, cache=tmp_path).note == "no"
    assert len(tried) == 1
