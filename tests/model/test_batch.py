import numpy as np
import torch

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.batching import Batch
from rmtrain.dataset.examples import Example, Pair
from rmtrain.model.batch import Collator, Reading, label_tensors

READING = Reading(chunk_tokens=64, is_causal=False, causal=False)
BCE = HeadSettings()
STEP_BCE = HeadSettings(level="step")
STEP_ORDINAL = HeadSettings(level="step", objective="ordinal", classes=3)

A = Example("a", "x", "p", ("s", "s"), {"c": 0.7}, {"q": ((0.0, 0.5, 0.5), None), "s": (0.25, None)})
B = Example("b", "x", "p", ("s",), {"c": 0.0}, {})


def test_soft_labels_stay_soft_and_zero_is_a_label() -> None:
    found = label_tensors("c", BCE, [A, B], [True, True])
    assert found.targets.dtype == torch.float32
    torch.testing.assert_close(found.targets, torch.tensor([0.7, 0.0]))
    assert found.mask.tolist() == [True, True]


def test_a_missing_step_label_is_masked_and_the_rest_are_counted() -> None:
    found = label_tensors("q", STEP_ORDINAL, [A, B], [True, True])
    assert found.mask.tolist() == [[True, False], [False, False]]
    assert found.targets.shape == (2, 2, 3)
    assert found.targets[0, 0].tolist() == [0.0, 0.5, 0.5]
    soft = label_tensors("s", STEP_BCE, [A, B], [True, True])
    assert soft.mask.sum() == 1
    assert soft.targets[0, 0] == 0.25


def test_labels_that_counted_elsewhere_are_masked() -> None:
    assert label_tensors("c", BCE, [A, B], [False, True]).mask.tolist() == [False, True]


def test_labels_may_be_absent_altogether() -> None:
    assert not label_tensors("q", STEP_ORDINAL, [B], [True]).mask.any()
    assert not label_tensors("missing", BCE, [B], [True]).mask.any()


def test_a_batch_of_cached_vectors() -> None:
    heads = {"c": BCE, "p": HeadSettings(objective="bradley_terry"), "r": HeadSettings(objective="bradley_terry")}
    pairs = [Pair("r", "b", "a", 0.75, 0.5), Pair("p", "a", "b", 1.0)]
    vectors = [np.ones((3, 4), dtype=np.float32), np.full((2, 4), 2, dtype=np.float32)]
    found = Collator([A, B], pairs, heads, vectors, READING)(Batch((1, 0), (True, True), ((0, 0, 1), (1, 1, 0))))
    assert found.trajectory_ids == ["b", "a"]
    assert found.step_mask.tolist() == [[True, False], [True, True]]
    assert found.chunks is None
    assert found.vectors is not None
    assert found.vectors[..., 0].tolist() == [[2, 2, 0], [1, 1, 1]]
    assert list(found.labels) == ["c"]
    assert (found.pairs["p"].a.tolist(), found.pairs["p"].b.tolist()) == ([1], [0])
    assert (found.pairs["r"].targets.tolist(), found.pairs["r"].weights.tolist()) == ([0.75], [0.5])
