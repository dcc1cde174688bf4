"""The simulated corpus, task by task: trajectories and their true values."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from random import Random

from rmtrain.config.world import WorldSettings
from rmtrain.errors import ConfigError, unknown
from rmtrain.trajectories.schema import Split, Trajectory
from rmtrain.world.environment import TOOLS
from rmtrain.world.episode import run_episode
from rmtrain.world.families import FAMILIES
from rmtrain.world.policies import write_script
from rmtrain.world.tasks import WorldTask, public_task
from rmtrain.world.truth import Truth
from rmtrain.world.vocabulary import PART_OF_SPLIT, Vocabulary

LIMITS = {"n_tasks": 10_000_000, "n_rollouts": 1000, "max_steps": 1000}
"""The most of each setting: beyond it memory would end before the simulation does."""
WORLD_VERSION = 4  # raise it when equal settings make another corpus


@dataclass(frozen=True)
class TaskRecord:
    """All that is simulated for one task."""

    world_task: WorldTask
    trajectories: tuple[Trajectory, ...]
    truths: tuple[Truth, ...]


def make_task(settings: WorldSettings, index: int) -> WorldTask:
    """Task number `index` of the world: equal settings and index give an equal task.

    Raises:
        ConfigError: a family is unknown, or `leave_out` is none of the families in use.
    """
    families = _families(settings)
    family = families[index % len(families)]
    split = _split(settings, index // len(families), len(families), family)
    vocabulary = Vocabulary(PART_OF_SPLIT[split])
    rng = Random(f"task/{settings.seed}/{index}")
    draft = FAMILIES[family](rng, vocabulary)
    names = list(draft.tools)
    rng.shuffle(names)
    return WorldTask(
        task=public_task(
            task_id=f"{family}-{settings.seed}-{index:05d}",
            family=family,
            query=draft.query,
            moves=draft.moves,
            truth=draft.truth,
            answer=draft.answer,
            tools=tuple(TOOLS[name] for name in names),
            final_state=draft.final_state,
            state_goals=draft.state_goals,
        ),
        world=draft.world,
        moves=draft.moves,
        known=draft.known,
        truth=draft.truth,
        answer=draft.answer,
        answer_label=draft.answer_label,
        wrong_answers=draft.wrong_answers,
        plan=draft.plan,
        vocabulary=vocabulary,
        split=split,
        max_steps=settings.max_steps,
        state_goals=draft.state_goals,
    )


def simulate(settings: WorldSettings) -> Iterator[TaskRecord]:
    """Every task of the corpus with its rollouts, deterministic by `settings.seed`.

    Raises:
        ConfigError: settings that no corpus can be made from.
    """
    _check(settings)
    for index in range(settings.n_tasks):
        world_task = make_task(settings, index)
        rng = Random(f"rollouts/{settings.seed}/{index}")
        taken: set[str] = set()
        episodes = []
        for trial in range(settings.n_rollouts):
            script = write_script(rng, world_task, taken)
            taken.add(script.policy)
            episodes.append(run_episode(world_task, script, trial, settings.seed))
        yield TaskRecord(
            world_task=world_task,
            trajectories=tuple(trajectory for trajectory, _ in episodes),
            truths=tuple(truth for _, truth in episodes),
        )


def empty_splits(settings: WorldSettings, n_tasks: int | None = None) -> list[Split]:
    """Which of train, validation and test should hold tasks and hold none of a family that is trained on.

    Args:
        settings: the world's.
        n_tasks: number of tasks in place of `settings.n_tasks`.
    """
    count = (settings.n_tasks if n_tasks is None else n_tasks) // len(_families(settings))
    start, empty = 0.0, list[Split]()
    for split, size in _sizes(settings).items():
        # of the middles (i + 0.5) / count of equal parts of [0, 1], the first that is not below `start`
        first = (max(0, ceil(start * count - 0.5)) + 0.5) / count if count else 1.0
        if size > 0 and first >= start + size and split != "calibration":
            empty.append(split)
        start += size
    return empty


def enough_tasks(settings: WorldSettings) -> int | None:
    """The smallest number of tasks, from `settings.n_tasks` on, that leaves no split empty; None above 100,000."""
    n_families = len(_families(settings))
    n_tasks = settings.n_tasks
    while empty_splits(settings, n_tasks):
        n_tasks = (n_tasks // n_families + 1) * n_families
        if n_tasks > 100_000:
            return None
    return n_tasks


def _check(settings: WorldSettings) -> None:
    for name, most in LIMITS.items():
        value = getattr(settings, name)
        if not 1 <= value <= most:
            raise ConfigError(f"world.{name} is {value:,}. Expected a whole number from 1 to {most:,}.")
    shares = {name: getattr(settings, name) for name in ("test_share", "validation_share", "calibration_share")}
    if not (min(shares.values()) >= 0 and sum(shares.values()) < 1):  # so that NaN is refused too
        shown = ", ".join(f"world.{name}={share:g}" for name, share in shares.items())
        raise ConfigError(
            f"{shown} leave {1 - sum(shares.values()):g} for training. Expected shares >= 0 below 1 in all."
        )


def _families(settings: WorldSettings) -> list[str]:
    for family in [*settings.families, *([settings.leave_out] if settings.leave_out else [])]:
        if family not in FAMILIES:
            raise ConfigError(unknown("task family", family, FAMILIES))
    if settings.leave_out and settings.leave_out not in settings.families:
        raise ConfigError(f"world.leave_out is '{settings.leave_out}', which is not among world.families.")
    if len(set(settings.families)) < len(settings.families):
        raise ConfigError(f"world.families names a family twice: {', '.join(settings.families)}.")
    if not settings.families or settings.families == [settings.leave_out]:
        raise ConfigError("world.families names no family to train on. Known: " + ", ".join(FAMILIES))
    return settings.families


def _split(settings: WorldSettings, position: int, n_families: int, family: str) -> Split:
    """The split of the `position`-th task of a family: shares are met within each family, in seeded order."""
    if family == settings.leave_out:
        return "test"
    count = max(1, settings.n_tasks // n_families)
    share = (_ranks(settings.seed, family, count)[position % count] + 0.5) / count
    for split, size in _sizes(settings).items():
        if share < size:
            return split
        share -= size
    return "train"


def _sizes(settings: WorldSettings) -> dict[Split, float]:
    """Shares of the splits in the order in which they take their tasks; they sum to 1."""
    shares: dict[Split, float] = {
        "test": settings.test_share,
        "validation": settings.validation_share,
        "calibration": settings.calibration_share,
    }
    return shares | {"train": 1 - sum(shares.values())}


@lru_cache(maxsize=64)
def _ranks(seed: int, family: str, count: int) -> tuple[int, ...]:
    """Place of each of a family's tasks in its seeded order."""
    order = list(range(count))
    Random(f"split/{seed}/{family}").shuffle(order)
    ranks = [0] * count
    for rank, position in enumerate(order):
        ranks[position] = rank
    return tuple(ranks)
