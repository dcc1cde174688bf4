"""What a run leaves in a real sqlite store, and which addresses are refused."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from matplotlib.figure import Figure
from mlflow.exceptions import MlflowException

from rmtrain.config.tracking import TrackingSettings
from rmtrain.errors import ConfigError
from rmtrain.tracking.tracker import READING_GUIDE, RETRIES, Tracker, absolute


@pytest.fixture
def store(mlflow_store, tmp_path, monkeypatch):
    """Opens a tracker on the shared store from an empty folder."""
    monkeypatch.chdir(tmp_path)
    settings = TrackingSettings(uri=f"sqlite:///{mlflow_store}/m.db", artifacts=str(mlflow_store / "files"))

    def open_run(name="a run", **changes):
        return Tracker(TrackingSettings(**{**vars(settings), **changes}), name, {"corpus": "main"})

    yield open_run
    assert not list(tmp_path.glob("ml*")), "something was left where the command was run"


def client(tracker):
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=tracker.uri)


def artifacts(tracker, folder=None):
    found = []
    for entry in client(tracker).list_artifacts(tracker.run_id, folder):
        found += artifacts(tracker, entry.path) if entry.is_dir else [entry.path]
    return sorted(found)


def test_a_run_holds_what_was_told(store, tmp_path, mlflow_store):
    tracker = store()
    tracker.params({"schedule": "phased", "long": "x" * 600})
    tracker.metrics({"val_r2/correctness": 0.25, "val_r2/tool_efficiency": 0.5}, 0)
    tracker.metrics({"val_r2/correctness": 0.75}, 1)
    tracker.metrics({})
    tracker.dataset("main", "d1", "/data/d", {"train": {"examples": 3}})
    tracker.text("{}", "settings.json")
    (tmp_path / "card.md").write_text("card")
    tracker.file(tmp_path / "card.md", "dataset")
    tracker.figure(Figure(), "report/convergence.png")
    tracker.table([{"head": "correctness", "model": 0.5, "ceiling": None}], "report/table.json")
    tracker.table([], "report/none.json")
    tracker.close(is_done=True)

    run = client(tracker).get_run(tracker.run_id)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "a run"
    assert run.data.tags["corpus"] == "main"
    assert run.data.params == {"schedule": "phased", "long": "x" * 500}
    assert run.data.metrics == {"val_r2/correctness": 0.75, "val_r2/tool_efficiency": 0.5}
    curve = client(tracker).get_metric_history(tracker.run_id, "val_r2/correctness")
    assert [(point.step, point.value) for point in curve] == [(0, 0.25), (1, 0.75)]
    (linked,) = run.inputs.dataset_inputs
    assert (linked.dataset.name, linked.dataset.digest) == ("main", "d1")
    assert json.loads(linked.dataset.source) == {"uri": "/data/d"}
    assert artifacts(tracker) == ["dataset/card.md", "report/convergence.png", "report/table.json", "settings.json"]
    assert run.info.artifact_uri.startswith((mlflow_store / "files").as_uri())
    folder = Path(unquote(urlparse(run.info.artifact_uri).path))
    table = json.loads((folder / "report" / "table.json").read_text())
    assert table == {"columns": ["head", "model", "ceiling"], "data": [["correctness", 0.5, None]]}  # absent, not 0
    assert (folder / "report" / "convergence.png").read_bytes()[1:4] == b"PNG"
    assert (folder / "dataset" / "card.md").read_text() == "card"


def test_an_experiment_is_made_once_and_says_how_to_read_it(store):
    one, two = store(), store()
    assert one.experiment_id == two.experiment_id
    assert one.run_id != two.run_id
    experiment = client(one).get_experiment(one.experiment_id)
    assert experiment.name == "train"
    assert experiment.tags["mlflow.note.content"] == READING_GUIDE
    assert one.page == f"#/experiments/{one.experiment_id}/runs/{one.run_id}?workflowType=machine_learning"


def test_a_run_that_failed_says_so(store):
    tracker = store(run_name="mine")
    tracker.close(is_done=False)
    info = client(tracker).get_run(tracker.run_id).info
    assert (info.status, info.run_name) == ("FAILED", "mine")


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_store_that_goes_away_ends_nothing_and_gets_what_it_missed(store, monkeypatch, comes_back):
    tracker = store()
    usual = tracker._client.log_batch

    is_down = True

    def answer(*arguments, **named):
        if is_down:
            raise MlflowException("nobody answers")
        return usual(*arguments, **named)

    tracker.metrics({"val_loss/a": 1.0}, step=0)
    monkeypatch.setattr(tracker._client, "log_batch", answer)
    tracker.metrics({"val_loss/a": 0.5}, step=1)
    tracker.text("kept", "note.txt")
    assert tracker.problem.startswith("2 records did not reach MLflow at sqlite:///")
    assert "nobody answers" in tracker.problem
    is_down = not comes_back
    tracker.close(is_done=True)
    assert (tracker.problem is None) == comes_back
    history = client(tracker).get_metric_history(tracker.run_id, "val_loss/a")
    assert [(point.step, point.value) for point in history] == [(0, 1.0), (1, 0.5)][: 1 + comes_back]
    assert client(tracker).get_run(tracker.run_id).info.status == ("FINISHED" if comes_back else "RUNNING")


def test_without_a_folder_for_files_they_lie_beside_the_store(store, mlflow_store):
    tracker = store(artifacts=None, experiment="beside")
    tracker.text("x", "x.txt")
    assert client(tracker).get_run(tracker.run_id).info.artifact_uri.startswith((mlflow_store / "mlartifacts").as_uri())


def test_without_an_address_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tracker = Tracker(TrackingSettings(), "n")
    tracker.params({"a": 1})
    tracker.metrics({"a/b": 1.0})
    tracker.dataset("n", "d", "s", {})
    tracker.text("x", "x.txt")
    tracker.file(tmp_path / "absent")
    tracker.figure(None, "x.png")
    tracker.table([{"a": 1}], "x.json")
    tracker.close(is_done=True)
    assert (tracker.run_id, tracker.experiment_id, tracker.uri, tracker.page) == (None, None, None, None)
    assert list(tmp_path.iterdir()) == []


def test_sqlite_addresses_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("sqlite:///my runs/m.db") == f"sqlite:///{tmp_path}/my runs/m.db"
    assert (tmp_path / "my runs").is_dir()
    assert absolute(f"sqlite:///{tmp_path}/n.db") == f"sqlite:///{tmp_path}/n.db"
    assert absolute("https://tracking.example") == "https://tracking.example"


@pytest.mark.parametrize("uri", ["file:///tmp/mlruns", "mlruns", "ftp://x"])
def test_a_folder_is_refused(uri):
    with pytest.raises(ConfigError, match=rf"^tracking\.uri is '{uri}'\. Expected sqlite:///FILE or http://HOST:PORT"):
        Tracker(TrackingSettings(uri=uri), "n")


def test_nobody_there_is_one_sentence(monkeypatch):
    monkeypatch.delenv(RETRIES, raising=False)
    started = time.perf_counter()
    with pytest.raises(ConfigError, match=r"^no MLflow store at http://127\.0\.0\.1:9 \(.+tracking=none\.$"):
        Tracker(TrackingSettings(uri="http://127.0.0.1:9"), "n")
    assert time.perf_counter() - started < 60  # MLflow's own patience is 250 s
    assert RETRIES not in os.environ  # later requests may be repeated


def test_a_users_own_number_of_retries_stays(monkeypatch):
    monkeypatch.setenv(RETRIES, "0")
    with pytest.raises(ConfigError, match="no MLflow store"):
        Tracker(TrackingSettings(uri="http://127.0.0.1:9"), "n")
    assert os.environ[RETRIES] == "0"


def test_a_file_that_is_no_store_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "m.db").write_text("not a database, not a database, not a database")
    with pytest.raises(ConfigError, match=r"^no MLflow store at sqlite:///.*m\.db \("):
        Tracker(TrackingSettings(uri=f"sqlite:///{tmp_path}/m.db"), "n")


def test_a_new_store_is_made_in_silence(tmp_path):
    code = (
        "from rmtrain.config.tracking import TrackingSettings\n"
        "from rmtrain.tracking.tracker import Tracker\n"
        f"Tracker(TrackingSettings(uri='sqlite:///{tmp_path}/new.db'), 'one').close(True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "new.db").is_file()
    assert done.stdout + done.stderr == ""


def test_a_store_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    """MLflow alters its tables one by one: what a killed process left could never be opened again."""
    settings = TrackingSettings(uri=f"sqlite:///{tmp_path}/m.db", artifacts=str(tmp_path / "files"))
    code = f"""
import os, threading, time
from pathlib import Path
def end():
    while not sum(path.stat().st_size for path in Path({str(tmp_path)!r}).glob("*m.db*")) > 200_000:
        time.sleep(0.005)
    os._exit(9)
threading.Thread(target=end, daemon=True).start()
from rmtrain.config.tracking import TrackingSettings
from rmtrain.tracking.tracker import Tracker
Tracker(TrackingSettings(uri={settings.uri!r}), "killed")
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert killed.returncode == 9, killed.stderr
    assert list(tmp_path.glob(".m.db.*.partial"))
    assert not (tmp_path / "m.db").exists()
    tracker = Tracker(settings, "later")
    tracker.close(is_done=True)
    assert tracker.problem is None
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_of_two_runs_that_begin_at_once_both_are_recorded(tmp_path):
    code = f"""
from rmtrain.config.tracking import TrackingSettings
from rmtrain.tracking.tracker import Tracker
Tracker(TrackingSettings(uri="sqlite:///{tmp_path}/m.db", artifacts={str(tmp_path / "files")!r}), "one").close(True)
"""
    started = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
    tracker = Tracker(TrackingSettings(uri=f"sqlite:///{tmp_path}/m.db"), "third")
    assert len(client(tracker).search_runs([tracker.experiment_id])) == 3
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_store_that_cannot_be_opened_says_what_to_do_with_the_file(tmp_path):
    (tmp_path / "m.db").write_text("no database")
    with pytest.raises(ConfigError, match=r"no MLflow store at sqlite.* or delete the file where it holds nothing; or"):
        Tracker(TrackingSettings(uri=f"sqlite:///{tmp_path}/m.db"), "x")
