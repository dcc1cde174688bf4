"""Settings of labels: the files they come from, and how many people's answers become one."""

from dataclasses import dataclass


@dataclass
class LabelSourceSettings:
    """Where labels lie and how they are read."""

    path: str | None = None
    """A file, or a folder whose .json and .jsonl files (also .gz, .zst) are read recursively in sorted order."""
    format: str = "auto"
    """auto (each file is what its first row that is known says) | agentprocessbench | agentrx."""
    on_bad_row: str = "skip"
    """skip (the row goes to quarantine with its reason) | stop (the job ends at the first)."""
    alone: bool = False
    """Keep labels without their trajectories, under the names that the file has for them."""


@dataclass
class AggregationSettings:
    """How the answers of several people to one question become a label. A gold answer goes before all others."""

    method: str = "votes"
    """votes (their shares) | dawid_skene (weighed by how each annotator errs) | gold (nothing but gold answers)."""
    calibrate: bool = True
    """dawid_skene only: temper its probabilities by the gold answers on training tasks, where there are enough."""
