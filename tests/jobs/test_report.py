"""A report is written whole, holds no NaN, and reads in a few lines."""

import errno
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rmtrain.config.jobs import JobSettings
from rmtrain.config.paths import PathSettings
from rmtrain.errors import DataError
from rmtrain.jobs.report import REPORT_VERSION, Report, next_command, number, table
from rmtrain.trajectories.schema import digest


def test_what_is_saved_is_what_was_reported(tmp_path):
    report = Report(
        job="ingest",
        artefacts={"trajectories": tmp_path / "trajectories.jsonl"},
        counts={"trajectories": 412},
        figures={"auc": {"correctness": None, "consistency": 0.75}},
        next=["python -m rmtrain job=verify"],
    )
    report.close({"job": "ingest", "corpus": "main"}, datetime.now(UTC) - timedelta(seconds=90))
    saved = json.loads(report.save(tmp_path / "run").read_text())
    assert saved["schema_version"] == REPORT_VERSION
    assert saved["figures"] == {"auc": {"correctness": None, "consistency": 0.75}}
    assert saved["artefacts"] == {"trajectories": str(tmp_path / "trajectories.jsonl")}
    assert saved["settings_digest"] == digest({"corpus": "main", "job": "ingest"})
    assert 90 <= saved["duration_s"] < 100
    assert set(saved["versions"]) >= {"python", "rmtrain", "torch"}
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["report.json"]


def test_nan_is_refused_and_the_earlier_report_stays(tmp_path):
    Report(job="train", figures={"auc": 0.5}).save(tmp_path)
    earlier = (tmp_path / "report.json").read_text()
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        Report(job="train", figures={"auc": float("nan")}).save(tmp_path)
    assert (tmp_path / "report.json").read_text() == earlier


def test_a_report_that_cannot_be_written_is_a_sentence_and_leaves_no_part(tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataError, match=r"report\.json cannot be written \(No space left"):
        Report(job="verify").save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_text_says_what_where_and_what_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = Report(
        job="ingest",
        artefacts={"trajectories": tmp_path / "runs/t.jsonl", "quarantine": Path("/elsewhere/q.jsonl")},
        counts={"trajectories": 1412, "bad_rows": 3},
        lines=["  figures come here"],
        warnings=["3 rows could not be read"],
        next=["python -m rmtrain job=verify"],
        duration_s=1.26,
    )
    assert report.text() == (
        "ingest: 1,412 trajectories, 3 bad rows (1.3 s)\n"
        "  trajectories  runs/t.jsonl\n"
        "  quarantine    /elsewhere/q.jsonl\n"
        "  figures come here\n"
        "warning: 3 rows could not be read\n"
        "next: python -m rmtrain job=verify"
    )


@pytest.mark.parametrize(
    ("corpus", "runs", "folder", "command"),
    [
        ("main", "runs", "runs/main/ingest", "python -m rmtrain job=verify"),
        ("support", "runs", "runs/support/ingest", "python -m rmtrain job=verify corpus=support"),
        ("main", "my runs", "my runs/main/ingest", "python -m rmtrain job=verify 'paths.runs=\"my runs\"'"),
        ("main", "runs", "other", "python -m rmtrain job=verify trajectories=other/t.jsonl"),
    ],
)
def test_the_next_command_finds_what_was_made(corpus, runs, folder, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = JobSettings(job="ingest", corpus=corpus, paths=PathSettings(runs=runs))
    made = tmp_path / folder
    assert next_command(settings, "verify", made, trajectories=made / "t.jsonl") == command


def test_a_number_fits_its_line():
    assert [number(value) for value in (0.5, -1234.5678, 1e300)] == ["0.500", "-1234.568", "1e+300"]


def test_a_table_aligns_its_columns():
    assert table(["rule", "decided", "mean"], [["known_tool", 1234, 0.5], ["x", 0, None]]) == [
        "  rule        decided   mean",
        "  known_tool    1,234  0.500",
        "  x                 0      -",
    ]


def test_training_goes_on_from_the_built_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = JobSettings(job="build", corpus="support")
    usual = tmp_path / "runs/support/build"
    command = "python -m rmtrain job=train corpus=support dataset=folder"
    assert next_command(settings, "train", usual, dataset=usual / "dataset") == command
    elsewhere = tmp_path / "other"
    assert next_command(settings, "train", elsewhere, dataset=elsewhere / "dataset") == (
        f"{command} dataset.path=other/dataset"
    )
