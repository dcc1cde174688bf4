"""job=build: labels by verdicts, by people and by both, a dataset the same every time, and refusals in words."""

import os
import shutil

import pytest

from rmtrain.config.jobs import TrainSettings
from rmtrain.dataset.store import load
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, write
from rmtrain.verifiers.base import Verdict
from rmtrain.world.truth import Truth


def test_every_head_has_labels_and_every_trajectory_its_truth(flow, built, goes_on):
    dataset = load(flow.base / "build" / "dataset")
    assert built.counts["tasks"] == 16
    assert built.counts["trajectories"] == 48
    assert built.figures["digest"] == dataset.digest
    for split in ("train", "validation", "test"):
        labels = built.figures["splits"][split]["labels"]
        assert set(labels) == {"correctness", "tool_efficiency", "step_quality", "consistency"}
        assert min(labels.values()) > 0
    verdicts = {
        v.trajectory_id: v.value
        for v in read(flow.base / "verify" / "verdicts.jsonl", Verdict)
        if v.dimension == "correctness"
    }
    truths = {t.trajectory_id: t for t in read(flow.base / "simulate" / "truth.jsonl", Truth)}
    splits = {t.trajectory_id: t.source.split for t in read(flow.base / "simulate" / "trajectories.jsonl", Trajectory)}
    for split, data in dataset.splits.items():
        for example in data.examples:
            assert example.trajectory_labels["correctness"] == verdicts[example.trajectory_id]
            assert example.truth["correctness"] == truths[example.trajectory_id].correctness
            assert splits[example.trajectory_id] == split
    assert built.warnings == []
    following = goes_on(built)
    assert [type(settings) for settings in following] == [TrainSettings]
    assert following[0].dataset.path == str(flow.base / "build" / "dataset")


def test_run_twice_nothing_doubles(flow, built, files):
    folder = flow.base / "build" / "dataset"
    before, loaded = files(folder), load(folder)
    flow.run("build")
    after = files(folder)
    assert {name for name in before if not name.endswith("state.json")} == {
        name for name in after if not name.endswith("state.json")
    }
    assert {n: b for n, b in before.items() if n.endswith((".arrow", "dataset.json", ".md"))} == {
        n: b for n, b in after.items() if n.endswith((".arrow", "dataset.json", ".md"))
    }
    assert load(folder) == loaded


def test_verdicts_alone_do_as_far_as_they_go(flow, verified, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))
    write(tmp_path / "trajectories.jsonl", rows)  # without annotations or truth beside it
    report = flow.run("build", f"trajectories={tmp_path}/trajectories.jsonl", folder=tmp_path / "out")
    labels = report.figures["splits"]["train"]["labels"]
    assert labels["correctness"] > 0
    assert labels["step_quality"] == 0
    assert "consistency" not in labels
    assert "no label for head 'consistency' in train" in report.warnings
    assert "no label for head 'step_quality' in test" in report.warnings
    assert load(tmp_path / "out" / "dataset").splits["train"].examples[0].truth == {}


def test_annotations_may_lie_elsewhere(flow, verified, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))
    write(tmp_path / "trajectories.jsonl", rows)
    report = flow.run(
        "build",
        f"trajectories={tmp_path}/trajectories.jsonl",
        f"annotations={flow.base}/simulate/annotations.jsonl",
        "~heads.consistency",
        folder=tmp_path / "out",
    )
    assert report.figures["splits"]["train"]["labels"]["step_quality"] > 0
    n_pairs = sum(report.figures["dropped"].values())
    assert report.warnings == [f"left out: {n_pairs} x pairs on 'consistency', which no bradley_terry head learns"]


def test_a_trajectory_without_a_step_is_left_out_and_counted(flow, verified, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))
    rows[0] = rows[0].model_copy(update={"steps": ()})
    write(tmp_path / "trajectories.jsonl", rows)
    report = flow.run("build", f"trajectories={tmp_path}/trajectories.jsonl", folder=tmp_path / "out")
    assert report.figures["dropped"] == {"trajectory without a step": 1}
    assert "left out: 1 x trajectory without a step" in report.warnings


def test_verdicts_on_other_trajectories_are_refused(flow, verified, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))
    write(tmp_path / "trajectories.jsonl", rows[1:])
    with pytest.raises(DataError, match=r"verdicts\.jsonl judges trajectories that are not in .*job=verify"):
        flow.run("build", f"trajectories={tmp_path}/trajectories.jsonl", folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("override", "error", "message"),
    [
        ("verdicts=/none.jsonl", DataError, r"verdicts=/none\.jsonl does not exist\. Make it: .*job=verify"),
        (
            "verdicts=/dev/zero",
            DataError,
            r"verdicts=/dev/zero is a device\. Expected a file: verdicts=PATH",
        ),
        ("annotations=/dev", DataError, r"annotations=/dev is a folder\. Expected a file"),
        ("splits.train=nan", ConfigError, r"the shares of splits are .*nan.* must sum to 1"),
        ("annotations=/none.jsonl", DataError, r"annotations=/none\.jsonl does not exist"),
        ("trajectories=/none.jsonl", DataError, r"trajectories=/none\.jsonl does not exist"),
        ("splits.train=0.9", ConfigError, r"sum to 1\.3\. None may be negative"),
        ("corpus=void", DataError, r"no trajectories in .*void/ingest/trajectories\.jsonl"),
    ],
)
def test_what_is_not_there_is_named(flow, verified, override, error, message, tmp_path):
    with pytest.raises(error, match=message):
        flow.run("build", override, folder=tmp_path / "out")


def test_verdicts_older_than_the_trajectories_are_told_of(flow, verified, tmp_path):
    for job in ("simulate", "verify"):
        shutil.copytree(flow.base / job, tmp_path / "corpus" / job)
    trajectories = tmp_path / "corpus/simulate/trajectories.jsonl"
    verdicts = tmp_path / "corpus/verify/verdicts.jsonl"
    for age, is_told in ((-1, True), (0, False)):
        os.utime(verdicts, ns=(0, trajectories.stat().st_mtime_ns + age))
        report = flow.run("build", f"trajectories={trajectories}", f"verdicts={verdicts}", folder=tmp_path / "out")
        told = [warning for warning in report.warnings if "is older than" in warning and "job=verify" in warning]
        assert bool(told) == is_told


def test_a_typo_in_a_head_is_one_before_anything_is_read(flow, tmp_path):
    with pytest.raises(ConfigError, match=r"unknown objective 'ordinl'.*Did you mean 'ordinal'"):
        flow.run("build", "heads.step_quality.objective=ordinl", folder=tmp_path / "out")


def test_a_folder_of_something_else_is_kept(flow, verified, tmp_path):
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "thesis.txt").touch()
    with pytest.raises(DataError, match=r"holds something other than a dataset, which would be lost\. Write elsewhere"):
        flow.run("build", folder=tmp_path)
    assert [path.name for path in (tmp_path / "dataset").iterdir()] == ["thesis.txt"]
