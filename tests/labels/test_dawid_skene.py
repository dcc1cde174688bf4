"""Votes of simulated annotators give back who errs how, as independent implementations find; no vote is named."""

import numpy as np
import pytest

from rmtrain.labels.dawid_skene import MISSING, dawid_skene

CONFUSION = np.array(
    [
        [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]],
        [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
        [[0.1, 0.8, 0.1], [0.0, 0.9, 0.1], [0.0, 0.7, 0.3]],  # nearly always says 1
        [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]],
    ]
)
PRIOR = np.array([0.2, 0.3, 0.5])


def simulated(n: int, share: float = 0.7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = rng.choice(3, size=n, p=PRIOR)
    votes = np.array([[rng.choice(3, p=confusion[k]) for confusion in CONFUSION] for k in true])
    votes[rng.random(votes.shape) > share] = MISSING
    votes[(votes == MISSING).all(axis=1), 0] = 2
    return true, votes


def slowly(votes: np.ndarray, n_classes: int, smoothing: float, n_iterations: int) -> np.ndarray:
    """The same model written in loops over items and annotators."""
    n_items, n_people = votes.shape
    p = np.zeros((n_items, n_classes))
    for i in range(n_items):
        given = [v for v in votes[i] if v != MISSING]
        for v in given:
            p[i, v] += 1 / len(given)
    for _ in range(n_iterations):
        prior = np.array([p[:, k].sum() + smoothing for k in range(n_classes)])
        prior /= prior.sum()
        confusion = np.full((n_people, n_classes, n_classes), smoothing)
        for i in range(n_items):
            for a in range(n_people):
                if votes[i, a] != MISSING:
                    confusion[a, :, votes[i, a]] += p[i]
        confusion /= confusion.sum(axis=2, keepdims=True)
        for i in range(n_items):
            likely = prior.copy()
            for a in range(n_people):
                if votes[i, a] != MISSING:
                    likely *= confusion[a, :, votes[i, a]]
            p[i] = likely / likely.sum()
    return p


def test_it_is_the_model_written_out_in_loops() -> None:
    _, votes = simulated(60)
    for n_iterations in (1, 2, 7):
        found = dawid_skene(votes, 3, smoothing=0.05, max_iterations=n_iterations, tolerance=1e-300)
        assert found.n_iterations == n_iterations
        np.testing.assert_allclose(found.probabilities, slowly(votes, 3, 0.05, n_iterations), atol=1e-12)


def test_an_independent_package_agrees() -> None:
    """crowd-kit's Dawid-Skene: the same classes, and probabilities as near as its own way of smoothing allows."""
    crowdkit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed: pip install crowd-kit")
    pandas = pytest.importorskip("pandas")
    _, votes = simulated(400)
    rows = [(i, a, votes[i, a]) for i, a in zip(*np.nonzero(votes != MISSING), strict=True)]
    theirs = crowdkit.DawidSkene(n_iter=500, tol=1e-9).fit_predict_proba(
        pandas.DataFrame(rows, columns=["task", "worker", "label"])
    )
    ours = dawid_skene(votes, 3, smoothing=1e-9, tolerance=1e-9)
    assert ours.converged
    np.testing.assert_allclose(ours.probabilities, theirs.loc[range(400), [0, 1, 2]].to_numpy(), atol=1e-3)


def test_how_each_annotator_errs_is_found() -> None:
    true, votes = simulated(4000)
    found = dawid_skene(votes, 3)
    assert np.abs(found.confusion - CONFUSION).max() < 0.1
    assert np.abs(found.prior - PRIOR).max() < 0.04
    shares = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    accuracy, of_majority = (np.mean(x.argmax(axis=1) == true) for x in (found.probabilities, shares))
    assert accuracy > of_majority + 0.03
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)


def test_the_order_of_people_and_items_does_not_matter() -> None:
    _, votes = simulated(200)
    rng = np.random.default_rng(1)
    items, people = rng.permutation(200), rng.permutation(4)
    one, two = dawid_skene(votes, 3), dawid_skene(votes[items][:, people], 3)
    np.testing.assert_allclose(two.probabilities, one.probabilities[items], atol=1e-6)
    np.testing.assert_allclose(two.confusion, one.confusion[people], atol=1e-6)


def test_what_all_agree_on_stands() -> None:
    found = dawid_skene(np.array([[0, 0, 0], [2, 2, 2], [1, MISSING, 1], [2, 2, 2]]), 3)
    assert found.probabilities.argmax(axis=1).tolist() == [0, 2, 1, 2]
    assert found.probabilities.max(axis=1).min() > 0.99


@pytest.mark.parametrize(
    ("votes", "match"),
    [([[0, 1], [-1, -1]], "item 1 has no vote"), ([[0, 3]], "run from 0 to 3, but there are 3")],
)
def test_what_is_no_vote_is_named(votes: list[list[int]], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        dawid_skene(np.array(votes), 3)


def test_no_items_are_no_error() -> None:
    assert dawid_skene(np.zeros((0, 2), dtype=int), 3).probabilities.shape == (0, 3)
