"""One run's record in MLflow: opened, written to, closed. Without an address it is a record of nothing.

Metric keys read ``what/which`` (``val_loss/correctness``), because MLflow's page makes one chart section
of what stands before the last slash, so that the heads overlay.
"""

import json
import logging
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rmtrain.config.tracking import TrackingSettings
from rmtrain.disk import remove_leftovers
from rmtrain.errors import ConfigError, first_line

SQLITE = "sqlite:///"
RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"

READING_GUIDE = """\
**How to read a run.** Open *Model metrics*: each section holds one curve per head.

- `val_loss/<head>`: a head's own loss on validation; it should fall and level off.
- `val_r2`, `val_kappa`, `val_accuracy`: the head's figure; 0 (0.5 for accuracy) is what the best constant gets.
- `loss_weight/<head>`: how much the head counted in that epoch; the weights always sum to the same number.
- `val_criterion`: mean over heads of validation loss divided by that of the best constant: by it the epoch was
  chosen. No loss weight is in it, so it compares epochs and schedules.
- `val_kappa` rounds values to classes; `test_kappa` cuts them where validation says is best, for every model.
- `test_r2`, `test_kappa`, `test_accuracy` and the same of `tfidf`, `majority` and `ceiling`: the final table;
  `test_way/<head>` is the share of the way from the best constant (0) to the ceiling (1).
- `converged_epoch/<head>`: the epoch at which the head had made 95 % of its gain.

Artifacts: `report/table.json`, `report/families.json` (the same by family of tasks), `report/convergence.png`,
`settings.json`, `dataset/README.md`.
"""


class Tracker:
    """A run in an MLflow store, or a stand-in that records nothing.

    Args:
        settings: where; `settings.uri` None records nothing.
        name: name of the run, used where the settings give none.
        tags: facts to filter runs by.

    Raises:
        ConfigError: the address is of a kind that can't hold runs, or nobody answers there.
    """

    def __init__(self, settings: TrackingSettings, name: str, tags: Mapping[str, str] | None = None) -> None:
        self.run_id: str | None = None
        self.experiment_id: str | None = None
        self._waiting: list[Callable[[], Any]] = []
        self._why = ""
        self.uri = None if settings.uri is None else absolute(settings.uri)
        if self.uri is None:
            return
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        # after the import, which sets levels of its own: a new store would tell of every table
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        try:
            with _told_at_once():
                _make_store(self.uri)
                self._client = MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)
                self.experiment_id = self._experiment(settings)
                run = self._client.create_run(
                    self.experiment_id,
                    run_name=settings.run_name or name,
                    tags={**(tags or {}), "mlflow.source.name": "rmtrain"},
                )
        except (MlflowException, SQLAlchemyError, OSError) as error:
            is_file = self.uri.startswith(SQLITE)
            remedy = (
                "Free some space, mend its rights, or delete the file where it holds nothing"
                if is_file
                else ("Start the server")
            )
            raise ConfigError(
                f"no MLflow store at {settings.uri} ({first_line(error)[:200]}). {remedy}; or name another with "
                "tracking.uri=…, or record nothing with tracking=none."
            ) from error
        self.run_id = run.info.run_id

    def _experiment(self, settings: TrackingSettings) -> str:
        experiment = self._client.get_experiment_by_name(settings.experiment)
        if experiment is not None:
            return str(experiment.experiment_id)
        folder = None if settings.artifacts is None else Path(settings.artifacts).resolve()
        if folder is None and self.uri is not None and self.uri.startswith(SQLITE):
            folder = Path(self.uri.removeprefix(SQLITE)).parent / "mlartifacts"  # MLflow would take ./mlruns
        place = None if folder is None else folder.as_uri()
        created = self._client.create_experiment(
            settings.experiment, artifact_location=place, tags={"mlflow.note.content": READING_GUIDE}
        )
        return str(created)

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record figures at one step, all in one request."""
        if self.run_id is None or not values:
            return
        import time

        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        rows = [Metric(key, float(value), now, step) for key, value in values.items()]
        for start in range(0, len(rows), 1000):
            self._send(partial(self._client.log_batch, self.run_id, metrics=rows[start : start + 1000]))

    def params(self, values: Mapping[str, Any]) -> None:
        """Record a few settings that runs are compared by, once."""
        if self.run_id is None:
            return
        from mlflow.entities import Param

        rows = [Param(key, str(value)[:500]) for key, value in values.items()]
        self._send(partial(self._client.log_batch, self.run_id, params=rows))

    def dataset(self, name: str, digest: str, source: str, profile: Mapping[str, Any]) -> None:
        """Link the run to the dataset it learned from."""
        if self.run_id is None:
            return
        from mlflow.entities import Dataset, DatasetInput, InputTag

        entry = Dataset(
            name=name,
            digest=digest,
            source_type="local",
            source=json.dumps({"uri": source}),
            profile=json.dumps(profile)[:16000],
        )
        tags = [InputTag("mlflow.data.context", "training")]
        self._send(partial(self._client.log_inputs, self.run_id, [DatasetInput(entry, tags)]))

    def text(self, content: str, path: str) -> None:
        """Keep a text as an artifact at `path`."""
        if self.run_id is not None:
            self._send(partial(self._client.log_text, self.run_id, content, path))

    def file(self, path: Path, folder: str | None = None) -> None:
        """Keep a file as an artifact in `folder`."""
        if self.run_id is not None:
            self._send(partial(self._client.log_artifact, self.run_id, str(path), folder))

    def figure(self, draw: Any, path: str) -> None:
        """Keep a matplotlib figure as a PNG artifact at `path`."""
        if self.run_id is None:
            return

        def send() -> None:
            with tempfile.TemporaryDirectory() as scratch:
                target = Path(scratch) / Path(path).name
                draw.savefig(target, dpi=120, bbox_inches="tight")
                self._client.log_artifact(self.run_id, str(target), str(Path(path).parent))

        self._send(send)

    def table(self, rows: Sequence[Mapping[str, Any]], path: str) -> None:
        """Keep rows as a table that MLflow's page shows and sorts."""
        if self.run_id is None or not rows:
            return
        columns = {column: [row[column] for row in rows] for column in rows[0]}
        self._send(partial(self._client.log_table, self.run_id, columns, path))

    def close(self, is_done: bool) -> None:
        """End the run, as finished or failed."""
        if self.run_id is not None:
            status = "FINISHED" if is_done else "FAILED"
            self._send(partial(self._client.set_terminated, self.run_id, status=status))

    @property
    def problem(self) -> str | None:
        """One sentence if something could not be recorded, else None."""
        if not self._waiting:
            return None
        return (
            f"{len(self._waiting):,} records did not reach MLflow at {self.uri} ({self._why}): its run is not whole. "
            "The figures are in this run's report.json"
        )

    def _send(self, record: Callable[[], Any]) -> None:
        """Send a record after those that wait; where the store fails they all wait for the next one.

        A store that goes away costs no training.
        """
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        self._waiting.append(record)
        try:
            with _told_at_once():
                while self._waiting:
                    self._waiting[0]()
                    self._waiting.pop(0)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            self._why = str(error).splitlines()[0][:200]

    @property
    def page(self) -> str | None:
        """Path of the run's page, to be put behind the address of an MLflow server; None without a run."""
        if self.run_id is None:
            return None
        return f"#/experiments/{self.experiment_id}/runs/{self.run_id}?workflowType=machine_learning"


@contextmanager
def _told_at_once() -> Iterator[None]:
    """Inside, an absent server is an error after a second; MLflow by itself goes on asking for four minutes."""
    if RETRIES in os.environ:
        yield
        return
    os.environ[RETRIES] = "1"
    try:
        yield
    finally:
        del os.environ[RETRIES]


def _make_store(uri: str) -> None:
    """Make an sqlite store that is not there, whole or not at all: MLflow alters its tables one by one."""
    path = Path(uri.removeprefix(SQLITE))
    if not uri.startswith(SQLITE) or path.exists():
        return
    from mlflow import MlflowClient

    remove_leftovers(path.parent, f".{path.name}.", "")  # sqlite keeps journals beside it
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex}.partial")
    try:
        MlflowClient(tracking_uri=f"{SQLITE}{scratch}").search_experiments(max_results=1)
        try:
            os.link(scratch, path)
        except FileExistsError:  # another run has been faster
            pass
        except OSError:  # a file system without hard links
            os.rename(scratch, path)
    finally:
        for made in path.parent.iterdir():
            if made.name.startswith(scratch.name):
                made.unlink(missing_ok=True)


def absolute(uri: str) -> str:
    """An sqlite address with an absolute file, whose folder exists; other addresses as they are.

    Raises:
        ConfigError: the address is a folder or of a scheme that MLflow no longer takes.
    """
    if uri.startswith(SQLITE):
        path = Path(uri.removeprefix(SQLITE)).resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"the folder of {uri} cannot be made ({error.strerror}). Name another with "
                "tracking.uri=sqlite:///FILE, or record nothing with tracking=none."
            ) from error
        return f"{SQLITE}{path}"
    if uri.startswith(("http://", "https://", "postgresql://", "mysql://")):
        return uri
    raise ConfigError(
        f"tracking.uri is '{uri}'. Expected sqlite:///FILE or http://HOST:PORT; MLflow no longer takes a folder."
    )
