"""job=score: a reward model and trajectories → ``rewards.jsonl``, every head's value on each."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rmtrain.config.jobs import ScoreSettings
from rmtrain.errors import ConfigError
from rmtrain.jobs.inputs import log_warnings, read_log, trajectories_of
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, table
from rmtrain.reward.scorer import RewardBreakdown, RewardModel
from rmtrain.trajectories.importers.base import BadRow, IngestCounts
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, write


def run(settings: ScoreSettings, folder: Path) -> Report:
    """Judge every trajectory with every head, a batch in memory at a time."""
    if settings.input is not None and settings.source is not None:
        raise ConfigError("input and source both say what to score. Give input=FILE of trajectories, or source=…")
    model = RewardModel.load(settings.model)
    counts, bad = IngestCounts(), list[BadRow]()
    rewards = folder / "rewards.jsonl" if settings.output is None else Path(settings.output)
    totals = _Totals()
    trajectories = progress(_trajectories(settings, counts, bad), "score", "trajectory")
    write(rewards, totals.watch(model.stream(totals.count(trajectories))))
    quarantine = folder / "quarantine.jsonl"
    if settings.source is not None:
        write(quarantine, bad)
    return Report(
        job=settings.job,
        artefacts={"rewards": rewards, **({"quarantine": quarantine} if settings.source is not None else {})},
        counts={"trajectories": totals.n, "steps": totals.n_steps},
        figures={
            "mean": totals.means(),
            "cut_tokens": totals.n_cut_tokens,
            "model": model.model_id,
            **({"ingest": asdict(counts)} if settings.source is not None else {}),
        },
        lines=table(["head", "mean value"], [[name, mean] for name, mean in totals.means().items()]),
        warnings=[*log_warnings(counts, bad), *_cut(totals)],
    )


def _trajectories(settings: ScoreSettings, counts: IngestCounts, bad: list[BadRow]) -> Iterator[Trajectory]:
    if settings.source is None:
        return read(trajectories_of(settings, settings.input, "input"), Trajectory)
    return read_log(settings.source, counts, bad)


def _cut(totals: "_Totals") -> Iterator[str]:
    if totals.n_cut_tokens:
        yield f"{totals.n_cut_tokens:,} tokens did not fit and were not read, the middles of long steps and task texts"


@dataclass
class _Totals:
    """Sums over all trajectories and rewards, kept while they stream past."""

    n: int = 0
    n_steps: int = 0
    n_cut_tokens: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def count(self, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
        for trajectory in trajectories:
            self.n_steps += len(trajectory.steps)
            yield trajectory

    def watch(self, rewards: Iterable[RewardBreakdown]) -> Iterator[RewardBreakdown]:
        for reward in rewards:
            self.n += 1
            self.n_cut_tokens += reward.n_cut_tokens
            for name, score in reward.trajectory.items():
                self.sums[name] = self.sums.get(name, 0.0) + score.value
            yield reward

    def means(self) -> dict[str, float]:
        return {name: total / self.n for name, total in self.sums.items()}
