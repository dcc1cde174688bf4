"""job=train end to end: a model folder, a report, one MLflow run per training; and refusals before any work."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hydra import compose as compose_hydra
from hydra import initialize_config_dir

import rmtrain.jobs.train as page
from rmtrain.config.compose import compose
from rmtrain.config.folder import conf_folder
from rmtrain.dataset.build import Built, SplitData
from rmtrain.dataset.examples import Example
from rmtrain.dataset.store import Dataset, load, save
from rmtrain.errors import ConfigError, DataError, ModelError
from rmtrain.jobs.train import _dataset, _leave_out, _lines
from rmtrain.model.checkpoint import load_model
from rmtrain.model.evaluation.figures import HeadRow
from rmtrain.model.evaluation.table import HeadTable
from rmtrain.model.objectives import OBJECTIVES
from rmtrain.tracking.tracker import Tracker
from rmtrain.trajectories.render import RenderOptions
from rmtrain.trajectories.schema import SPLITS

HEADS = ["correctness", "tool_efficiency", "step_quality", "consistency"]


def client(flow):
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=f"sqlite:///{flow.store}/m.db")


def recorded(flow):
    api = client(flow)
    experiment = api.get_experiment_by_name("flow")
    return [] if experiment is None else api.search_runs([experiment.experiment_id])


def test_a_report_holds_the_model_its_figures_and_the_way_on(flow, trained, goes_on):
    report = json.loads((flow.base / "train" / "report.json").read_text())
    assert report["artefacts"] == {
        "model": str(flow.base / "train" / "model"),
        "dataset": str(flow.base / "build" / "dataset"),
    }
    assert report["counts"]["epochs"] == 2
    assert report["counts"]["best_epoch"] in (1, 2)
    assert [entry["epoch"] for entry in report["figures"]["history"]] == [0, 1]
    assert list(report["figures"]["heads"]) == HEADS
    for row in report["figures"]["heads"].values():
        assert row["n"] > 0
        assert None not in (row["model"], row["tfidf"], row["majority"], row["ceiling"], row["way_model"])
        assert row["ceiling"] > row["chance"]
    assert set(report["figures"]["converged_epoch"]) == set(HEADS)
    assert list(report["figures"]["families"]) == ["calculation", "contradiction", "lookup", "promise"]
    for rows in report["figures"]["families"].values():
        assert list(rows) == HEADS
    assert report["figures"]["families_not_in_training"] == []
    assert report["figures"]["dataset_digest"] == load(flow.base / "build" / "dataset").digest
    scoring, ingesting = goes_on(trained)
    assert scoring.job == "score"
    assert Path(scoring.model) == flow.base / "train" / "model"
    assert Path(scoring.input) == flow.base / "simulate" / "trajectories.jsonl"
    assert (ingesting.job, ingesting.corpus) == ("ingest", "mine")
    table = [line for line in trained.lines if line.strip()]
    assert table[0].split()[:3] == ["head", "figure", "n"]
    assert [line.split()[0] for line in table[1:5]] == HEADS


def test_the_model_folder_says_what_it_learned_from(flow, trained):
    model = load_model(flow.base / "train" / "model")
    assert list(model.card.heads) == HEADS
    assert model.card.dataset_digest == trained.figures["dataset_digest"]
    assert model.card.heads["step_quality"].class_names == ["serious error", "partly sound", "sound"]


def test_the_run_is_in_mlflow_whole(flow, trained):
    api, run_id = client(flow), trained.figures["mlflow"]["run_id"]
    run = api.get_run(run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "train"
    assert run.data.params["dataset"] == trained.figures["dataset_digest"]
    assert run.inputs.dataset_inputs[0].dataset.digest == trained.figures["dataset_digest"]
    keys = {objective.measure: objective.key for objective in OBJECTIVES.values()}
    for head in HEADS:
        row = trained.figures["heads"][head]
        assert run.data.metrics[f"test_{keys[row['measure']]}/{head}"] == pytest.approx(row["model"])
        assert run.data.metrics[f"test_way/{head}"] == pytest.approx(row["way_model"])
        curve = sorted(api.get_metric_history(run_id, f"train_loss/{head}"), key=lambda point: point.step)
        assert [point.value for point in curve] == pytest.approx(
            [entry[f"train_loss/{head}"] for entry in trained.figures["history"]]
        )  # both epochs, at their own step
        assert [point.step for point in curve] == [0, 1]
        weights = api.get_metric_history(run_id, f"loss_weight/{head}")
        assert len(weights) == 2
    kept = {entry.path for folder in ("", "report", "dataset", "model") for entry in api.list_artifacts(run_id, folder)}
    assert {
        "settings.json",
        "report/table.json",
        "report/families.json",
        "report/convergence.png",
        "dataset/README.md",
    } <= kept
    assert "model/rmtrain.json" in kept
    assert trained.next[0].startswith("make mlflow")
    assert run_id in trained.next[0]


def test_run_twice_the_model_is_the_same_and_mlflow_has_one_run_more(flow, trained, files):
    before, n = files(flow.base / "train" / "model"), len(recorded(flow))
    again = flow.run("train")
    assert files(flow.base / "train" / "model") == before
    assert again.figures["heads"] == trained.figures["heads"]
    assert len(recorded(flow)) == n + 1
    assert not (flow.base / "train" / "checkpoints").exists()  # the model folder is whole without them


def test_a_run_that_fails_is_marked_so(flow, built, tmp_path):
    before = {run.info.run_id for run in recorded(flow)}
    with pytest.raises(ModelError, match="nowhere"):
        flow.run("train", "backbone.name=/nowhere", folder=tmp_path / "out")
    (failed,) = [run for run in recorded(flow) if run.info.run_id not in before]
    assert failed.info.status == "FAILED"
    assert not (tmp_path / "out" / "report.json").exists()


def test_without_tracking_or_baselines_the_figures_are_in_the_report(flow, built, tmp_path):
    n = len(recorded(flow))
    report = flow.run(
        "train",
        "tracking.uri=null",
        "baselines=false",
        "trainer.epochs=1",
        "~heads.tool_efficiency",
        folder=tmp_path / "out",
    )
    assert len(recorded(flow)) == n
    assert report.figures["mlflow"] == {"uri": None, "experiment_id": None, "run_id": None}
    assert list(report.figures["heads"]) == ["correctness", "step_quality", "consistency"]
    assert {row["tfidf"] for row in report.figures["heads"].values()} == {None}
    assert report.next[0].startswith("python -m rmtrain job=score")


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (["dataset.path=/none"], DataError, r"^dataset\.path=/none does not exist\. Make it: .*job=build"),
        (["dataset.path=/tmp"], DataError, r"^/tmp is not a dataset: it holds no dataset\.json"),
        (
            ["encoder.markers=true"],
            ConfigError,
            r"was rendered with markers=False \(hash \w{16}\), but this run reads markers=True .*set encoder\.markers",
        ),
        (
            ["heads.step_quality.classes=4", "heads.step_quality.class_names=null"],
            ConfigError,
            r"^head 'step_quality' is \{.*'classes': 4\}, but .* was built with \{.*'classes': 3\}\. Build it again",
        ),
        (
            ["+heads.safety={level: step, objective: bce}"],
            ConfigError,
            r"^head 'safety' is \{.*\}, but .*dataset was built without it\. Build it again with these heads",
        ),
    ],
)
def test_a_dataset_that_does_not_fit_is_refused_before_a_run_is_opened(
    flow, built, overrides, error, message, tmp_path
):
    n = len(recorded(flow))
    with pytest.raises(error, match=message):
        flow.run("train", *overrides, folder=tmp_path / "out")
    assert len(recorded(flow)) == n
    assert not (tmp_path / "out").exists()


def bare_dataset(folder: Path) -> Dataset:
    """A dataset whose only labels are of correctness."""
    splits = {name: SplitData() for name in SPLITS}
    splits["train"].examples += [
        Example(str(i), str(i), "Task: a\n", ("b\n",), {"correctness": i / 2}, {"step_quality": (None,)})
        for i in range(3)
    ]
    return Dataset(splits, "digest", "hash", False, {}, folder)


def test_heads_without_a_label_are_left_out_in_words(tmp_path):
    settings = compose([f"dataset.path={tmp_path}"])
    warnings = _leave_out(settings, bare_dataset(tmp_path))
    assert list(settings.heads) == ["correctness"]
    assert [warning.split("'")[1] for warning in warnings] == ["tool_efficiency", "step_quality", "consistency"]


def test_heads_without_a_label_stop_training_where_that_is_asked_for(tmp_path):
    settings = compose([f"dataset.path={tmp_path}", "dataset.unlabelled_heads=stop"])
    with pytest.raises(DataError, match="no label in training for tool_efficiency, step_quality, consistency"):
        _leave_out(settings, bare_dataset(tmp_path))

    with pytest.raises(DataError, match=r"or train without: dataset\.unlabelled_heads=drop$"):
        _leave_out(settings, bare_dataset(tmp_path))


@pytest.mark.parametrize("policy", ["drop", "stop"])
def test_where_no_head_has_a_label_leaving_all_out_is_no_remedy(policy, tmp_path):
    settings = compose([f"dataset.path={tmp_path}", "~heads.correctness", f"dataset.unlabelled_heads={policy}"])
    with pytest.raises(DataError, match=r"no label in training for tool_efficiency, .*\(job=build annotations=FILE\)$"):
        _leave_out(settings, bare_dataset(tmp_path))


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (["dataset.unlabelled_heads=dorp"], ConfigError, "Did you mean 'drop'"),
        (["heads.step_quality.objective=ordinl"], ConfigError, "unknown objective 'ordinl'.*Did you mean 'ordinal'"),
        (
            [f"~heads.{name}" for name in HEADS],
            ConfigError,
            "heads is empty, every one was taken away: a reward model needs at least one",
        ),
        (["heads.correctness.early=0"], ConfigError, r"heads\.correctness\.early is 0\.0, not a relative loss weight"),
        (["schedule.kind=phasd"], ConfigError, "unknown schedule kind 'phasd'"),
        (["trainer.clip=-1"], ConfigError, r"trainer\.clip is -1\.0"),
        (["trainer.precision=16-mixed"], ConfigError, "16-mixed, which needs a GPU"),
        (["trainer.accelerator=gppu"], ConfigError, "unknown accelerator 'gppu'"),
        (["backbone.tune=al"], ConfigError, "unknown backbone tune 'al'"),
        (["backbone.name=nowhere", "backbone.package_path=model"], ModelError, "package 'nowhere' is not installed"),
    ],
)
def test_a_typo_is_told_of_before_a_corpus_is_made_for_it(flow, overrides, error, message, tmp_path, monkeypatch):
    def never(settings):
        raise AssertionError("the corpus was made first")

    monkeypatch.setattr(page, "load_embedded", never)
    with pytest.raises(error, match=message):
        flow.run("train", "dataset=embedded", *overrides, folder=tmp_path / "out")


def test_runs_that_begin_at_once_have_folders_of_their_own():
    def folders():
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            settings = compose_hydra("config", return_hydra_config=True)
        return settings.hydra.run.dir, settings.hydra.sweep.dir

    found = [folder for _ in range(5) for folder in folders()]
    assert len(set(found)) == 10
    for folder in found[::2]:
        time.strptime(Path(folder).name.rpartition("-")[0], "%Y-%m-%d_%H-%M-%S")  # still reads as a time
        assert Path(folder).parent == Path("runs/train")


@pytest.mark.slow
def test_ctrl_c_is_status_130_and_the_run_is_no_finished_one(built, flow, tiny_backbone, tmp_path):
    command = [
        *(sys.executable, "-m", "rmtrain", "dataset=folder", f"dataset.path={flow.base}/build/dataset"),
        *("backbone=folder", f"backbone.name={tiny_backbone}", "encoder.window_tokens=128", "encoder.prefix_tokens=40"),
        *("encoder.block_tokens=48", "encoder.layers=1", "encoder.attention_heads=4", "trainer.accelerator=cpu"),
        *("trainer.progress=false", "trainer.epochs=100000", "tracking=none", f"hydra.run.dir={tmp_path}/out"),
    ]
    root = Path(__file__).resolve().parents[2]
    running = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 120
        while not (tmp_path / "out" / "checkpoints" / "last.ckpt").is_file():
            assert running.poll() is None, running.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    finally:
        running.kill()
    assert running.stderr.read().endswith("rmtrain: interrupted\n")
    assert not (tmp_path / "out" / "model").exists()
    assert not (tmp_path / "out" / "report.json").exists()


def test_a_corpus_of_ones_own_is_not_passed_over_for_the_embedded_one():
    with pytest.raises(ConfigError, match=r"corpus=mine is not what dataset=embedded trains on\. .*dataset=folder"):
        _dataset(compose(["corpus=mine"]))


def test_a_family_that_training_never_saw_has_a_table_of_its_own():
    row = HeadRow("correctness", "explained share", 7, 0.0, None, None, 0.25, 0.5)
    lines = _lines(HeadTable([row], {"known": [row], "new": [row]}, ("new",)))
    assert sum("correctness" in line for line in lines) == 2
    assert any("'new', which training never saw" in line for line in lines)
    assert not any("known" in line for line in lines)


def test_without_test_tasks_there_is_a_warning_and_no_empty_table(flow, built, tmp_path):
    dataset = load(flow.base / "build" / "dataset")
    empty = {**dataset.splits, "test": SplitData(), "validation": SplitData()}
    save(Built(empty, Counter()), flow.settings("train").heads, RenderOptions(), tmp_path / "dataset")
    report = flow.run(
        "train",
        f"dataset.path={tmp_path}/dataset",
        "tracking.uri=null",
        "trainer.epochs=1",
        "trainer.patience=2",
        folder=tmp_path / "out",
    )
    assert report.lines == []
    assert report.figures["heads"] == {}
    assert [warning.split(":")[0] for warning in report.warnings][:3] == [
        "no validation",
        "trainer.patience=2 has no effect",
        "no test tasks, so no figures",
    ]


def test_a_reward_model_is_trained_on_from(flow, trained, tmp_path):
    earlier = trained.artefacts["model"]
    report = flow.run(
        "train",
        f"backbone.name={earlier}",
        "backbone.tune=frozen",
        "tracking.uri=null",
        "trainer.epochs=1",
        folder=tmp_path / "out",
    )
    begun, went_on = load_model(earlier).backbone, load_model(report.artefacts["model"]).backbone
    assert went_on.digest() == begun.digest()


@pytest.mark.parametrize("is_done", [True, False])
def test_what_mlflow_did_not_get_is_a_warning(flow, built, monkeypatch, tmp_path, is_done):
    problem = None if is_done else "2 records did not reach MLflow"
    monkeypatch.setattr(Tracker, "problem", property(lambda self: problem))
    report = flow.run("train", "tracking.uri=null", "trainer.epochs=1", folder=tmp_path / "out")
    assert (problem in report.warnings) == (not is_done)
