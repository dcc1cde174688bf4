from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from rmtrain.config.model import HeadSettings, ScheduleSettings, TrainerSettings
from rmtrain.dataset.batching import Batch
from rmtrain.errors import ModelError
from rmtrain.model.batch import Collator, TensorBatch
from rmtrain.model.labels import check_labels
from rmtrain.model.module import TrainingModule, learning_rate_share, parameter_groups
from rmtrain.model.network import RewardNetwork
from rmtrain.model.predict import make_reading
from rmtrain.model.train import LabelledSet

Make = Callable[..., tuple[TrainingModule, Callable[[list[int]], TensorBatch]]]


@pytest.fixture
def make(build: Callable[..., RewardNetwork], labelled: Callable[..., LabelledSet], trainer: TrainerSettings) -> Make:
    """A module outside a trainer, and a function from example numbers to a batch with the pairs among them."""

    def new(
        n_batches: int = 1, schedule: ScheduleSettings | None = None, data: LabelledSet | None = None, **options: object
    ) -> tuple[TrainingModule, Callable[[list[int]], TensorBatch]]:
        data = data or labelled(8)
        model = build(tune="full", schedule=schedule, **options)
        heads = model.card.heads
        amounts = check_labels(heads, data.examples, data.pairs).amounts
        windows = model.windows(list(data.examples))
        collate = Collator(data.examples, data.pairs, heads, windows, make_reading(model, 256))
        at = {example.trajectory_id: index for index, example in enumerate(data.examples)}

        def batch(numbers: list[int]) -> TensorBatch:
            sides = [(i, at[p.trajectory_a], at[p.trajectory_b]) for i, p in enumerate(data.pairs)]
            held = tuple((i, numbers.index(a), numbers.index(b)) for i, a, b in sides if {a, b} <= set(numbers))
            return collate(Batch(tuple(numbers), (True,) * len(numbers), held))

        return TrainingModule(model, trainer, amounts, n_batches), batch

    return new


def gradients(module: TrainingModule) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


def test_accumulation_of_smaller_batches_is_one_large_batch(make: Make) -> None:
    # tasks are numbers modulo 2 (8 // 3): each part of the split keeps its tasks whole, so no pair is lost
    whole, batch = make(n_batches=1)
    whole.training_step(batch([0, 2, 4, 6, 1, 3, 5, 7]), 0).backward()
    parts, batch = make(n_batches=2)
    for numbers in ([0, 2, 4, 6], [1, 3, 5, 7]):
        (parts.training_step(batch(numbers), 0) / 2).backward()  # as Lightning divides by accumulate_grad_batches
    a, b = gradients(whole), gradients(parts)
    assert a.keys() == b.keys()
    assert any(name.startswith("backbone") for name in a)
    for name, gradient in a.items():
        torch.testing.assert_close(gradient, b[name], atol=2e-5, rtol=2e-4)


def test_the_loss_is_the_weighted_sum_over_expected_labels(make: Make) -> None:
    module, batch = make(n_batches=2)
    held = batch([0, 1, 2, 3])
    sums = module.loss_sums(module(held), held)
    weights = module.weights()
    expected = sum(weights[name] * sums[name][0] / (module.expected[name]) for name in sums)
    torch.testing.assert_close(module.training_step(held, 0), expected)
    assert sum(weights.values()) == pytest.approx(4.0)
    assert module.expected["correctness"] == 3  # two batches; of 8 examples, numbers 0 and 5 have no label


def test_a_masked_step_label_moves_nothing(make: Make, labelled: Callable[..., LabelledSet]) -> None:
    data = labelled(8)
    first = data.examples[0]
    heads = {"step_quality": HeadSettings(level="step", objective="ordinal")}
    masked = replace(first, step_labels={"step_quality": (None,) * len(first.blocks)})
    module, batch = make(data=LabelledSet([masked, *data.examples[1:]], data.pairs), heads=heads)
    loss_sum, n = module.loss_sums(module(batch([0])), batch([0]))["step_quality"]
    loss_sum.backward()
    assert (loss_sum.item(), n) == (0.0, 0.0)
    assert all((gradient == 0).all() for gradient in gradients(module).values())


def test_weights_follow_the_epoch_and_nothing_else(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _ = make()
    module.heads = {"a": HeadSettings(early=3.0, late=1.0), "b": HeadSettings(level="step")}
    for epoch, a in ((0, 3.0), (1, 8 / 3), (2, 2.0)):  # of 3 epochs, see test_schedule
        monkeypatch.setattr(TrainingModule, "current_epoch", epoch)
        assert module.weights()["a"] == pytest.approx(a)


def test_uncertainty_learns_its_own_weights(make: Make) -> None:
    module, batch = make(schedule=ScheduleSettings(kind="uncertainty"))
    assert module.log_variances is not None
    with torch.no_grad():
        module.log_variances["correctness"].fill_(1.0)
    weights = module.weights()
    # softmax(-1, 0, 0) x 4
    assert weights["correctness"] == pytest.approx(4 * 0.36788 / 2.36788, rel=1e-4)
    assert sum(weights.values()) == pytest.approx(4.0)
    held = batch([0, 1, 2, 3, 4, 5, 6, 7])
    loss = module.loss_sums(module(held), held)["correctness"][0].item() / module.expected["correctness"]
    module.training_step(held, 0).backward()
    # d/ds (exp(-s) L + s) = 1 - exp(-s) L
    assert module.log_variances["correctness"].grad.item() == pytest.approx(1 - 0.36788 * loss, rel=1e-3)
    groups = {group["name"]: group for group in parameter_groups(module, module.settings)}
    assert groups["log_variances_vectors"]["weight_decay"] == 0.0


def test_parameters_are_grouped_by_rate_and_decay(make: Make, trainer: TrainerSettings) -> None:
    module, _ = make()
    groups = {group["name"]: group for group in parameter_groups(module, trainer)}
    assert set(groups) == {"backbone", "backbone_vectors", "scorer", "scorer_vectors"}
    assert groups["backbone"]["lr"] == trainer.lr_backbone
    assert groups["scorer"]["lr"] == trainer.lr_heads
    assert all(p.ndim > 1 for p in groups["scorer"]["params"])
    assert all(p.ndim <= 1 for p in groups["scorer_vectors"]["params"])
    assert [groups[name]["weight_decay"] for name in ("backbone", "backbone_vectors")] == [0.01, 0.0]
    n = sum(len(group["params"]) for group in groups.values())
    assert n == len(list(module.parameters()))


@pytest.mark.parametrize(("step", "share"), [(0, 1 / 3), (1, 2 / 3), (2, 1.0), (6, 0.5), (10, 0.0), (11, 0.0)])
def test_the_learning_rate_rises_then_falls(step: int, share: float) -> None:
    # 10 steps, 2 of warm-up: thirds up to 1, then down over 8
    assert learning_rate_share(step, 2, 10) == pytest.approx(share)


def test_a_loss_that_is_not_finite_is_named(make: Make) -> None:
    module, batch = make()
    with torch.no_grad():
        module.scorer.heads.heads["consistency"].mlp[-1].bias.fill_(float("inf"))
    with pytest.raises(
        ModelError, match=r"head 'consistency' is nan in epoch 0, training batch 7 \(trajectories t0, t2\)"
    ):
        module.training_step(batch([0, 2]), 7)
