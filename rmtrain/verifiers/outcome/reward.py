"""Correctness by the source's own reward, where it lies in [0, 1]; another range says nothing without its scale."""

from rmtrain.trajectories.schema import Trajectory
from rmtrain.verifiers.base import Verdict, abstained, decided


class SourceReward:
    """The reward that the environment or log gave."""

    name = "source_reward"
    version = 1

    def verify(self, trajectory: Trajectory) -> list[Verdict]:
        """One verdict on the trajectory."""
        reward = trajectory.outcome.reward
        if reward is None:
            return [abstained(self, trajectory, "the source gave no reward")]
        if not 0 <= reward <= 1:
            because = "the source's reward is not in [0, 1]"
            return [abstained(self, trajectory, because, evidence={"reward": str(reward)})]
        return [decided(self, trajectory, reward, f"the source's reward is {reward:g}")]
