"""job=score: a reward model and trajectories → ``rewards.jsonl``, every head's value on each."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rmtrain.config.jobs import ScoreSettings
from rmtrain.disk import kind_at
from rmtrain.errors import ConfigError, DataError
from rmtrain.jobs.inputs import assignment, log_warnings, quarantine_lines, read_log, refuse_replacing, trajectories_of
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, table
from rmtrain.reward.scorer import RewardBreakdown, RewardModel
from rmtrain.trajectories.importers.base import IngestCounts
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, writing


def run(settings: ScoreSettings, folder: Path) -> Report:
    """Judge every trajectory with every head, a batch in memory at a time."""
    if settings.input is not None and settings.source is not None:
        raise ConfigError("input and source both say what to score. Give input=FILE of trajectories, or source=…")
    counts, source = IngestCounts(), settings.source
    given = trajectories_of(settings, settings.input, "input") if source is None else Path(source.path or "")
    totals = _Totals(given)
    rewards, quarantine = _target(settings, folder, given), folder / "quarantine.jsonl"
    model = RewardModel.load(settings.model)
    artefacts = {"rewards": rewards, **({} if source is None else {"quarantine": quarantine})}
    with writing(*artefacts.values()) as (good, *bad):
        trajectories = read(given, Trajectory) if source is None else read_log(source, counts, *bad)
        for reward in totals.watch(model.stream(totals.judgeable(progress(trajectories, "score", "trajectory")))):
            good.add(reward)
    return Report(
        job=settings.job,
        artefacts=artefacts,
        counts={"trajectories": totals.n, "steps": totals.n_steps},
        figures={
            "mean": totals.means(),
            "cut_tokens": totals.n_cut_tokens,
            "without_step": totals.n_without_step,
            "model": model.model_id,
            **({} if source is None else {"ingest": asdict(counts)}),
        },
        lines=[
            *table(["head", "mean value"], [[name, mean] for name, mean in totals.means().items()]),
            *quarantine_lines(counts),
        ],
        warnings=[*log_warnings(counts), *_warnings(totals)],
    )


def _target(settings: ScoreSettings, folder: Path, given: Path) -> Path:
    """The file to write rewards to, checked before anything is scored.

    Args:
        settings: the job's.
        folder: the run folder.
        given: what is read.

    Raises:
        DataError: it cannot be written, or something other than rewards would be lost.
    """
    target = folder / "rewards.jsonl" if settings.output is None else Path(settings.output)
    others = [folder / "report.json", *([folder / "quarantine.jsonl"] if settings.source is not None else [])]
    name, remedy = f"output={target}", "Name another file: output=FILE"
    kind = kind_at(target)
    if kind == "folder":
        raise DataError(f"{name} is a folder. Name a file in it: {assignment('output', target / 'rewards.jsonl')}")
    if kind not in ("file", None):
        raise DataError(f"{name} is a {kind}. {remedy}")
    if os.path.realpath(target) in map(os.path.realpath, others):
        raise DataError(f"{name} is where this job writes something else. {remedy}")
    refuse_replacing(given, [target, *others], "output=FILE, or hydra.run.dir=FOLDER")
    if kind == "file" and settings.output is not None and not _holds_rewards(target):
        raise DataError(f"{name} holds something other than rewards, which would be lost. {remedy}")
    place = next(above for above in Path(os.path.realpath(target)).parents if kind_at(above) is not None)
    if kind_at(place) != "folder":
        raise DataError(f"{name} cannot be made: {place} is no folder. {remedy}")
    if not os.access(place, os.W_OK | os.X_OK):
        raise DataError(f"{name} cannot be made: there is no right to write in {place}. {remedy}")
    return target


def _holds_rewards(path: Path) -> bool:
    try:
        next(read(path, RewardBreakdown), None)  # nothing at all may be replaced too
    except DataError:
        return False
    return True


def _warnings(totals: "_Totals") -> Iterator[str]:
    if totals.n_without_step:
        yield (
            f"{totals.n_without_step:,} trajectories have no step to judge and were left out, "
            f"the first: '{totals.first_without_step}'"
        )
    if totals.n_cut_tokens:
        yield f"{totals.n_cut_tokens:,} tokens did not fit and were not read, the middles of long steps and task texts"


@dataclass
class _Totals:
    """Sums over all trajectories and rewards of the file `given`, kept while they stream past."""

    given: Path
    n: int = 0
    n_steps: int = 0
    n_cut_tokens: int = 0
    n_without_step: int = 0
    first_without_step: str | None = None
    sums: dict[str, float] = field(default_factory=dict)

    def judgeable(self, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
        for trajectory in trajectories:
            if trajectory.steps:
                self.n_steps += len(trajectory.steps)
                yield trajectory
            else:
                self.n_without_step += 1
                self.first_without_step = self.first_without_step or trajectory.trajectory_id
        if not self.n_steps and not self.n_without_step:
            raise DataError(f"{self.given}: holds no trajectory to score. Name another: input=FILE")

    def watch(self, rewards: Iterable[RewardBreakdown]) -> Iterator[RewardBreakdown]:
        for reward in rewards:
            self.n += 1
            self.n_cut_tokens += reward.n_cut_tokens
            for name, score in reward.trajectory.items():
                self.sums[name] = self.sums.get(name, 0.0) + score.value
            yield reward

    def means(self) -> dict[str, float]:
        return {name: total / self.n for name, total in self.sums.items()}
