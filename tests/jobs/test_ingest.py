"""job=ingest as a page: every row is a trajectory or in quarantine, and the report says so."""

import json

import pytest

from rmtrain.config.compose import compose
from rmtrain.errors import DataError
from rmtrain.jobs.ingest import run
from rmtrain.trajectories.importers.base import BadRow
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read

GOOD = {
    "task_id": "t-1",
    "reward": 1,
    "messages": [
        {"role": "user", "content": "What is the capital of France?"},
        {
            "role": "assistant",
            "content": "I look it up.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "France"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Paris"},
        {"role": "assistant", "content": "Paris."},
    ],
}


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log.jsonl"
    rows = [json.dumps(GOOD), '{"messages": [', json.dumps({**GOOD, "reward": 0})]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_every_row_is_accounted_for(log, tmp_path):
    folder = tmp_path / "runs/main/ingest"
    report = run(compose(["job=ingest", f"source.path={log}"]), folder)
    trajectories = list(read(folder / "trajectories.jsonl", Trajectory))
    bad = list(read(folder / "quarantine.jsonl", BadRow))
    assert [trajectory.source.line for trajectory in trajectories] == [1, 3]
    assert [row.line for row in bad] == [2]
    assert report.counts == {"trajectories": 2, "bad_rows": 1, "files": 1}
    assert report.figures["trajectories"]["n_tasks"] == 1
    assert (
        report.lines[1] == "  mean reward 0.500 of 2 rewarded  pass^1 0.500, pass^2 0.000"
    )  # 1 of 2 succeed; never both
    assert report.lines[2:] == ["  in quarantine:", f"  1 x {next(iter(report.figures['ingest']['reasons']))}"]
    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("1 of 3 rows could not be read and are in quarantine, the first: log.jsonl:2:")
    assert report.next == ["python -m rmtrain job=verify"]
    assert report.save(folder).is_file()


def test_the_log_is_not_replaced(log, tmp_path):
    own = log.rename(tmp_path / "trajectories.jsonl")
    before = own.read_bytes()
    with pytest.raises(
        DataError, match=r"trajectories\.jsonl is read by this job and would be replaced by it\. Write else"
    ):
        run(compose(["job=ingest", f"source.path={own}"]), tmp_path)
    assert own.read_bytes() == before


def test_run_twice_nothing_doubles(log, tmp_path):
    folder = tmp_path / "runs/main/ingest"
    settings = compose(["job=ingest", f"source.path={log}"])
    run(settings, folder)
    once = {path.name: path.read_bytes() for path in folder.iterdir()}
    run(settings, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == once


def test_a_log_without_a_trajectory_leaves_what_was_there(log, tmp_path):
    folder = tmp_path / "runs/main/ingest"
    run(compose(["job=ingest", f"source.path={log}"]), folder)
    before = (folder / "trajectories.jsonl").read_bytes()
    log.write_text("{}\n")
    with pytest.raises(DataError, match=r"holds no trajectory of format 'openai'"):
        run(compose(["job=ingest", f"source.path={log}"]), folder)
    assert (folder / "trajectories.jsonl").read_bytes() == before


def test_a_full_disk_replaces_neither_file(log, tmp_path, full_disk):
    folder = tmp_path / "runs/main/ingest"
    run(compose(["job=ingest", f"source.path={log}"]), folder)
    names = ("trajectories.jsonl", "quarantine.jsonl")
    before = [(folder / name).read_bytes() for name in names]
    row = json.dumps(GOOD)
    (tmp_path / "other.jsonl").write_text("\n".join([row, *["{" + "x" * 300] * 40]))
    with full_disk(6000), pytest.raises(DataError, match=r"quarantine\.jsonl: cannot be written"):
        run(compose(["job=ingest", f"source.path={tmp_path / 'other.jsonl'}"]), folder)
    assert [(folder / name).read_bytes() for name in names] == before
    assert not list(folder.glob(".*"))
