"""The embedded corpus: simulated, verified and built by the pages of those jobs, once per settings.

It lies in ``runs/embedded-<digest of its settings>``, so that another world never overwrites it. It is made
in a scratch folder and moved there whole, so that two runs that begin at once do not meet.
"""

import os
import shutil
import uuid
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

from rmtrain.config.dataset import SplitSettings
from rmtrain.config.jobs import BuildSettings, JobSettings, SimulateSettings, TrainSettings, VerifySettings
from rmtrain.config.labels import AggregationSettings
from rmtrain.dataset.store import Dataset, load
from rmtrain.disk import remove_leftovers, replace_folder
from rmtrain.errors import DataError
from rmtrain.jobs.report import Report
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.schema import digest
from rmtrain.world.simulate import WORLD_VERSION

EMBEDDED = "embedded"
"""Name of the corpus as settings give it; each variety has a folder of its own."""
JOBS = ("simulate", "verify", "build")


def load_embedded(settings: TrainSettings) -> Dataset:
    """The dataset of the embedded corpus, made where it is not there yet or does not load.

    Args:
        settings: of the training run; its `world`, `verifiers`, `heads` and `encoder.markers` decide the corpus.

    Raises:
        DataError: it cannot be written.
    """
    recipe = {
        "world": asdict(settings.world),
        "world_version": WORLD_VERSION,
        "verifiers": asdict(settings.verifiers),
        "heads": {name: [head.level, head.objective, head.classes] for name, head in settings.heads.items()},
        "render": render_hash(RenderOptions(markers=settings.encoder.markers)),
    }
    corpus = f"{EMBEDDED}-{digest(recipe)[:8]}"
    base = Path(settings.paths.runs) / corpus
    dataset = base / "build" / "dataset"
    if dataset.exists():
        try:
            return load(dataset)
        except DataError:
            print(f"{dataset} does not load: it is made again")
    remove_leftovers(base.parent, f".{corpus}.", ".partial")
    scratch = base.parent / f".{corpus}.{os.getpid()}.{uuid.uuid4().hex}.partial"
    try:
        _make(settings, corpus, scratch, base)
        return _move(scratch, base)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _make(settings: TrainSettings, corpus: str, scratch: Path, base: Path) -> None:
    """Run the pages of the jobs into a scratch folder, as if it were `base`.

    They run in a process of their own: the heap that they leave behind would halve the speed of training.
    """
    common: dict[str, Any] = {"corpus": corpus, "paths": settings.paths}
    trajectories, verdicts = scratch / "simulate" / "trajectories.jsonl", scratch / "verify" / "verdicts.jsonl"
    jobs: list[JobSettings] = [
        SimulateSettings(job="simulate", world=settings.world, **common),
        VerifySettings(job="verify", trajectories=str(trajectories), verifiers=settings.verifiers, **common),
        BuildSettings(
            job="build",
            trajectories=str(trajectories),
            verdicts=str(verdicts),
            labels=AggregationSettings(),
            splits=SplitSettings(),
            heads=settings.heads,
            encoder=settings.encoder,
            **common,
        ),
    ]
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_end_with_parent) as apart:
            for own in jobs:
                print(apart.submit(_page, own, scratch, base).result())
    except BrokenProcessPool as error:
        raise DataError(
            "the embedded corpus was not made: the process that makes it was ended from outside, as happens where "
            "memory is short. Run again, or make a smaller one: world.n_tasks=300"
        ) from error


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, however that ends."""
    parent = parent_process()
    assert parent is not None  # it was started by one

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _page(own: JobSettings, scratch: Path, base: Path) -> str:
    """Run one job's page; returns the first line of its report and its warnings."""
    started = datetime.now(UTC)
    report: Report = import_module(f"rmtrain.jobs.{own.job}").run(own, scratch / own.job)
    report.artefacts = _renamed(report.artefacts, scratch, base)
    report.next = _renamed(report.next, scratch, base)
    report.warnings = _renamed(report.warnings, scratch, base)
    report.close(_renamed(own.record, scratch, base), started)
    report.save(scratch / own.job)
    return "\n".join([report.text().splitlines()[0], *(f"warning: {warning}" for warning in report.warnings)])


def _move(made: Path, base: Path) -> Dataset:
    """Put the corpus into its place, in one move where nothing is there, and load it.

    Where another run has been faster, its corpus is taken: equal settings give equal contents.
    """
    try:
        os.rename(made, base)
    except OSError:
        dataset = base / "build" / "dataset"
        try:
            return load(dataset)
        except DataError:  # nothing there, or damaged; the folder may hold results of other jobs, which stay
            for job in JOBS:  # the dataset last, because by it the corpus is known to be there
                _replace(made / job, base / job)
    return load(base / "build" / "dataset")


def _replace(made: Path, folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        replace_folder(made, folder)
    except OSError as error:
        if not folder.is_dir():
            raise DataError(
                f"{folder} cannot be written ({error.strerror}). Mend its rights, or choose another place: "
                "paths.runs=FOLDER"
            ) from error


def _renamed(value: Any, scratch: Path, base: Path) -> Any:
    """Plain data with the name of the scratch folder replaced by the final one wherever it occurs."""
    if isinstance(value, dict):
        return {key: _renamed(inner, scratch, base) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, scratch, base) for inner in value]
    if isinstance(value, str | Path):
        return type(value)(str(value).replace(scratch.name, base.name))
    return value
