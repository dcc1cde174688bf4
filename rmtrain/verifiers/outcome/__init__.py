"""Rules about what a trajectory achieved: subgoals, reward of the source, state, actions, answer."""
