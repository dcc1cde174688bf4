"""job=simulate: scripted policies in the tool world → trajectories, their true values, annotations."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rmtrain.config.jobs import SimulateSettings
from rmtrain.config.world import WorldSettings
from rmtrain.jobs.progress import progress
from rmtrain.jobs.report import Report, next_command
from rmtrain.labels.annotators import annotate_task, hire
from rmtrain.trajectories.store import writing
from rmtrain.world.simulate import empty_splits, enough_tasks, simulate


def run(settings: SimulateSettings, folder: Path) -> Report:
    """Let every task be tried, keep what happened, what is true of it and what people say of it."""
    world = settings.world
    people = hire(world.annotators, world.seed)
    paths = {name: folder / f"{name}.jsonl" for name in ("trajectories", "truth", "annotations")}
    policies, families, splits = Counter[str](), Counter[str](), Counter[str]()
    with writing(*paths.values()) as (trajectories, truths, annotations):
        for record in progress(simulate(world), "simulate", "task", world.n_tasks):
            task = record.world_task.task
            for trajectory in record.trajectories:
                trajectories.add(trajectory)
                policies[trajectory.source.policy or ""] += 1
            for truth in record.truths:
                truths.add(truth)
            for answer in annotate_task(record.truths, task.task_id, people, world.annotators, world.seed):
                annotations.add(answer)
            families[task.family or ""] += 1
            splits[record.world_task.split] += 1
    return Report(
        job=settings.job,
        artefacts=paths,
        counts={
            "tasks": splits.total(),
            "trajectories": trajectories.count,
            "annotations": annotations.count,
        },
        figures={"policies": dict(policies), "families": dict(families), "splits": dict(splits)},
        warnings=list(_warnings(world)),
        next=[next_command(settings, "verify", folder, trajectories=paths["trajectories"])],
    )


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
