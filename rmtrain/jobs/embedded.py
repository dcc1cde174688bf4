"""The embedded corpus: simulated, verified and built by the pages of those jobs, once per settings.

It lies in ``runs/embedded-<digest of its settings>``, so that another world never overwrites it.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rmtrain.config.dataset import SplitSettings
from rmtrain.config.jobs import BuildSettings, JobSettings, SimulateSettings, TrainSettings, VerifySettings
from rmtrain.jobs import build, simulate, verify
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.schema import digest
from rmtrain.world.simulate import WORLD_VERSION

EMBEDDED = "embedded"
"""Name of the corpus as settings give it; each variety has a folder of its own."""


def embedded_dataset(settings: TrainSettings) -> Path:
    """The dataset folder of the embedded corpus, made where it is not there yet.

    Args:
        settings: of the training run; its `world`, `verifiers`, `heads` and `encoder.markers` decide the corpus.
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
    if dataset.is_dir():
        return dataset
    common: dict[str, Any] = {"corpus": corpus, "paths": settings.paths}
    trajectories, verdicts = base / "simulate" / "trajectories.jsonl", base / "verify" / "verdicts.jsonl"
    _page(simulate.run, SimulateSettings(job="simulate", world=settings.world, **common), base)
    _page(
        verify.run,
        VerifySettings(job="verify", trajectories=str(trajectories), verifiers=settings.verifiers, **common),
        base,
    )
    _page(
        build.run,
        BuildSettings(
            job="build",
            trajectories=str(trajectories),
            verdicts=str(verdicts),
            splits=SplitSettings(),
            heads=settings.heads,
            encoder=settings.encoder,
            **common,
        ),
        base,
    )
    return dataset


def _page(run: Any, settings: JobSettings, base: Path) -> None:
    """Run a job's page into its usual folder and keep its report, as if it had been run by hand."""
    started = datetime.now(UTC)
    folder = base / settings.job
    report = run(settings, folder)
    report.close(settings.record, started)
    report.save(folder)
    print(report.text().splitlines()[0])
