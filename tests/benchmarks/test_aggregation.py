"""Twenty raters against the people's labels: vote shares and Dawid-Skene, as they are and tempered, on two datasets.

The temperature of a step is fitted on the other queries' steps, five parts of queries in turn; intervals resample
queries.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmtrain.config.labels import LabelSourceSettings
from rmtrain.labels.dawid_skene import MISSING, dawid_skene
from rmtrain.labels.importers.importing import LabelCounts, import_labels
from rmtrain.labels.reliability import expected_calibration_error
from rmtrain.labels.schema import StepLabel
from rmtrain.labels.temperature import fit_temperature, tempered

FILES = {
    "hotpotqa": ("gold_labels_hotpotqa_q00-24.jsonl", "model_ratings_hotpotqa_q00-24_20raters.jsonl"),
    "bfcl": ("gold_labels_bfcl.jsonl", "model_ratings_bfcl_20raters.jsonl"),
}
FOLDS = 5
DRAWS = 2000


@pytest.mark.benchmark
@pytest.mark.parametrize("name", FILES)
def test_raters_against_people(name: str, real_data: Path, tmp_path: Path, record: Callable[[str, Any], None]) -> None:
    for file in FILES[name]:  # only links: the data stay where they are
        (tmp_path / file).symlink_to(real_data / "agentprocessbench" / file)
    labels = import_labels(LabelSourceSettings(path=str(tmp_path), alone=True), None, LabelCounts())
    steps = [row for row in labels if isinstance(row, StepLabel) and row.value is not None]
    right = {(row.trajectory_id, row.step_index): row.value for row in steps if row.role == "gold"}
    raters = sorted({row.annotator for row in steps if row.role == "annotator"})
    items = sorted({(row.trajectory_id, row.step_index) for row in steps if row.role == "annotator"} & right.keys())
    row_of, column_of = ({key: n for n, key in enumerate(keys)} for keys in (items, raters))
    votes = np.full((len(items), len(raters)), MISSING)
    for row in steps:
        if row.role == "annotator" and (row.trajectory_id, row.step_index) in row_of:
            votes[row_of[row.trajectory_id, row.step_index], column_of[row.annotator]] = row.value  # type: ignore[index]
    gold = np.array([right[item] for item in items], dtype=np.int64)
    query = np.array([int(trajectory_id.split(":")[1]) for trajectory_id, _ in items])

    shares = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1) / (votes != MISSING).sum(axis=1)[:, None]
    fitted = dawid_skene(votes, 3)
    found = {"vote shares": shares, "Dawid-Skene": fitted.probabilities}
    found |= {f"{what}, tempered": _cross_fitted(rows, gold, query) for what, rows in dict(found).items()}
    accuracy_of_raters = {
        rater: float(np.mean(gold[voted] == votes[voted, n]))
        for n, rater in enumerate(raters)
        if len(voted := np.flatnonzero(votes[:, n] != MISSING))
    }
    figures = {
        "steps": len(items),
        "queries": len(set(query.tolist())),
        "raters": len(raters),
        "always +1": float(np.mean(gold == 2)),
        "best rater": max(accuracy_of_raters.values()),
        "converged": fitted.converged,
        **{what: _figures(rows, gold, query) for what, rows in found.items()},
    }
    record(f"aggregation_{name}", figures)
    assert fitted.converged
    assert figures["Dawid-Skene, tempered"]["ece"]["value"] < figures["Dawid-Skene"]["ece"]["value"]


def _cross_fitted(rows: NDArray[Any], gold: NDArray[Any], query: NDArray[Any]) -> NDArray[Any]:
    part = np.random.default_rng(0).permutation(query.max() + 1)[query] % FOLDS
    found = np.zeros_like(rows)
    for fold in range(FOLDS):
        found[part == fold] = tempered(rows[part == fold], fit_temperature(rows[part != fold], gold[part != fold]))
    return found


def _figures(rows: NDArray[Any], gold: NDArray[Any], query: NDArray[Any]) -> dict[str, Any]:
    confidence, correct = rows.max(axis=1), rows.argmax(axis=1) == gold
    surprise = -np.log(np.clip(rows[np.arange(len(gold)), gold], 1e-4, None))
    groups = [np.flatnonzero(query == q) for q in sorted(set(query.tolist()))]
    rng = np.random.default_rng(0)
    drawn = [np.concatenate([groups[g] for g in rng.integers(0, len(groups), len(groups))]) for _ in range(DRAWS)]

    def figure(of: Callable[[NDArray[Any]], float | None]) -> dict[str, Any]:
        low, high = np.quantile([of(index) for index in drawn], (0.025, 0.975))
        return {"value": of(np.arange(len(gold))), "interval_95": [float(low), float(high)]}

    return {
        "accuracy": figure(lambda index: float(correct[index].mean())),
        "ece": figure(lambda index: expected_calibration_error(confidence[index], correct[index])),
        "nll": figure(lambda index: float(surprise[index].mean())),
    }
