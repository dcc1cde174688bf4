"""job=crossvalidate: candidates, simple models and annotators judged by one measure; and the whole road from a log."""

import json
import shutil
from pathlib import Path

import pytest

from rmtrain.config.compose import compose
from rmtrain.errors import ConfigError, DataError
from rmtrain.jobs.crossvalidate import run
from rmtrain.labels.schema import ANNOTATION, StepLabel
from rmtrain.trajectories.store import read, write

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


def of_another_dataset(model, folder):
    """A copy of a reward model that says it was trained on something else."""
    shutil.copytree(model, folder)
    card = json.loads((folder / "rmtrain.json").read_text())
    (folder / "rmtrain.json").write_text(json.dumps(card | {"dataset_digest": "another"}))
    return folder


def test_candidates_stand_beside_simple_models_and_annotators(flow, built, trained, tiny_backbone, tmp_path):
    chosen = settings(
        flow,
        tiny_backbone,
        f"dataset.path={flow.base}/build/dataset",
        f"annotations={flow.base}/simulate/annotations.jsonl",
        f"start={of_another_dataset(flow.base / 'train/model', tmp_path / 'model')}",
        "+candidates.continued.model=${start}",
        "+candidates.taught={model: null, annotators: true}",
    )
    report = run(chosen, tmp_path / "run")
    figures = json.loads(json.dumps(report.figures))
    names = {"bare", "continued", "taught"}
    assert set(figures["models"]) == {"majority", "tf-idf and counts", *names}
    for row in figures["models"].values():
        assert set(row) == {*FIGURES, "kappa_until_first_error"}
    assert set(figures["minus_baseline"]) == set(figures["rank_among_annotators"]) == names
    assert all(set(epochs) <= {1, 2} and len(epochs) == 2 for name in names for epochs in figures["chosen"][name])
    assert any(line.split()[0] == "continued" for line in report.lines if line.strip())
    # no expert here: annotators would be measured by their own answers
    assert figures["annotators"] == {}
    assert set(figures["rank_among_annotators"].values()) == {None}
    assert any("annotators are not measured" in warning for warning in report.warnings)
    assert list((tmp_path / "run").glob("*")) == []


def test_annotators_are_measured_by_experts_in_what_they_were_given(flow, built, tiny_backbone, tmp_path):
    answers = list(read(flow.base / "simulate" / "annotations.jsonl", ANNOTATION))
    steps = [row for row in answers if isinstance(row, StepLabel)]
    people = {row.annotator for row in steps}
    gold = {
        (row.trajectory_id, row.step_index): row.model_copy(
            update={"annotation_id": f"g{n}", "annotator": "expert", "role": "gold"}
        )
        for n, row in enumerate(steps)
    }
    write(tmp_path / "annotations.jsonl", [*steps, *gold.values()])
    chosen = settings(
        flow, tiny_backbone, f"dataset.path={flow.base}/build/dataset", f"annotations={tmp_path}/annotations.jsonl",
        "folds.seeds=[0]", "folds.epochs=[1]",
    )  # fmt: skip
    found = run(chosen, tmp_path / "run").figures["annotators"]
    assert set(found) == people
    # each was given a third of the trajectories; what they were not given does not count against them
    assert min(row["step_accuracy"]["value"] for row in found.values()) > 0.6


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (["head=charm"], ConfigError, r"^head: unknown head 'charm'\. Known: consistency"),
        (["head=correctness"], ConfigError, r"^head=correctness is a trajectory head of objective bce\. Only heads of"),
        (["folds.number=1"], ConfigError, r"^folds\.number is 1"),
        (["dataset.path=null", "corpus=none"], DataError, r"^dataset\.path=.*none/build/dataset does not exist"),
        (["encoder.markers=true"], ConfigError, r"was rendered with markers=False .* Build it again"),
        (["source=openai", "source.path=x"], ConfigError, r"^dataset\.path and source\.path both say"),
        (["+candidates.majority={}"], ConfigError, r"^candidates: 'majority' is the name of a"),
        (["dataset.path=nowhere"], DataError, r"^dataset\.path=nowhere does not exist"),
    ],
)
def test_what_cannot_be_judged(flow, built, tiny_backbone, tmp_path, overrides, error, message):
    with pytest.raises(error, match=message):
        run(settings(flow, tiny_backbone, f"dataset.path={flow.base}/build/dataset", *overrides), tmp_path)


def test_without_annotators_nobody_can_teach(flow, built, tiny_backbone, tmp_path):
    (tmp_path / "none.jsonl").touch()
    chosen = settings(
        flow,
        tiny_backbone,
        f"dataset.path={flow.base}/build/dataset",
        f"annotations={tmp_path}/none.jsonl",
        "+candidates.taught.annotators=true",
    )
    with pytest.raises(DataError, match=r"^there are no annotators for candidates\.taught to learn from\. Import"):
        run(chosen, tmp_path)


def test_a_model_that_knows_the_answers_is_refused(flow, built, trained, tiny_backbone, tmp_path):
    overrides = [f"dataset.path={flow.base}/build/dataset", f"+candidates.knows.model={flow.base}/train/model"]
    with pytest.raises(ConfigError, match="was trained on this very dataset"):
        run(settings(flow, tiny_backbone, *overrides), tmp_path)


def test_the_road_from_a_log_of_real_runs(flow, tiny_backbone, tmp_path, real_data: Path):
    chosen = settings(
        flow,
        tiny_backbone,
        "source=agentprocessbench",
        f"source.path={real_data}/agentprocessbench",
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
