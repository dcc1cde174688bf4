"""Agent logs of one format each, read as trajectories. `ingest` is the way in."""
