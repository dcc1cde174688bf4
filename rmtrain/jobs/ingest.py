"""job=ingest: a log → ``trajectories.jsonl``, and ``quarantine.jsonl`` with the rows that could not be read."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rmtrain.config.jobs import IngestSettings
from rmtrain.jobs.inputs import log_warnings, quarantine_lines, read_log, refuse_replacing
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command, number
from rmtrain.trajectories.importers.base import IngestCounts
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, writing
from rmtrain.trajectories.summary import Summary, summarise


def run(settings: IngestSettings, folder: Path) -> Report:
    """Read the log, write what became of each row, count."""
    counts = IngestCounts()
    trajectories, quarantine = folder / "trajectories.jsonl", folder / "quarantine.jsonl"
    refuse_replacing(Path(settings.source.path or ""), [trajectories, quarantine])
    with writing(quarantine, trajectories) as (bad, good):
        for trajectory in progress(read_log(settings.source, counts, bad), "ingest", "trajectory"):
            good.add(trajectory)
    summary = summarise(read(trajectories, Trajectory))
    return Report(
        job=settings.job,
        artefacts={"trajectories": trajectories, "quarantine": quarantine},
        counts={"trajectories": counts.trajectories, "bad_rows": counts.bad_rows, "files": counts.files},
        figures={"ingest": asdict(counts), "trajectories": asdict(summary)},
        lines=[*_lines(summary), *quarantine_lines(counts)],
        warnings=list(_warnings(counts, summary)),
        next=[next_command(settings, "verify", folder, trajectories=trajectories)],
    )


def _lines(summary: Summary) -> list[str]:
    lines = [f"  {summary.n_tasks:,} tasks, {summary.n_calls:,} calls"]
    if summary.steps is not None:
        low, middle, high = summary.steps.smallest, summary.steps.median, summary.steps.largest
        lines[0] += f", {low} to {high} steps (median {middle:g})"
    if summary.mean_reward is not None:
        passed = ", ".join(f"pass^{k} {value:.3f}" for k, value in enumerate(summary.pass_hat, start=1))
        lines.append(
            f"  mean reward {number(summary.mean_reward)} of {summary.n_rewarded:,} rewarded  {passed}".rstrip()
        )
    return lines


def _warnings(counts: IngestCounts, summary: Summary) -> Iterator[str]:
    yield from log_warnings(counts)
    if summary.n_unparseable_calls:
        yield f"the arguments of {summary.n_unparseable_calls:,} calls are no JSON object; they are kept as text"
