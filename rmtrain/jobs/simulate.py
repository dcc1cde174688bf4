"""job=simulate: scripted policies in the tool world → trajectories, their true values, annotations."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rmtrain.config.jobs import SimulateSettings
from rmtrain.config.world import WorldSettings
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command
from rmtrain.labels.annotators import annotate_task, hire
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import write
from rmtrain.world.simulate import TaskRecord, empty_splits, enough_tasks, simulate


def run(settings: SimulateSettings, folder: Path) -> Report:
    """Let every task be tried, keep what happened, what is true of it and what people say of it."""
    world = settings.world
    people = hire(world.annotators, world.seed)
    records = list(progress(simulate(world), "simulate", "task", world.n_tasks))
    paths = {name: folder / f"{name}.jsonl" for name in ("trajectories", "truth", "annotations")}
    write(paths["trajectories"], _trajectories(records))
    write(paths["truth"], (truth for record in records for truth in record.truths))
    n_annotations = write(
        paths["annotations"],
        (
            answer
            for record in records
            for answer in annotate_task(
                record.truths, record.world_task.task.task_id, people, world.annotators, world.seed
            )
        ),
    )
    policies = Counter(trajectory.source.policy or "" for trajectory in _trajectories(records))
    families = Counter(record.world_task.task.family or "" for record in records)
    splits = Counter(record.world_task.split for record in records)
    return Report(
        job=settings.job,
        artefacts=paths,
        counts={
            "tasks": len(records),
            "trajectories": sum(policies.values()),
            "annotations": n_annotations,
        },
        figures={"policies": dict(policies), "families": dict(families), "splits": dict(splits)},
        warnings=list(_warnings(world)),
        next=[next_command(settings, "verify", folder, trajectories=paths["trajectories"])],
    )


def _trajectories(records: list[TaskRecord]) -> Iterator[Trajectory]:
    return (trajectory for record in records for trajectory in record.trajectories)


def _warnings(world: WorldSettings) -> Iterator[str]:
    if empty := empty_splits(world):
        enough = enough_tasks(world)
        remedy = (
            "raise their shares" if enough is None else f"the next number that fills them is world.n_tasks={enough}"
        )
        yield (
            f"world.n_tasks={world.n_tasks} is too few for these shares: no task of some family is in "
            f"{' or '.join(empty)}; {remedy}"
        )
