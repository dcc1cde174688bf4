"""Settings of `job=ingest`: which logs are read and what happens to a row that can't be."""

from dataclasses import dataclass, field


@dataclass
class SourceSettings:
    """Where agent logs lie and how they are read."""

    format: str = "openai"
    """Name of the importer: openai | tau_bench."""
    path: str | None = None
    """A file, or a folder whose .json and .jsonl files (also .gz) are read recursively in sorted order."""
    on_bad_row: str = "skip"
    """skip (the row goes to quarantine with its reason) | stop (the job ends at the first)."""
    fields: dict[str, str] = field(default_factory=dict)
    """openai only: our field to the dotted name it has in a row, e.g. `reference: ground_truth.target`. Ours:
    messages, tools, task_id, family, query, answer, reference, reward, trial, policy, temperature, seed."""
    max_rows: int | None = None
    """Most rows read, > 0; None reads all."""
    quarantine_chars: int = 2000
    """Most characters of a bad row kept in quarantine, > 0."""
