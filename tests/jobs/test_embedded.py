"""The embedded corpus is made once per settings, by the very pages of the jobs, and another world lies elsewhere."""

import json

import pytest

from rmtrain.dataset.store import load
from rmtrain.jobs.embedded import embedded_dataset

TINY = ("world.n_tasks=8", "world.n_rollouts=2", "world.test_share=0.3", "dataset=embedded")


@pytest.fixture(scope="module")
def made(flow):
    return embedded_dataset(flow.settings("train", *TINY))


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


def test_it_is_made_once(made, flow, files, capsys):
    base = made.parent.parent
    before = {path: path.stat().st_mtime_ns for path in base.rglob("*")}
    assert embedded_dataset(flow.settings("train", *TINY, "trainer.epochs=7")) == made
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == before
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("change", ["world.seed=1", "encoder.markers=true", "~heads.consistency"])
def test_what_decides_the_corpus_gives_another(made, flow, change, capsys):
    other = embedded_dataset(flow.settings("train", *TINY, change))
    assert other != made
    assert load(other).digest != load(made).digest
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["simulate", "verify", "build"]
    assert lines[0].startswith("simulate: 8 tasks, 16 trajectories, ")
