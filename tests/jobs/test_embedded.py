"""The embedded corpus is made once per settings, by the very pages of the jobs, and another world lies elsewhere."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import rmtrain.jobs.embedded as embedded
from rmtrain.dataset.store import load
from rmtrain.errors import ConfigError, DataError
from rmtrain.jobs.embedded import load_embedded

TINY = ("world.n_tasks=8", "world.n_rollouts=2", "world.test_share=0.3", "dataset=embedded")


@pytest.fixture(scope="module")
def made(flow):
    return load_embedded(flow.settings("train", *TINY)).folder


def test_it_is_what_the_jobs_would_have_made(made, flow):
    base = made.parent.parent
    assert base.parent == flow.runs
    assert base.name.startswith("embedded-")
    assert made == base / "build" / "dataset"
    dataset = load(made)
    assert sum(len(data.examples) for data in dataset.splits.values()) == 16
    for job, count in (("simulate", 8), ("build", 8)):
        report = json.loads((base / job / "report.json").read_text())
        assert report["job"] == job
        assert report["counts"]["tasks"] == count
        assert report["settings"]["corpus"] == base.name
    assert json.loads((base / "verify" / "report.json").read_text())["counts"]["trajectories"] == 16
    for path in base.rglob("*.json"):
        assert ".partial" not in path.read_text()  # the folder it was made in
    artefacts = json.loads((base / "build" / "report.json").read_text())["artefacts"]
    assert artefacts == {"dataset": str(made)}
    assert [path.name for path in flow.runs.iterdir() if ".partial" in path.name] == []


def test_it_is_made_once(made, flow, files, capsys):
    base = made.parent.parent
    before = {path: path.stat().st_mtime_ns for path in base.rglob("*")}
    assert load_embedded(flow.settings("train", *TINY, "trainer.epochs=7")).folder == made
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == before
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("change", ["world.seed=1", "encoder.markers=true", "~heads.consistency"])
def test_what_decides_the_corpus_gives_another(made, flow, change, capsys):
    other = load_embedded(flow.settings("train", *TINY, change)).folder
    assert other != made
    assert load(other).digest != load(made).digest
    lines = capsys.readouterr().out.splitlines()
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert any("world.n_tasks=8 is too few" in warning for warning in warnings)
    assert [line.split(":")[0] for line in lines if line not in warnings] == ["simulate", "verify", "build"]
    assert lines[0].startswith("simulate: 8 tasks, 16 trajectories, ")


@pytest.fixture
def alone(made, flow, tmp_path):
    """Settings whose corpus lies in a folder of runs of its own, as copied from `made`."""
    shutil.copytree(made.parent.parent, tmp_path / made.parent.parent.name)
    return flow.settings("train", *TINY, f"paths.runs={tmp_path}")


@pytest.mark.parametrize("damage", ["a table is cut", "no description", "no dataset", "no build"])
def test_one_that_does_not_load_is_made_again(damage, alone, made, files, tmp_path, capsys):
    base = tmp_path / made.parent.parent.name
    dataset = base / "build" / "dataset"
    if damage == "a table is cut":
        (table,) = (dataset / "examples" / "train").glob("*.arrow")
        table.write_bytes(table.read_bytes()[:100])
    elif damage == "no description":
        (dataset / "dataset.json").write_text("[]")
    else:
        shutil.rmtree(dataset if damage == "no dataset" else dataset.parent)
    (base / "score").mkdir()
    (base / "score" / "rewards.jsonl").write_text("mine")
    assert load_embedded(alone).splits == load(made).splits
    said = f"{dataset} does not load: it is made again\n" in capsys.readouterr().out
    assert said == (damage in ("a table is cut", "no description"))
    assert (base / "score" / "rewards.jsonl").read_text() == "mine"  # other jobs of the corpus lose nothing
    assert [path.name for path in tmp_path.iterdir()] == [base.name]
    assert {path.name for path in base.iterdir()} == {"simulate", "verify", "build", "score"}


@pytest.mark.parametrize("there", ["nothing", "a damaged one"])
def test_of_two_runs_at_once_the_slower_takes_what_the_faster_made(there, alone, made, tmp_path, monkeypatch, files):
    base = tmp_path / made.parent.parent.name
    if there == "nothing":
        shutil.rmtree(base)
    else:
        (base / "build" / "dataset" / "dataset.json").write_text("[]")
    usual, won = embedded._make, []

    def overtaken(*arguments):
        usual(*arguments)
        monkeypatch.setattr(embedded, "_make", usual)
        won.append(load_embedded(alone))  # the other run begins later and is done earlier
        won.append({path: path.stat().st_mtime_ns for path in base.rglob("*")})

    monkeypatch.setattr(embedded, "_make", overtaken)
    found = load_embedded(alone)
    assert found == won[0]
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == won[1]
    assert [path.name for path in tmp_path.iterdir()] == [base.name]


def test_a_failure_leaves_no_part(alone, made, tmp_path):
    shutil.rmtree(tmp_path / made.parent.parent.name)
    alone.verifiers.rules = ["clairvoyance"]
    with pytest.raises(ConfigError, match="clairvoyance"):
        load_embedded(alone)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_ended_from_outside_is_a_sentence(alone, made, tmp_path, monkeypatch):
    shutil.rmtree(tmp_path / made.parent.parent.name)

    def ended(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(embedded.ProcessPoolExecutor, "submit", ended)
    with pytest.raises(DataError, match="ended from outside"):
        load_embedded(alone)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_may_not_be_written_to_is_a_sentence(alone, made, tmp_path, monkeypatch):
    shutil.rmtree(tmp_path / made.parent.parent.name)
    usual = os.rename

    def denied(source, target):
        if str(source).endswith(".partial"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        usual(source, target)

    monkeypatch.setattr(os, "rename", denied)
    monkeypatch.setattr(embedded, "replace_folder", denied_too)
    with pytest.raises(DataError, match=r"simulate cannot be written \(Permission denied\)\. Mend its rights"):
        load_embedded(alone)


def denied_too(*_):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_the_process_that_makes_the_corpus_ends_with_its_parent(tmp_path: Path) -> None:
    code = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from rmtrain.jobs.embedded import _end_with_parent
if __name__ == "__main__":
    apart = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_end_with_parent)
    print(apart.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), 9)
"""
    script = tmp_path / "start.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    worker = int(done.stdout)
    until = time.monotonic() + 20
    while time.monotonic() < until and Path(f"/proc/{worker}/stat").exists():
        if Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{worker}").exists()
