"""Runs of AgentProcessBench: five samples a query, with a person's label on every assistant message.

A row's labels are kept under `extra`, where no text for annotators or models is made from; as annotations they
come in by `rmtrain.labels.importers`. The task is the question; the instruction around it is context of step 0.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Converted, Raw
from rmtrain.trajectories.importers.chat import read_chat
from rmtrain.trajectories.importers.functions import read_tools
from rmtrain.trajectories.importers.rows import read_rows
from rmtrain.trajectories.importers.strict_json import kind_of
from rmtrain.trajectories.schema import Reference, Source, Task, make_trajectory

_USED = ("messages", "tools", "question", "answer_text", "ground_truth")


class AgentProcessBench:
    """Importer of the benchmark's files of trajectories."""

    name = "agentprocessbench"

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        return read_rows(path, file)

    def signs(self, payload: Any) -> str | None:
        known = {"messages", "step_labels", "query_index", "sample_index"}
        return (
            "'messages', 'step_labels', 'query_index' and 'sample_index'"
            if isinstance(payload, dict) and known <= payload.keys()
            else None
        )

    def convert(self, raw: Raw) -> Converted:
        row = raw.payload
        if self.signs(row) is None:
            raise DataError("it is not a run of AgentProcessBench: it lacks messages, step_labels or its indices")
        for key, kind, expected in (
            ("messages", list, "a list"),
            ("step_labels", dict, "an object of labels by message index"),
            ("query_index", int, "a whole number"),
            ("sample_index", int, "a whole number"),
        ):
            if not isinstance(row[key], kind) or isinstance(row[key], bool):
                raise DataError(f"its {key} is {kind_of(row[key])}. Expected {expected}")
        question, answer, source = row.get("question"), row.get("answer_text"), row.get("data_source")
        chat = read_chat(row["messages"], question if isinstance(question, str) else None)
        tools, tool_extra = read_tools(row.get("tools") or [])
        domain = source if isinstance(source, str) else "agentprocessbench"
        used = [key for key in _USED if key not in ("question", "answer_text") or isinstance(row.get(key), str)]
        extra = {key: value for key, value in row.items() if key not in used} | chat.extra
        trajectory = make_trajectory(
            task=Task(
                task_id=f"{domain}:{row['query_index']}",
                query=chat.query,
                family=domain,
                context=chat.context,
                tools=tools,
                reference=_reference(row.get("ground_truth")),
            ),
            steps=chat.steps,
            answer=answer if isinstance(answer, str) else chat.answer,
            source=Source(format=self.name, file=raw.file, line=raw.line, row=raw.row, trial=row["sample_index"]),
            extra=extra | ({"tools": tool_extra} if tool_extra else {}),
        )
        return Converted(trajectory, chat.placed)


def _reference(truth: Any) -> Reference | None:
    """The right answers, ``{"target": [text, …]}``.

    Raises:
        DataError: it is something else.
    """
    if truth is None:
        return None
    answers = truth.get("target") if isinstance(truth, dict) else None
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise DataError(f"its ground_truth is {kind_of(truth)}. Expected an object with 'target', a list of texts")
    return Reference(answers=tuple(answers)) if answers else None
