"""rmtrain: trains and serves a four-dimensional reward model for the trajectories of LLM agents."""

__version__ = "0.1.0"
