"""-1, 0 and 1 become 0, 1 and 2; what is missing stays missing, what is odd stays as it was given."""

from typing import Any

import pytest

from rmtrain.errors import DataError
from rmtrain.labels.importers.agentprocessbench import AgentProcessBenchLabels
from rmtrain.labels.importers.base import LabelImporter, Place

ROW: dict[str, Any] = {
    "dataset": "hotpotqa",
    "record_id": "hotpot:3:1",
    "query_index": 3,
    "sample_index": 1,
    "step_labels": {"2": -1, "4": 0, "6": 1, "10": None, "12": "Tie", "14": True, "16": 2},
    "final_label": 0,
}
PLACE = Place("t", {2: 0, 4: 1, 6: 2, 8: 3, 10: 4, 12: 5, 14: 6, 16: 7})
IMPORTER = AgentProcessBenchLabels()


def test_what_people_agreed_on_is_gold() -> None:
    *steps, whole = IMPORTER.annotations(ROW, PLACE)
    assert [(s.step_index, s.value, s.given) for s in steps] == [  # type: ignore[union-attr]
        (0, 0, None),
        (1, 1, None),
        (2, 2, None),
        (4, None, None),
        (5, None, "Tie"),
        (6, None, True),
        (7, None, 2),
    ]
    assert {(s.annotator, s.role, s.dimension, s.trajectory_id) for s in steps} == {  # type: ignore[union-attr]
        ("people", "gold", "step_quality", "t")
    }
    assert (whole.dimension, whole.value, whole.role) == ("correctness", 0.5, "gold")  # type: ignore[union-attr]
    assert len({s.annotation_id for s in [*steps, whole]}) == 8


def test_a_rater_is_an_annotator_of_that_name() -> None:
    found = list(IMPORTER.annotations({**ROW, "rater": "Judge-1"}, PLACE))
    assert {(row.annotator, row.role) for row in found} == {("Judge-1", "annotator")}
    gold = {row.annotation_id for row in IMPORTER.annotations(ROW, PLACE)}
    assert not gold.intersection(row.annotation_id for row in found)


def test_the_labels_of_a_file_of_trajectories_are_those_of_the_file_of_labels() -> None:
    inside = {key: value for key, value in ROW.items() if key != "record_id"} | {
        "data_source": "hotpot",
        "messages": [],
    }
    assert list(IMPORTER.annotations(inside, PLACE)) == list(IMPORTER.annotations(ROW, PLACE))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"step_labels": [1]}, "its step_labels are no object"),
        ({"step_labels": {"two": 1}}, "speak of message 'two', which is no index"),
        ({"step_labels": {"3": 1}}, "record 'hotpot:3:1': message 3 is no step of 't'"),
    ],
)
def test_a_damaged_row_is_named(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(DataError, match=match):
        list(IMPORTER.annotations({**ROW, **changed}, PLACE))


@pytest.mark.parametrize("payload", [None, [], {}, {"step_labels": {}}])
def test_another_row_has_no_signs(payload: Any) -> None:
    assert isinstance(IMPORTER, LabelImporter)
    assert IMPORTER.signs(payload) is None
    with pytest.raises(DataError, match="it holds no labels of AgentProcessBench"):
        IMPORTER.record(payload)
