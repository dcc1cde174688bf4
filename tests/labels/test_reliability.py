"""Errors worked by hand, with confidences of exactly 0 and 1, and what must hold for any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.labels.reliability import expected_calibration_error as ece


def of(confidence: list[float], correct: list[int], **options: object) -> float | None:
    return ece(np.array(confidence, dtype=float), np.array(correct, dtype=bool), **options)  # type: ignore[arg-type]


def test_bins_of_equal_width() -> None:
    # [0, .5): 0.0 wrong, 0.4 right -> |0.4 - 1| = .6; [.5, 1]: .5 right, 1.0 wrong, 1.0 right -> |2.5 - 2| = .5
    assert of([0.0, 0.4, 0.5, 1.0, 1.0], [0, 1, 1, 0, 1], n_bins=2, bins="width") == pytest.approx(1.1 / 5)


def test_bins_of_equal_mass() -> None:
    # two of two each: |.1 + .2 - 1| = .7 and |.8 + .9 - 1| = .7
    assert of([0.9, 0.1, 0.8, 0.2], [1, 1, 0, 0], n_bins=2) == pytest.approx(1.4 / 4)


def test_equal_confidences_are_never_parted() -> None:
    # parted, one bin would hold the right ones only: the error would depend on the order of the rows
    assert of([0.5] * 4, [1, 1, 0, 0], n_bins=2) == 0
    assert of([0.5] * 4, [0, 1, 0, 1], n_bins=4) == 0


@pytest.mark.parametrize("bins", ["mass", "width"])
def test_the_ends_are_in_bins(bins: str) -> None:
    assert of([0.0], [0], bins=bins) == 0
    assert of([1.0], [1], bins=bins) == 0
    assert of([1.0], [0], bins=bins) == 1
    assert of([0.0], [1], bins=bins) == 1
    assert of([], [], bins=bins) is None


@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40),
    n_bins=st.integers(1, 20),
    seed=st.integers(0, 9),
)
def test_it_is_a_share_that_knows_no_order(rows: list[tuple[float, bool]], n_bins: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(rows))
    for bins in ("mass", "width"):
        found = of([c for c, _ in rows], [r for _, r in rows], n_bins=n_bins, bins=bins)
        again = of([rows[i][0] for i in order], [rows[i][1] for i in order], n_bins=n_bins, bins=bins)
        assert found is not None
        assert -1e-12 <= found <= 1 + 1e-12
        assert again == pytest.approx(found)
