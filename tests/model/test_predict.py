from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from rmtrain.config.model import EncoderSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import Prediction, predict
from rmtrain.model.train import LabelledSet


@pytest.fixture(params=["bert", "llama"])
def folder(request: pytest.FixtureRequest, bert_folder: Path, llama_folder: Path) -> Path:
    return bert_folder if request.param == "bert" else llama_folder


def scattered(model: RewardNetwork) -> RewardNetwork:
    """Weights far from their start, so that attention and positions matter."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.scorer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def most(a: Prediction, b: Prediction, n_steps: int | None = None) -> float:
    found = 0.0
    for name, logits in a.logits.items():
        if n_steps is None:
            found = max(found, float(np.abs(logits - b.logits[name]).max()))
        elif logits.ndim == 2:
            found = max(found, float(np.abs(logits[:n_steps] - b.logits[name][:n_steps]).max()))
    return found


def test_alone_is_as_in_a_batch_in_the_order_given(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], folder: Path
) -> None:
    model, data = scattered(build(folder=folder)), labelled(12)
    together = predict(model, data.examples)
    for example, found in zip(data.examples, together.items, strict=True):
        assert found.trajectory_id == example.trajectory_id
        assert most(predict(model, [example]).items[0], found) <= 1e-5
        assert found.logits["step_quality"].shape == (len(example.blocks), 2)
        assert found.values["step_quality"].shape == (len(example.blocks),)
        assert found.values["correctness"].shape == ()
        np.testing.assert_allclose(found.probabilities["step_quality"].sum(axis=1), 1.0, rtol=1e-5)
    assert list(found.probabilities) == ["step_quality"]


def test_what_comes_later_never_reaches_a_causal_model(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], encoder: EncoderSettings, folder: Path
) -> None:
    model = scattered(build(folder=folder, encoder=replace(encoder, causal=True)))
    for example in labelled(20).examples:
        for k in range(len(example.blocks) - 1):
            later = tuple("bad w9 w8" for _ in example.blocks[k + 1 :])
            changed = replace(example, blocks=(*example.blocks[: k + 1], *later))
            shorter = replace(example, blocks=example.blocks[: k + 1])
            one, two, three = predict(model, [example, changed, shorter]).items
            assert most(one, two, k + 1) <= 1e-6
            assert most(one, three, k + 1) <= 1e-6


def test_a_model_that_judges_whole_trajectories_does_look_ahead(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet]
) -> None:
    example = next(example for example in labelled(12).examples if len(example.blocks) > 2)
    changed = replace(example, blocks=(*example.blocks[:-1], "bad w9 w8"))
    one, two = predict(scattered(build()), [example, changed]).items
    assert most(one, two, len(example.blocks) - 1) > 1e-3


def test_cuts_are_counted_per_trajectory_and_in_all(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet]
) -> None:
    example = labelled(1).examples[0]
    long = replace(example, blocks=("good " + "w1 " * 99, "fair"))  # 100 tokens, 30 kept
    found = predict(build(), [example, long])
    assert [item.n_cut_tokens for item in found.items] == [0, 70]
    assert (found.cuts.blocks, found.cuts.block_tokens, found.cuts.prefix_tokens) == (1, 70, 0)
    # opening, prefix of 9, 30 + 1 of blocks, closing
    assert predict(build(), [long]).n_tokens == 1 + 9 + 31 + 1


def test_cached_vectors_give_the_same(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], tmp_path: Path
) -> None:
    model, data = scattered(build()), labelled(6)
    plain, cached = predict(model, data.examples), predict(model, data.examples, cache=tmp_path)
    assert max(most(a, b) for a, b in zip(plain.items, cached.items, strict=True)) <= 1e-5
    assert list(tmp_path.glob("*/*.safetensors"))


def test_bf16_is_close(build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet]) -> None:
    model, data = build(), labelled(6)
    plain, half = predict(model, data.examples), predict(model, data.examples, precision="bf16-mixed")
    assert 0 < max(most(a, b) for a, b in zip(plain.items, half.items, strict=True)) < 0.1


def test_nothing_to_score_is_nothing(build: Callable[..., RewardNetwork]) -> None:
    found = predict(build(), [])
    assert (found.items, found.n_tokens) == ((), 0)


def test_what_cannot_be_read_is_refused(
    build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet]
) -> None:
    example = labelled(1).examples[0]
    with pytest.raises(DataError, match="trajectory 't0' has no steps"):
        predict(build(), [replace(example, blocks=())])
    with pytest.raises(ConfigError, match="unknown precision 'bf16'"):
        predict(build(), [example], precision="bf16")
    with pytest.raises(ConfigError, match="chunk_tokens is 0"):
        predict(build(), [example], chunk_tokens=0)
