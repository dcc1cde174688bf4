"""Trajectories as a few numbers for a reader: how many, how long, how they ended."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import mean, median

from rmtrain.trajectories.schema import Trajectory, digest


@dataclass(frozen=True)
class Lengths:
    """Smallest, median, mean and largest of a count per trajectory."""

    smallest: int
    median: float
    mean: float
    largest: int


@dataclass(frozen=True)
class Summary:
    """What a set of trajectories holds.

    Attributes:
        n_trajectories: number of trajectories.
        n_tasks: number of distinct task ids.
        n_steps: number of steps.
        n_calls: number of calls.
        n_unparseable_calls: calls whose arguments could not be parsed.
        n_observations: number of observations.
        n_errors: observations that are known to be errors.
        n_equal: trajectories whose task, steps and answer equal those of an earlier one, such as trials.
        n_rewarded: trajectories with an outcome reward.
        steps: steps per trajectory; None without trajectories.
        calls: calls per trajectory; None without trajectories.
        mean_reward: mean outcome reward of the `n_rewarded`, None where there are none.
        pass_hat: pass^1, pass^2, … up to the fewest rewarded trials of a task; empty unless every reward is 0
            or 1 and some task has two.
    """

    n_trajectories: int
    n_tasks: int
    n_steps: int
    n_calls: int
    n_unparseable_calls: int
    n_observations: int
    n_errors: int
    n_equal: int
    n_rewarded: int
    steps: Lengths | None
    calls: Lengths | None
    mean_reward: float | None
    pass_hat: tuple[float, ...]


def pass_hat_k(successes_by_task: Mapping[str, Sequence[bool]], k: int) -> float:
    """Probability that k trials of a task, drawn without replacement, all succeed; mean over tasks.

    ``pass^k = mean over tasks of C(c, k) / C(n, k)`` with c successes in n trials.

    Args:
        successes_by_task: for each task, whether each of its trials succeeded.
        k: number of trials that must all succeed, at least 1 and at most the trials of every task.

    Returns:
        In [0, 1].

    Raises:
        ValueError: there is no task, or k is out of range.

    Source:
        Yao et al., "tau-bench", arXiv 2406.12045, section 3.
    """
    if not successes_by_task:
        raise ValueError("pass^k needs at least one task")
    fewest = min(len(successes) for successes in successes_by_task.values())
    if not 1 <= k <= fewest:
        raise ValueError(f"k is {k}; it must be from 1 to {fewest}, the fewest trials of a task")
    return mean(comb(sum(done), k) / comb(len(done), k) for done in successes_by_task.values())


def summarise(trajectories: Iterable[Trajectory]) -> Summary:
    """Count trajectories in one pass.

    Args:
        trajectories: any number, read once.
    """
    steps: list[int] = []
    calls: list[int] = []
    unparseable = observations = errors = 0
    rewards: dict[str, list[float]] = defaultdict(list)
    tasks: set[str] = set()
    contents: set[str] = set()
    for trajectory in trajectories:
        tasks.add(trajectory.task.task_id)
        contents.add(_content(trajectory))
        made = [call for step in trajectory.steps for call in step.calls]
        seen = [observation for step in trajectory.steps for observation in step.observations]
        steps.append(len(trajectory.steps))
        calls.append(len(made))
        unparseable += sum(call.arguments is None for call in made)
        observations += len(seen)
        errors += sum(observation.is_error is True for observation in seen)
        if trajectory.outcome.reward is not None:
            rewards[trajectory.task.task_id].append(trajectory.outcome.reward)
    every = [reward for group in rewards.values() for reward in group]
    return Summary(
        n_trajectories=len(steps),
        n_tasks=len(tasks),
        n_steps=sum(steps),
        n_calls=sum(calls),
        n_unparseable_calls=unparseable,
        n_observations=observations,
        n_errors=errors,
        n_equal=len(steps) - len(contents),
        n_rewarded=len(every),
        steps=_lengths(steps),
        calls=_lengths(calls),
        mean_reward=mean(every) if every else None,
        pass_hat=_pass_hat(rewards),
    )


def _pass_hat(rewards: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    """pass^k for each possible k where rewards say success or failure and tasks were tried repeatedly."""
    if not rewards or any(reward not in (0, 1) for group in rewards.values() for reward in group):
        return ()
    if max(len(group) for group in rewards.values()) < 2:
        return ()
    done = {task: [reward == 1 for reward in group] for task, group in rewards.items()}
    return tuple(pass_hat_k(done, k) for k in range(1, min(len(group) for group in done.values()) + 1))


def _content(trajectory: Trajectory) -> str:
    return digest(trajectory.model_dump(include={"task", "steps", "answer"}))


def _lengths(counts: Sequence[int]) -> Lengths | None:
    if not counts:
        return None
    return Lengths(min(counts), float(median(counts)), float(mean(counts)), max(counts))
