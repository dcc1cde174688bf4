import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.trajectories.schema import Outcome
from rmtrain.verifiers.outcome.reward import SourceReward


@given(st.floats(0, 1))
def test_a_reward_in_the_unit_interval_is_the_value(make, reward):
    assert SourceReward().verify(make.episode(reward=reward))[0].value == reward


@pytest.mark.parametrize("reward", [-1.0, 1.01, 100.0, math.nan, math.inf])
def test_another_range_is_an_abstention(make, reward):
    trajectory = make.episode().model_copy(update={"outcome": Outcome.model_construct(reward=reward)})
    verdict = SourceReward().verify(trajectory)[0]
    assert verdict.abstained_because == "the source's reward is not in [0, 1]"
    assert verdict.evidence == {"reward": str(reward)}


def test_an_absent_reward_is_not_zero(make):
    assert SourceReward().verify(make.episode())[0].abstained_because == "the source gave no reward"
    assert SourceReward().verify(make.episode(reward=0.0))[0].value == 0.0
