"""Settings of `job=ingest`: which logs are read and what happens to a row that can't be."""

from dataclasses import dataclass, field


@dataclass
class FieldSettings:
    """openai, anthropic: the name rows have for a field of ours, dotted where it lies deeper; None: its usual names."""

    messages: str | None = None
    """The list of chat messages; usually messages, request.messages, traj, conversation or conversations."""
    tools: str | None = None
    """The list of function schemas; usually tools, request.tools or functions."""
    task_id: str | None = None
    """Text or number that rows of one task share; usually task_id, else rows of one query share a task."""
    family: str | None = None
    """Kind of task, text; no usual name."""
    query: str | None = None
    """The task as text; usually query, else the first user message is the task."""
    answer: str | None = None
    """The agent's final answer, text; no usual name, else the last assistant message without calls."""
    reference: str | None = None
    """The right answer or answers, text or a list, e.g. ground_truth.target; no usual name."""
    reward: str | None = None
    """What the environment gave, a number; usually reward or score."""
    trial: str | None = None
    """Whole number that tells attempts at a task apart; usually trial."""
    policy: str | None = None
    """The agent or its model, text; usually model or request.model."""
    temperature: str | None = None
    """Sampling temperature, a number; usually temperature or request.temperature."""
    seed: str | None = None
    """Sampling seed, a whole number; usually seed or request.seed."""


@dataclass
class SourceSettings:
    """Where agent logs lie and how they are read."""

    format: str = "openai"
    """Name of the importer: openai | anthropic | tau_bench | agentprocessbench | agentrx | jsonl (our own files) | auto
    (each file is what its first row that is known says)."""
    path: str | None = None
    """A file, or a folder whose .json and .jsonl files (also .gz, .zst) are read recursively in sorted order."""
    tools: str | None = None
    """A JSON file of function schemas, given to the trajectories that bring no tools of their own."""
    on_bad_row: str = "skip"
    """skip (the row goes to quarantine with its reason) | stop (the job ends at the first)."""
    fields: FieldSettings = field(default_factory=FieldSettings)
    """Where a row names things differently, e.g. `source.fields.reference=ground_truth.target`."""
    max_rows: int | None = None
    """Most rows read, > 0; None reads all."""
    quarantine_chars: int = 2000
    """Most characters of a bad row kept in quarantine, > 0."""
