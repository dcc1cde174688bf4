"""The whole flow once, on a tiny world with a tiny backbone; each stage runs when a test first asks for it."""

import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmtrain.config.compose import compose
from rmtrain.config.jobs import JobSettings
from rmtrain.jobs.report import Report

WORLD = (
    "world.n_tasks=16",
    "world.n_rollouts=3",
    "world.test_share=0.25",
    "world.validation_share=0.25",
    "world.calibration_share=0",
)
MODEL = (
    "backbone=folder",
    "encoder.window_tokens=128",
    "encoder.prefix_tokens=40",
    "encoder.block_tokens=48",
    "encoder.layers=1",
    "encoder.attention_heads=4",
    "trainer.epochs=2",
    "trainer.precision=32-true",
    "trainer.accelerator=cpu",
    "trainer.batch_tokens=4096",
    "trainer.progress=false",
)


@pytest.fixture(scope="session")
def flow(tmp_path_factory: pytest.TempPathFactory, tiny_backbone: Path, mlflow_store: Path) -> SimpleNamespace:
    """`flow.run("train", "trainer.epochs=1")` runs a job as `python -m rmtrain` would, into its usual folder."""
    runs = tmp_path_factory.mktemp("runs")
    own = {
        "simulate": WORLD,
        "train": (
            "dataset=folder",
            *WORLD,
            *MODEL,
            f"backbone.name={tiny_backbone}",
            f"tracking.uri='sqlite:///{mlflow_store}/m.db'",
            f"tracking.artifacts='{mlflow_store}/files'",
            "tracking.experiment=flow",
        ),
    }

    def settings(job: str, *overrides: str) -> JobSettings:
        return compose([f"job={job}", "corpus=embedded", f"paths.runs={runs}", *own.get(job, ()), *overrides])

    def run(job: str, *overrides: str, folder: Path | None = None) -> Report:
        composed = settings(job, *overrides)
        started = datetime.now(UTC)
        place = folder or runs / composed.corpus / job
        report: Report = import_module(f"rmtrain.jobs.{job}").run(composed, place)
        report.close(composed.record, started)
        report.save(place)
        return report

    return SimpleNamespace(run=run, settings=settings, runs=runs, base=runs / "embedded", store=mlflow_store)


@pytest.fixture(scope="session")
def simulated(flow: SimpleNamespace) -> Report:
    return flow.run("simulate")


@pytest.fixture(scope="session")
def verified(flow: SimpleNamespace, simulated: Report) -> Report:
    return flow.run("verify")


@pytest.fixture(scope="session")
def built(flow: SimpleNamespace, verified: Report) -> Report:
    return flow.run("build")


@pytest.fixture(scope="session")
def trained(flow: SimpleNamespace, built: Report) -> Report:
    return flow.run("train")


@pytest.fixture(scope="session")
def goes_on() -> Callable[[Report], list[JobSettings]]:
    """Checks that what a report names exists and that its next commands compose; gives their settings."""

    def check(report: Report) -> list[JobSettings]:
        assert report.artefacts
        for name, path in report.artefacts.items():
            assert path.exists(), name
        found = []
        for command in report.next:
            words = shlex.split(command, comments=True)
            if words[0] == "make":
                continue
            assert words[:3] == ["python", "-m", "rmtrain"]
            found.append(compose(words[3:]))
        return found

    return check


@pytest.fixture(scope="session")
def files() -> Callable[[Path], dict[str, bytes]]:
    """Every file under a folder and its bytes; the report, which holds the time, left out."""

    def read(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "report.json"
        }

    return read
