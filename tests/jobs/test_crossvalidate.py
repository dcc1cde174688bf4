"""job=crossvalidate: candidates, simple models and annotators judged by one measure; and the whole road from a log."""

import json
from pathlib import Path

import pytest

from rmtrain.config.compose import compose
from rmtrain.errors import ConfigError, DataError
from rmtrain.jobs.crossvalidate import run

FIGURES = {"step_accuracy", "first_error_accuracy", "kappa"}
SMALL = ("folds.number=2", "folds.inner=2", "folds.seeds=[0,1]", "folds.epochs=[1,2]")


def settings(flow, tiny_backbone, *overrides):
    return compose(
        [
            "job=crossvalidate",
            f"paths.runs={flow.base.parent}",
            "backbone=folder",
            f"backbone.name={tiny_backbone}",
            "backbone.tune=frozen",
            "tracking=none",
            "encoder.window_tokens=128",
            "encoder.prefix_tokens=40",
            "encoder.block_tokens=48",
            "encoder.layers=1",
            "encoder.attention_heads=4",
            "trainer.precision=32-true",
            "trainer.accelerator=cpu",
            "trainer.progress=false",
            *SMALL,
            *overrides,
        ]
    )


def test_candidates_stand_beside_simple_models_and_annotators(flow, built, trained, tiny_backbone, tmp_path):
    chosen = settings(
        flow,
        tiny_backbone,
        f"dataset.path={flow.base}/build/dataset",
        f"annotations={flow.base}/simulate/annotations.jsonl",
        f"start={flow.base}/train/model",
        "+candidates.continued.model=${start}",
        "+candidates.taught={model: null, annotators: true}",
    )
    report = run(chosen, tmp_path)
    figures = json.loads(json.dumps(report.figures))
    names = {"bare", "continued", "taught"}
    assert set(figures["judges"]) == {"majority", "tf-idf and counts", *names}
    for row in figures["judges"].values():
        assert set(row) == {*FIGURES, "kappa_until_first_error"}
    assert set(figures["minus_baseline"]) == set(figures["rank_among_annotators"]) == names
    assert report.counts["annotators"] == len(figures["annotators"]) == 6
    assert all(0 <= row["step_accuracy"]["value"] <= 1 for row in figures["annotators"].values())
    assert all(set(epochs) <= {1, 2} and len(epochs) == 2 for row in figures["epochs"].values() for epochs in row)
    assert any(line.split()[0] == "continued" for line in report.lines if line.strip())
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (["head=charm"], ConfigError, r"^head: unknown head 'charm'\. Known: consistency"),
        (["head=correctness"], ConfigError, r"^head=correctness is a trajectory head of objective bce\. Only heads of"),
        (["folds.number=1"], ConfigError, r"^folds\.number is 1"),
        (
            ["dataset.path=null"],
            ConfigError,
            r"^there is no dataset to judge\. Name one: dataset\.path=FOLDER; or a log",
        ),
        (["dataset.path=nowhere"], DataError, r"^dataset\.path=nowhere does not exist"),
    ],
)
def test_what_cannot_be_judged(flow, built, tiny_backbone, tmp_path, overrides, error, message):
    with pytest.raises(error, match=message):
        run(settings(flow, tiny_backbone, f"dataset.path={flow.base}/build/dataset", *overrides), tmp_path)


def test_without_annotators_nobody_can_teach(flow, built, tiny_backbone, tmp_path):
    chosen = settings(
        flow,
        tiny_backbone,
        f"dataset.path={flow.base}/build/dataset",
        "corpus=nobody",
        "+candidates.taught.annotators=true",
    )
    with pytest.raises(DataError, match=r"^there are no annotators to learn from\. Import their labels"):
        run(chosen, tmp_path)


def test_the_road_from_a_log_of_real_runs(flow, tiny_backbone, tmp_path, real_data: Path):
    chosen = settings(
        flow,
        tiny_backbone,
        "source=agentprocessbench",
        f"source.path={real_data}/agentprocessbench",
        "dataset.path=null",
        f"paths.runs={tmp_path}",
        "corpus=hot",
        "folds.seeds=[0]",
        "folds.epochs=[1]",
    )
    report = run(chosen, tmp_path / "hot/crossvalidate")
    assert (report.counts["trajectories"], report.counts["steps"], report.counts["tasks"]) == (125, 352, 25)
    assert report.counts["annotators"] == 20
    best = max(row["kappa"]["value"] for row in report.figures["annotators"].values())
    assert best == pytest.approx(0.525, abs=5e-4)
    for job in ("ingest", "verify", "import_labels", "build"):
        assert (tmp_path / "hot" / job / "report.json").is_file()
