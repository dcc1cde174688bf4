from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.trajectories.schema import Call, Observation, Outcome, Source, Step, Task, Trajectory, make_trajectory
from rmtrain.trajectories.summary import Lengths, pass_hat_k, summarise


def test_pass_hat_by_hand():
    done = {"a": [True, True, False, False], "b": [True, True, True, True], "c": [False] * 4}
    assert pass_hat_k(done, 1) == pytest.approx((2 / 4 + 1 + 0) / 3)
    assert pass_hat_k(done, 2) == pytest.approx((1 / 6 + 1 + 0) / 3)  # C(2,2)/C(4,2) = 1/6
    assert pass_hat_k(done, 4) == pytest.approx(1 / 3)


@given(
    st.dictionaries(st.text(max_size=3), st.lists(st.booleans(), min_size=4, max_size=6), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_pass_hat_is_the_share_of_draws_that_all_succeed(done: dict[str, list[bool]], k: int):
    shares = []
    for trials in done.values():
        draws = list(combinations(trials, k))
        shares.append(sum(all(draw) for draw in draws) / len(draws))
    assert pass_hat_k(done, k) == pytest.approx(sum(shares) / len(shares))


@pytest.mark.parametrize("k", [0, 3, -1])
def test_pass_hat_needs_k_trials_of_every_task(k: int):
    with pytest.raises(ValueError, match=f"k is {k}; it must be from 1 to 2"):
        pass_hat_k({"a": [True, False], "b": [True, True, True]}, k)


def test_pass_hat_needs_a_task():
    with pytest.raises(ValueError, match="at least one task"):
        pass_hat_k({}, 1)


def run(task: str, reward: float | None, n_steps: int, line: int = 1) -> Trajectory:
    step = Step(
        step_index=0,
        calls=(Call(name="f", raw_arguments="{"), Call(name="f", arguments={})),
        observations=(Observation(content="", is_error=True), Observation(content="")),
    )
    return make_trajectory(
        task=Task(task_id=task, query="q"),
        steps=tuple(step.model_copy(update={"step_index": position}) for position in range(n_steps)),
        outcome=Outcome(reward=reward),
        source=Source(format="x", line=line),
    )


def test_summary_by_hand():
    summary = summarise([run("a", 1, 1), run("a", 0, 1, 2), run("b", 1, 4), run("b", 1, 2), run("c", None, 0)])
    assert (summary.n_trajectories, summary.n_tasks, summary.n_steps, summary.n_calls) == (5, 3, 8, 16)
    assert (summary.n_unparseable_calls, summary.n_observations, summary.n_errors) == (8, 16, 8)
    assert summary.n_equal == 1  # the two runs of a
    assert summary.steps == Lengths(0, 1.0, 8 / 5, 4)
    assert summary.calls == Lengths(0, 2.0, 16 / 5, 8)
    assert (summary.n_rewarded, summary.mean_reward) == (4, 3 / 4)
    assert summary.pass_hat == (3 / 4, 1 / 2)  # a: 1/2, 0; b: 1, 1; c has no reward


def test_an_absent_reward_is_not_a_failure():
    summary = summarise([run("a", None, 1)])
    assert (summary.n_rewarded, summary.mean_reward, summary.pass_hat) == (0, None, ())


def test_no_trajectories():
    summary = summarise([])
    assert (summary.n_trajectories, summary.mean_reward, summary.pass_hat) == (0, None, ())
    assert summary.steps is None


@pytest.mark.parametrize("rewards", [(0.5, 1.0), (1.0,), (-1.0, 1.0)])
def test_pass_hat_only_where_rewards_say_success_and_tasks_repeat(rewards: tuple[float, ...]):
    assert summarise([run("a", reward, 1, line) for line, reward in enumerate(rewards, 1)]).pass_hat == ()
