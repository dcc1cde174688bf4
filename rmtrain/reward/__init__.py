"""What a trajectory is worth: a trained reward model applied to trajectories."""
