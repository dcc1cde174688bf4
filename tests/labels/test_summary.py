"""Annotations counted by dimension; an answer that was changed counts once."""

from rmtrain.labels.schema import Comparison, Ranking, StepLabel, TrajectoryLabel
from rmtrain.labels.summary import LabelSummary

STEP = StepLabel(annotation_id="1", annotator="ann", dimension="q", trajectory_id="t", step_index=0, value=2)


def test_each_answer_counts_as_it_stands() -> None:
    summary = LabelSummary()
    whole = TrajectoryLabel(annotation_id="4", annotator="ann", dimension="c", trajectory_id="t", value=0.5)
    pair = Comparison(annotation_id="5", annotator="ann", dimension="p", task_id="k", trajectory_a="b",
                      trajectory_b="a", choice="tie")  # fmt: skip
    ranking = Ranking(annotation_id="6", annotator="bob", dimension="p", task_id="k", order=(("a",), ("b",)))
    for row in (
        STEP,
        STEP.model_copy(update={"value": 0}),
        STEP.model_copy(update={"annotation_id": "2", "annotator": "bob", "value": None, "given": "x"}),
        whole,
        pair,
        ranking,
    ):
        summary.add(row)
    assert summary.as_dict() == {
        "q": {
            "answers": 2,
            "without_value": 1,
            "subjects": 1,
            "annotators": {"ann": 1, "bob": 1},
            "values": {"0": 1, "none": 1},
        },
        "c": {"answers": 1, "without_value": 0, "subjects": 1, "annotators": {"ann": 1}, "values": {"0.5": 1}},
        "p": {
            "answers": 2,
            "without_value": 0,
            "subjects": 1,
            "annotators": {"ann": 1, "bob": 1},
            "values": {"ranking": 1, "tie": 1},
        },
    }
