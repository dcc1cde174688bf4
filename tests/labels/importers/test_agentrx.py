"""Failures count from 1 and name a message; one at a user's message blames no step."""

from typing import Any

import pytest

from rmtrain.errors import DataError
from rmtrain.labels.importers.agentrx import AgentRxLabels
from rmtrain.labels.importers.base import LabelImporter, Place
from rmtrain.labels.schema import StepLabel

ROW: dict[str, Any] = {
    "trajectory_id": 2,
    "failures": [
        {"failure_id": 8, "step_number": 3, "failure_category": "Invalid Invocation", "step_reason": "no zip"},
        {"failure_id": 9, "step_number": 4, "failure_category": "System Failure", "failed_agent": "User"},
        {"failure_id": 10, "step_number": 5},
    ],
    "root_cause": {"failure_id": 10},
}
IMPORTER = AgentRxLabels()


def test_a_failure_is_a_step_of_value_0_in_a_dimension_of_its_own() -> None:
    found = [row for row in IMPORTER.annotations(ROW, Place("t", {2: 0, 4: 1})) if isinstance(row, StepLabel)]
    assert [(row.step_index, row.value, row.fault_codes, row.reason) for row in found] == [
        (0, 0, ("invalid_invocation",), "no zip"),
        (1, 0, ("root_cause",), ""),
    ]
    assert {(row.dimension, row.role) for row in found} == {("failure", "gold")}
    assert IMPORTER.record(ROW) == "2"


@pytest.mark.parametrize("failures", [5, [5], [{"step_number": 0}], [{"step_number": "3"}], [{}]])
def test_a_damaged_row_is_named(failures: Any) -> None:
    with pytest.raises(DataError, match="its failure"):
        list(IMPORTER.annotations({**ROW, "failures": failures}, Place("t", {})))


@pytest.mark.parametrize("payload", [None, {}, {"trajectory_id": 2}])
def test_another_row_has_no_signs(payload: Any) -> None:
    assert isinstance(IMPORTER, LabelImporter)
    assert IMPORTER.signs(payload) is None
    with pytest.raises(DataError, match="it holds no failure labels of AgentRx"):
        IMPORTER.record(payload)
