"""A model from its folder scores as it predicted, alone as in company, in order, and names what it can't judge."""

import math
from collections.abc import Iterator

import pytest

import rmtrain.reward.scorer as scorer
from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings
from rmtrain.config.world import WorldSettings
from rmtrain.errors import DataError, ModelError
from rmtrain.model.checkpoint import save_model
from rmtrain.model.network import new_model
from rmtrain.model.predict import predict
from rmtrain.reward.scorer import RewardBreakdown, RewardModel, as_example
from rmtrain.trajectories.render import RenderOptions, render
from rmtrain.trajectories.schema import Source, make_trajectory
from rmtrain.trajectories.store import read, write
from rmtrain.world.simulate import simulate

HEADS = {
    "correctness": HeadSettings(),
    "step_quality": HeadSettings(level="step", objective="ordinal"),
    "consistency": HeadSettings(objective="bradley_terry"),
    "safety": HeadSettings(level="step"),
}


@pytest.fixture(scope="session")
def network(tiny_backbone):
    return new_model(
        BackboneSettings(name=str(tiny_backbone), package_path=None),
        EncoderSettings(
            window_tokens=128, prefix_tokens=32, block_tokens=48, layers=1, attention_heads=4, markers=True
        ),
        HEADS,
        ScheduleSettings(),
    )


@pytest.fixture(scope="session")
def folder(network, tmp_path_factory):
    return save_model(network, tmp_path_factory.mktemp("reward") / "model")


@pytest.fixture(scope="session")
def trajectories():
    return [t for record in simulate(WorldSettings(n_tasks=8, n_rollouts=2)) for t in record.trajectories]


@pytest.fixture(scope="session")
def model(folder):
    return RewardModel.load(folder)


@pytest.fixture(scope="session")
def rewards(model, trajectories):
    return model.score(trajectories)


def numbers(reward):
    scores = [*reward.trajectory.values(), *(score for steps in reward.steps.values() for score in steps)]
    return [number for s in scores for number in (*s.logits, s.value, *(s.probabilities or ()))]


def test_a_loaded_model_scores_what_the_network_predicts(network, trajectories, rewards):
    shown = RenderOptions(markers=True)
    found = predict(network, [as_example(t, shown) for t in trajectories])
    for trajectory, reward, prediction in zip(trajectories, rewards, found.items, strict=True):
        assert reward.trajectory_id == trajectory.trajectory_id == prediction.trajectory_id
        assert reward.task_id == trajectory.task.task_id
        assert reward.n_cut_tokens == prediction.n_cut_tokens
        for name in ("correctness", "consistency"):
            assert reward.trajectory[name].value == pytest.approx(float(prediction.values[name]), abs=1e-6)
            assert reward.trajectory[name].logits == pytest.approx(prediction.logits[name].tolist(), abs=1e-6)
            assert reward.trajectory[name].probabilities is None
        for name in ("step_quality", "safety"):
            values = [score.value for score in reward.steps[name]]
            assert values == pytest.approx(prediction.values[name].tolist(), abs=1e-6)
            assert len(values) == len(trajectory.steps)
            assert reward.trajectory[name].value == pytest.approx(sum(values) / len(values), abs=1e-6)


def test_values_are_what_their_heads_say(rewards):
    for reward in rewards:
        assert set(reward.trajectory) == set(HEADS)
        assert set(reward.steps) == {"step_quality", "safety"}
        for score in (reward.trajectory["correctness"], *reward.steps["safety"]):
            assert score.value == pytest.approx(1 / (1 + math.exp(-score.logits[0])), abs=1e-5)
        assert reward.trajectory["consistency"].value == pytest.approx(reward.trajectory["consistency"].logits[0])
        for score in reward.steps["step_quality"]:
            p0, p1, p2 = score.probabilities
            assert p0 + p1 + p2 == pytest.approx(1, abs=1e-5)
            assert score.value == pytest.approx((p1 + 2 * p2) / 2, abs=1e-5)


def test_alone_is_as_in_company(model, trajectories, rewards):
    for trajectory, reward in list(zip(trajectories, rewards, strict=True))[:6]:
        (alone,) = model.score([trajectory])
        assert numbers(alone) == pytest.approx(numbers(reward), abs=1e-5)
    small = model.score(trajectories, batch_tokens=256, chunk_tokens=128)
    for one, other in zip(small, rewards, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-5)


def test_streaming_keeps_the_order_and_holds_one_batch(model, trajectories, rewards, monkeypatch):
    monkeypatch.setattr(scorer, "BATCH", 3)
    taken = []

    def source() -> Iterator:
        for trajectory in trajectories:
            taken.append(trajectory)
            yield trajectory

    stream = model.stream(source())
    assert next(stream).trajectory_id == trajectories[0].trajectory_id
    assert len(taken) == 3
    assert [reward.trajectory_id for reward in stream] == [t.trajectory_id for t in trajectories[1:]]


def test_nothing_gives_nothing(model):
    assert model.score([]) == []


def test_a_trajectory_without_a_step_is_named(model, trajectories):
    empty = make_trajectory(task=trajectories[0].task, steps=(), source=Source(format="test"))
    with pytest.raises(DataError, match=rf"trajectory '{empty.trajectory_id}' has no steps.*Leave it out"):
        model.score([trajectories[0], empty])


def test_the_model_is_named_by_its_weights(model, folder, rewards):
    assert len(model.model_id) == 16
    assert {reward.model for reward in rewards} == {model.model_id}
    assert RewardModel.load(str(folder)).model_id == model.model_id


def test_the_text_is_the_one_it_was_trained_on(trajectories):
    for options in (RenderOptions(), RenderOptions(markers=True)):
        example = as_example(trajectories[0], options)
        rendered = render(trajectories[0], options)
        assert (example.prefix, example.blocks) == (rendered.prefix, rendered.blocks)
    assert example.trajectory_labels == example.step_labels == {}


def test_rewards_read_back_equal(rewards, tmp_path):
    write(tmp_path / "r.jsonl", rewards)
    assert list(read(tmp_path / "r.jsonl", RewardBreakdown)) == rewards


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(
        ModelError, match=r"is not a reward model folder: it has no rmtrain\.json\. Train one: job=train"
    ):
        RewardModel.load(tmp_path)
