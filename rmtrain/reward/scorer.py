"""A reward model to use from Python: ``RewardModel.load(path).score(trajectories)``.

It renders with the very function that training used, and refuses nothing silently: what was cut to fit is
counted, and a trajectory that cannot be judged is named.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from rmtrain.dataset.examples import Example
from rmtrain.trajectories.render import RenderOptions, render
from rmtrain.trajectories.schema import Record, Trajectory

if TYPE_CHECKING:
    from rmtrain.model.network import RewardNetwork
    from rmtrain.model.predict import Prediction

REWARD_VERSION = "rmtrain.reward/1"
BATCH = 256  # trajectories held in memory at a time


class HeadScore(Record):
    """What one head says of a trajectory or step.

    Attributes:
        logits: the head's raw output.
        value: in [0, 1] for bce and ordinal heads; an unbounded logit for bradley_terry, where only
            differences between trajectories of one task mean something.
        probabilities: of each ordered class, lowest first; None for other objectives.
    """

    logits: tuple[float, ...]
    value: float
    probabilities: tuple[float, ...] | None = None


class RewardBreakdown(Record):
    """All heads' values on one trajectory, before calibration and fusion.

    Attributes:
        trajectory_id: whose values.
        task_id: the task it belongs to.
        trajectory: head name to score of the whole; a step head's is the mean over its steps' values.
        steps: head name to one score per step.
        n_cut_tokens: tokens that did not fit and were not read.
        model: identity of the reward model, 16 hexadecimal digits.
    """

    schema_version: str = REWARD_VERSION
    trajectory_id: str
    task_id: str
    trajectory: dict[str, HeadScore]
    steps: dict[str, tuple[HeadScore, ...]]
    n_cut_tokens: int = Field(ge=0)
    model: str


class RewardModel:
    """A trained reward model.

    Args:
        network: the network with its weights.
        model_id: identity of those weights.
    """

    def __init__(self, network: "RewardNetwork", model_id: str) -> None:
        self.network = network
        self.model_id = model_id

    @classmethod
    def load(cls, path: str | Path) -> "RewardModel":
        """Read a reward model folder; no code in it is ever run.

        Raises:
            ModelError: the folder is absent, damaged or of another version.
        """
        from rmtrain.model.checkpoint import load_model
        from rmtrain.model.folder import read_card

        folder = Path(path)
        network = load_model(folder)
        return cls(network, str(read_card(folder)["weights_sha256"])[:16])

    def score(self, trajectories: Sequence[Trajectory], **options: Any) -> list[RewardBreakdown]:
        """Judge trajectories.

        Args:
            trajectories: any number; each needs a step.
            options: `batch_tokens`, `chunk_tokens`, `precision`, `device` of `rmtrain.model.predict.predict`.

        Returns:
            One breakdown per trajectory, in their order.

        Raises:
            DataError: a trajectory has no step.
        """
        return list(self.stream(trajectories, **options))

    def stream(self, trajectories: Iterable[Trajectory], **options: Any) -> Iterator[RewardBreakdown]:
        """Judge trajectories one batch at a time, so that memory does not grow with their number."""
        from rmtrain.model.predict import predict

        shown = RenderOptions(markers=self.network.card.encoder.markers)
        source = iter(trajectories)
        while batch := list(islice(source, BATCH)):
            examples = [as_example(trajectory, shown) for trajectory in batch]
            found = predict(self.network, examples, **options)
            for trajectory, prediction in zip(batch, found.items, strict=True):
                yield self._breakdown(trajectory, prediction)

    def _breakdown(self, trajectory: Trajectory, prediction: "Prediction") -> RewardBreakdown:
        whole: dict[str, HeadScore] = {}
        steps: dict[str, tuple[HeadScore, ...]] = {}
        for name, head in self.network.card.heads.items():
            logits, values = prediction.logits[name], prediction.values[name]
            shares = prediction.probabilities.get(name)
            if head.level == "step":
                steps[name] = tuple(
                    _score(logits[i], float(values[i]), None if shares is None else shares[i])
                    for i in range(len(values))
                )
                whole[name] = _score(logits.mean(axis=0), float(values.mean()), None)
            else:
                whole[name] = _score(logits, float(values), shares)
        return RewardBreakdown(
            trajectory_id=trajectory.trajectory_id,
            task_id=trajectory.task.task_id,
            trajectory=whole,
            steps=steps,
            n_cut_tokens=prediction.n_cut_tokens,
            model=self.model_id,
        )


def as_example(trajectory: Trajectory, options: RenderOptions) -> Example:
    """A trajectory as the model reads it, without labels."""
    rendered = render(trajectory, options)
    return Example(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task.task_id,
        prefix=rendered.prefix,
        blocks=rendered.blocks,
        task_family=trajectory.task.family,
        policy=trajectory.source.policy,
    )


def _score(logits: Any, value: float, probabilities: Any) -> HeadScore:
    shares = None if probabilities is None else tuple(float(share) for share in probabilities)
    return HeadScore(logits=tuple(float(logit) for logit in logits), value=value, probabilities=shares)
