"""Trajectories, verdicts and labels → examples and pairs, each in one split.

A head is labelled by the dimension of its own name: a trajectory or step head by people's labels where
there are any, else by verdicts; a Bradley-Terry head by people's pairs. What has no label stays
None; what could not be used is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rmtrain.config.dataset import SplitSettings
from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, Value
from rmtrain.dataset.split import refuse_leak, split_of
from rmtrain.errors import ConfigError, DataError
from rmtrain.labels.aggregate import Labels
from rmtrain.trajectories.render import RenderOptions, render
from rmtrain.trajectories.schema import SPLITS, Split, Trajectory
from rmtrain.verifiers.base import Verdict
from rmtrain.world.truth import Truth


@dataclass
class SplitData:
    """The examples and pairs of one split."""

    examples: list[Example] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)


@dataclass
class Built:
    """All splits, and what was left out on the way.

    Attributes:
        splits: the data per split, every split present.
        dropped: reason to count of labels, pairs or verdicts that could not be used.
    """

    splits: dict[Split, SplitData]
    dropped: Counter[str]


def collect_verdicts(verdicts: Iterable[Verdict]) -> dict[str, dict[str, dict[int | None, float | None]]]:
    """Verdicts that label a dimension, as trajectory_id → dimension → step_index (None: whole) → value or None."""
    collected: dict[str, dict[str, dict[int | None, float | None]]] = defaultdict(lambda: defaultdict(dict))
    for verdict in verdicts:
        if verdict.dimension is not None:
            collected[verdict.trajectory_id][verdict.dimension][verdict.step_index] = verdict.value
    return {trajectory_id: dict(dimensions) for trajectory_id, dimensions in collected.items()}


def build(
    trajectories: Iterable[Trajectory],
    verdicts: Iterable[Verdict],
    labels: Labels,
    truths: Mapping[str, Truth],
    heads: Mapping[str, HeadSettings],
    splits: SplitSettings,
    options: RenderOptions = RenderOptions(),
) -> Built:
    """Make the examples and pairs of every split.

    Args:
        trajectories: the episodes; read once.
        verdicts: what rules said; those with a `dimension` label the head of that name.
        labels: what people said, aggregated.
        truths: true values by trajectory_id where a simulated world knows them; for evaluation only.
        heads: the declared heads.
        splits: shares of tasks; a split that a trajectory's source declares goes before it.
        options: how trajectories read.

    Returns:
        The data and the counts of what was dropped.

    Raises:
        ConfigError: a share is negative, they do not sum to 1, or a head has other classes than people were asked for.
        DataError: there are no trajectories, a task is in two splits, or a pair joins two tasks.
    """
    shares = _shares(splits)
    if not (abs(sum(shares.values()) - 1) <= 1e-6 and min(shares.values()) >= 0):  # so that NaN is refused too
        raise ConfigError(
            f"the shares of splits are {shares} and sum to {sum(shares.values()):g}. "
            "None may be negative, and they must sum to 1."
        )
    _check_classes(labels, heads)
    judged = collect_verdicts(verdicts)
    dropped: Counter[str] = Counter(labels.dropped)
    built = Built({name: SplitData() for name in SPLITS}, dropped)
    home: dict[str, tuple[str, Split]] = {}
    n_steps: dict[str, int] = {}
    splits_of_tasks: dict[str, set[Split]] = defaultdict(set)
    for trajectory in trajectories:
        n_steps[trajectory.trajectory_id] = len(trajectory.steps)
        if not trajectory.steps:
            dropped["trajectory without a step"] += 1
            continue
        task_id = trajectory.task.task_id
        if trajectory.trajectory_id not in judged:
            dropped["rule labels of a trajectory that no verdict speaks of"] += 1
        split = home_of(trajectory, splits)
        splits_of_tasks[task_id].add(split)
        home[trajectory.trajectory_id] = (task_id, split)
        example = _example(trajectory, judged.get(trajectory.trajectory_id, {}), labels, truths, heads, options)
        built.splits[split].examples.append(example)
    if not home:
        raise DataError("there is no trajectory to build a dataset from. Make some: job=ingest or job=simulate.")
    refuse_leak(splits_of_tasks)
    for name in sorted(set(judged) - set(n_steps)):
        dropped["verdicts on a trajectory that is not here"] += len(judged[name])
    _add_pairs(built, labels, heads, home)
    _count_unused(dropped, labels, heads, n_steps)
    return built


def home_of(trajectory: Trajectory, splits: SplitSettings) -> Split:
    """The split of a trajectory: the one that its source declares, else that of its task."""
    return trajectory.source.split or split_of(trajectory.task.task_id, _shares(splits), splits.seed)


def _shares(splits: SplitSettings) -> dict[str, float]:
    return {name: float(getattr(splits, name)) for name in SPLITS}


def _check_classes(labels: Labels, heads: Mapping[str, HeadSettings]) -> None:
    for name, steps in labels.steps.items():
        head = heads.get(name)
        if head is None or head.level != "step" or head.objective != "ordinal":
            continue
        for (trajectory_id, step_index), said in steps.items():
            if len(said) != head.classes:
                raise ConfigError(
                    f"heads.{name}.classes is {head.classes}, but people's labels on it have {len(said)} classes (the "
                    f"first: step {step_index} of '{trajectory_id}'). Set heads.{name}.classes={len(said)}, or make it "
                    f"a head of values: heads.{name}.objective=bce"
                )


def _example(
    trajectory: Trajectory,
    judged: Mapping[str, Mapping[int | None, float | None]],
    labels: Labels,
    truths: Mapping[str, Truth],
    heads: Mapping[str, HeadSettings],
    options: RenderOptions,
) -> Example:
    rendered = render(trajectory, options)
    whole: dict[str, Value] = {}
    stepwise: dict[str, tuple[Value, ...]] = {}
    for name, head in heads.items():
        values = judged.get(name, {})
        if head.level == "step":
            said = labels.steps.get(name, {})
            stepwise[name] = tuple(
                _as_label(said.get((trajectory.trajectory_id, i), values.get(i)), head)
                for i in range(len(trajectory.steps))
            )
        elif head.objective != "bradley_terry":
            given = labels.trajectories.get(name, {})
            whole[name] = _as_label(given.get(trajectory.trajectory_id, values.get(None)), head)
    truth = truths.get(trajectory.trajectory_id)
    return Example(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task.task_id,
        prefix=rendered.prefix,
        blocks=rendered.blocks,
        trajectory_labels=whole,
        step_labels=stepwise,
        truth={} if truth is None else _true_values(truth),
        step_truth={} if truth is None else {"step_quality": tuple(float(q) for q in truth.step_quality)},
        task_family=trajectory.task.family,
        policy=trajectory.source.policy,
    )


def _true_values(truth: Truth) -> dict[str, float]:
    values = {
        "correctness": truth.correctness,
        "tool_efficiency": truth.tool_efficiency,
        "consistency": truth.consistency,
    }
    return {name: value for name, value in values.items() if value is not None}


def _as_label(value: float | tuple[float, ...] | None, head: HeadSettings) -> Value:
    """A value or distribution in the form the head's objective takes."""
    if value is None:
        return None
    if head.objective == "ordinal" and not isinstance(value, tuple):
        position = value * (head.classes - 1)
        low = min(int(position), head.classes - 2)
        return tuple(
            (1 - (position - low)) if k == low else (position - low) if k == low + 1 else 0.0
            for k in range(head.classes)
        )
    if head.objective == "bce" and isinstance(value, tuple):
        return sum(k * share for k, share in enumerate(value)) / (len(value) - 1)
    return value


def _add_pairs(
    built: Built, labels: Labels, heads: Mapping[str, HeadSettings], home: Mapping[str, tuple[str, Split]]
) -> None:
    for pair in labels.pairs:
        head = heads.get(pair.dimension)
        if head is None or head.objective != "bradley_terry":
            built.dropped[f"pairs on '{pair.dimension}', which no bradley_terry head learns"] += 1
            continue
        sides = [home.get(pair.trajectory_a), home.get(pair.trajectory_b)]
        if sides[0] is None or sides[1] is None:
            built.dropped["pairs with a trajectory that is not here"] += 1
            continue
        if sides[0][0] != sides[1][0]:
            raise DataError(
                f"a comparison joins trajectories of two tasks, '{sides[0][0]}' and '{sides[1][0]}'. "
                "Only trajectories of one task can be compared: mend the annotations."
            )
        built.splits[sides[0][1]].pairs.append(
            Pair(pair.dimension, pair.trajectory_a, pair.trajectory_b, pair.target, pair.pair_weight)
        )


def _count_unused(
    dropped: Counter[str], labels: Labels, heads: Mapping[str, HeadSettings], n_steps: Mapping[str, int]
) -> None:
    """Count labels that no example could take, each once."""
    for name, given in labels.trajectories.items():
        head = heads.get(name)
        for trajectory_id in given:
            if head is None or head.level != "trajectory" or head.objective == "bradley_terry":
                dropped[f"trajectory labels on '{name}', which no head of values learns"] += 1
            elif trajectory_id not in n_steps:
                dropped["trajectory labels on a trajectory that is not here"] += 1
    for name, steps in labels.steps.items():
        head = heads.get(name)
        for trajectory_id, step_index in steps:
            if head is None or head.level != "step":
                dropped[f"step labels on '{name}', which no step head learns"] += 1
            elif trajectory_id not in n_steps:
                dropped["step labels on a trajectory that is not here"] += 1
            elif step_index >= n_steps[trajectory_id]:
                dropped["step labels past the last step of their trajectory"] += 1
