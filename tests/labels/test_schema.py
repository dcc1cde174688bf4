"""Annotations read back as they were given, each as its kind; what is no answer is refused."""

import pytest
from pydantic import ValidationError

from rmtrain.errors import DataError
from rmtrain.labels.schema import ANNOTATION, Comparison, Ranking, StepLabel
from rmtrain.trajectories.store import read, write

COMMON = {"annotation_id": "1", "annotator": "ann", "dimension": "step_quality"}
STEP = StepLabel(**COMMON, trajectory_id="t", step_index=0, value=2, fault_codes=("repeat",), lead_time_s=3.5)
PAIR = Comparison(**COMMON, task_id="k", trajectory_a="t", trajectory_b="u", choice="A", confidence="slight")
RANKING = Ranking(**COMMON, task_id="k", order=(("t", "u"), ("v",)))


def test_all_kinds_in_one_file_read_back_equal(tmp_path):
    write(tmp_path / "a.jsonl", [STEP, PAIR, RANKING])
    assert list(read(tmp_path / "a.jsonl", ANNOTATION)) == [STEP, PAIR, RANKING]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (STEP, {"value": 3}),
        (STEP, {"value": 1.5}),
        (STEP, {"step_index": -1}),
        (STEP, {"lead_time_s": -1.0}),
        (PAIR, {"choice": "a"}),
        (PAIR, {"confidence": "sure"}),
        (RANKING, {"order": ("t", "u")}),
        (RANKING, {"stars": 3}),
    ],
)
def test_what_is_no_answer_is_refused(kind, change):
    with pytest.raises(ValidationError, match=next(iter(change))):
        type(kind)(**{**kind.model_dump(), **change})


def test_an_unknown_kind_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"kind": "stars"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:1: .*'step', 'trajectory', 'comparison', 'ranking'"):
        list(read(path, ANNOTATION))
