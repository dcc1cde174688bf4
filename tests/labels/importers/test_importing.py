"""Files of labels meet the trajectories they are about; every row is taken, elsewhere, or in quarantine and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.labels import LabelSourceSettings
from rmtrain.config.source import SourceSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.labels.importers.importing import LabelCounts, import_labels
from rmtrain.labels.schema import StepLabel, TrajectoryLabel
from rmtrain.trajectories.importers.base import BadRow
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Trajectory

RUN: dict[str, Any] = {
    "query_index": 3,
    "sample_index": 1,
    "data_source": "hotpot",
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": "b"},
    ],
    "step_labels": {"1": 1, "3": -1},
    "final_label": 1,
}
LABELS: dict[str, Any] = {
    "record_id": "hotpot:3:1",
    "query_index": 3,
    "sample_index": 1,
    "rater": "judge",
    "step_labels": {"3": 0},
}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def trajectories(path: Path) -> list[Trajectory]:
    return [row for row in ingest(SourceSettings(format="auto", path=str(path))) if isinstance(row, Trajectory)]


def test_labels_find_their_steps_and_the_rest_is_counted(tmp_path: Path) -> None:
    runs = trajectories(lines(tmp_path / "runs.jsonl", RUN))
    lines(
        tmp_path / "ratings.jsonl", LABELS, {**LABELS, "step_labels": {"2": 1}}, "{", {**LABELS, "record_id": "x:1:1"}
    )
    lines(tmp_path / "note.json", {"x": 1})
    counts = LabelCounts()
    found = list(import_labels(LabelSourceSettings(path=str(tmp_path)), runs, counts))
    good = [row for row in found if not isinstance(row, BadRow)]
    bad = [row for row in found if isinstance(row, BadRow)]
    assert [(row.annotator, row.step_index, row.value) for row in good if isinstance(row, StepLabel)] == [
        ("judge", 1, 1),
        ("people", 0, 2),
        ("people", 1, 0),
    ]
    assert [(row.annotator, row.value) for row in good if isinstance(row, TrajectoryLabel)] == [("people", 1.0)]
    assert {row.trajectory_id for row in good} == {runs[0].trajectory_id}  # type: ignore[union-attr]
    assert [(row.file, row.line) for row in bad] == [("ratings.jsonl", 2), ("ratings.jsonl", 3)]
    assert bad[0].reason == f"record 'hotpot:3:1': message 2 is no step of '{runs[0].trajectory_id}'"
    assert (counts.rows, counts.annotations, counts.elsewhere, counts.bad_rows) == (5, 4, 1, 2)
    assert list(counts.files) == ["ratings.jsonl", "runs.jsonl"]
    assert counts.skipped == ["note.json"]


def test_alone_labels_keep_the_names_of_their_file(tmp_path: Path) -> None:
    other = {**LABELS, "rater": "other", "step_labels": {"1": None, "5": 1}}
    path = lines(tmp_path / "a.jsonl", LABELS, other)
    found = list(import_labels(LabelSourceSettings(path=str(path), alone=True), None, LabelCounts()))
    # messages 1, 3 and 5 were labelled by somebody: steps 0, 1 and 2
    assert [(row.trajectory_id, row.step_index, row.value) for row in found if isinstance(row, StepLabel)] == [
        ("hotpot:3:1", 1, 1),
        ("hotpot:3:1", 0, None),
        ("hotpot:3:1", 2, 2),
    ]


def test_stop_ends_at_the_first_bad_row(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", LABELS, "{")
    settings = LabelSourceSettings(path=str(path), alone=True, on_bad_row="stop")
    with pytest.raises(DataError, match=r"^a\.jsonl:2: is not valid JSON.*labels\.on_bad_row=skip$"):
        list(import_labels(settings, None, LabelCounts()))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"path": None}, r"labels\.path is not set"),
        ({"on_bad_row": "skp"}, "Did you mean 'skip'"),
        ({"format": "agentrxx"}, "Did you mean 'agentrx'"),
    ],
)
def test_wrong_settings_are_refused_at_once(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        import_labels(LabelSourceSettings(**{"path": "x", **changed}), [], LabelCounts())


def test_what_holds_no_label_says_why(tmp_path: Path) -> None:
    def run(path: Path) -> None:
        list(import_labels(LabelSourceSettings(path=str(path)), [], LabelCounts()))

    with pytest.raises(DataError, match=r"absent: no such file or folder\. Set labels\.path"):
        run(tmp_path / "absent")
    with pytest.raises(DataError, match="1 rows are about trajectories that are not in this corpus"):
        run(lines(tmp_path / "a.jsonl", LABELS))
    with pytest.raises(DataError, match=r"holds no label that can be used.*files without labels: b\.jsonl"):
        run(lines(tmp_path / "b.jsonl", {"x": 1}))
    with pytest.raises(DataError, match=r"no file of labels\. Expected a regular file whose name ends in \.json"):
        run(lines(tmp_path / "c.txt", LABELS))


def test_the_real_labels_all_find_their_steps(real_data: Path) -> None:
    """README of the data: 352 steps, 20 raters of each of the 125 runs, labels at hand null at 74 places."""
    folder = real_data / "agentprocessbench"
    runs = trajectories(folder / "hotpotqa_q00-24.jsonl")
    counts = LabelCounts()
    found = list(import_labels(LabelSourceSettings(path=str(folder)), runs, counts))
    steps = [row for row in found if isinstance(row, StepLabel)]
    gold = {row.annotation_id: row for row in steps if row.role == "gold"}
    assert (counts.bad_rows, len(gold)) == (0, 352)
    raters = {row.annotator for row in steps if row.role == "annotator"}
    assert len(raters) == 20
    assert sum(row.value is None for row in steps) == 74
    assert len([row for row in steps if row.role == "annotator"]) == 20 * 352
    assert counts.elsewhere == 250 + 5000  # those of BFCL, whose runs are not at hand


def test_the_real_failures_blame_no_user(real_data: Path) -> None:
    folder = real_data / "agentrx-tau-retail"
    runs = trajectories(folder)
    counts = LabelCounts()
    found = list(import_labels(LabelSourceSettings(path=str(folder)), runs, counts))
    assert len(found) == 14  # of 15, one points to a user's message
    assert counts.without_step == 1
    assert len({row.trajectory_id for row in found if isinstance(row, StepLabel)}) == 9
