"""A temperature that was put in comes out again; the order of the classes never changes."""

import numpy as np
import pytest

from rmtrain.errors import DataError
from rmtrain.labels.temperature import fit_temperature, tempered


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_what_was_put_in_is_found(temperature: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 3)) * 0.8
    promised = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = (promised.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert fit_temperature(tempered(promised, 1 / temperature), right) == pytest.approx(temperature, rel=0.05)


def test_by_hand() -> None:
    # sqrt(.64) = .8 and sqrt(.04) = .2
    np.testing.assert_allclose(tempered(np.array([[0.64, 0.04]]) / 0.68, 2.0), [[0.8, 0.2]])
    rows = np.array([[1.0, 0.0], [0.3, 0.7]])
    np.testing.assert_allclose(tempered(rows, 1.0), rows, atol=2e-4)
    assert (tempered(rows, 7.0).argmax(axis=1) == rows.argmax(axis=1)).all()


@pytest.mark.parametrize("right", [[], [1], [1, 1]])
def test_one_class_fits_nothing(right: list[int]) -> None:
    with pytest.raises(DataError, match=f"cannot be fitted on {len(right)} items of {len(set(right))} class"):
        fit_temperature(np.full((len(right), 2), 0.5), np.array(right, dtype=int))
