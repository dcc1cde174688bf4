"""job=verify: trajectories → ``verdicts.jsonl``, what each rule says of each, with the reason."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rmtrain.config.jobs import VerifySettings
from rmtrain.errors import DataError
from rmtrain.jobs.inputs import command, refuse_replacing, trajectories_of
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command, table
from rmtrain.trajectories.store import write
from rmtrain.verifiers.base import Verdict
from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.verifiers.summary import VerdictSummary


def run(settings: VerifySettings, folder: Path) -> Report:
    """Ask every rule about every trajectory, one in memory at a time."""
    suite = VerifierSuite(settings.verifiers)
    trajectories = trajectories_of(settings, settings.trajectories)
    verdicts, summary = folder / "verdicts.jsonl", VerdictSummary()
    refuse_replacing(trajectories, [verdicts])
    judged = progress(suite.verify_corpus(trajectories), "verify", "trajectory")
    makers = f"{command(settings, 'ingest')} source.path=FILE, or {command(settings, 'simulate')}"
    nothing = f"{trajectories}: holds no trajectory. Make some: {makers}"
    n_verdicts = write(verdicts, _counted(judged, summary, nothing))
    return Report(
        job=settings.job,
        artefacts={"verdicts": verdicts},
        counts={"verdicts": n_verdicts, "trajectories": summary.trajectories, "calls": summary.n_calls},
        figures=summary.as_dict(),
        lines=_lines(summary),
        warnings=list(_warnings(summary)),
        next=[next_command(settings, "build", folder, trajectories=trajectories, verdicts=verdicts)],
    )


def _counted(judged: Iterable[list[Verdict]], summary: VerdictSummary, nothing: str) -> Iterator[Verdict]:
    for verdicts in judged:
        summary.add(verdicts)
        yield from verdicts
    if not summary.trajectories:
        raise DataError(nothing)  # before the earlier verdicts are replaced


def _lines(summary: VerdictSummary) -> list[str]:
    rows = [
        [name, count.decided, sum(count.abstained.values()), count.mean] for name, count in summary.verifiers.items()
    ]
    return table(["rule", "decided", "abstained", "mean"], rows)


def _warnings(summary: VerdictSummary) -> Iterator[str]:
    for name, count in summary.verifiers.items():
        for because, n in count.abstained.items():
            if because.startswith("raised "):
                yield f"the rule '{name}' broke on {n:,}: {because}"
