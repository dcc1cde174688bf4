"""Runs of tau-bench: several trials a task, the environment's reward and the right actions.

The task is named ``<domain>-<id>``, since ids repeat across domains. Its query is what the simulated user said
first; the instruction the user was given is kept under `extra` only, because the agent never saw it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rmtrain.disk import kind_at
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Converted, Raw
from rmtrain.trajectories.importers.chat import read_chat
from rmtrain.trajectories.importers.functions import read_tools
from rmtrain.trajectories.importers.rows import read_rows
from rmtrain.trajectories.schema import Call, Outcome, Reference, Source, Task, Tool, make_trajectory

_SUFFIX = "_tools.json"


class TauBench:
    """Importer of tau-bench's ``historical_trajectories``."""

    name = "tau_bench"
    file_names_policy = True
    expected = "an object with 'task_id' and 'traj'"

    def __init__(self) -> None:
        self.schemas: dict[str, tuple[Tool, ...]] = {}
        self.folder = ""

    def read(self, path: Path, file: str) -> Iterator[Raw]:
        self.schemas = _schemas(path.parent)
        self.folder = path.resolve().parent.name
        return read_rows(path, file)

    def signs(self, payload: Any) -> str | None:
        return "'task_id' and 'traj'" if isinstance(payload, dict) and {"traj", "task_id"} <= payload.keys() else None

    def convert(self, raw: Raw) -> Converted:
        row = raw.payload
        if self.signs(row) is None:
            raise DataError(f"it is not a run of {self.name}: {self.expected}")
        number, reward, trial, messages = (row.get(key) for key in ("task_id", "reward", "trial", "traj"))
        if not isinstance(messages, list):
            raise DataError("its 'traj' is no list of messages")
        if not isinstance(number, int) or isinstance(number, bool):
            raise DataError(f"its task_id is {number!r}. Expected a whole number")
        if reward is not None and (
            not isinstance(reward, (int, float)) or isinstance(reward, bool) or abs(reward) > 1e308
        ):
            raise DataError(f"its reward is {reward!r}. Expected a number")
        if trial is not None and (not isinstance(trial, int) or isinstance(trial, bool)):
            raise DataError(f"its trial is {trial!r}. Expected a whole number")
        chat = read_chat(messages, is_error=lambda content: content.startswith("Error"))
        info = row.get("info")
        task = info.get("task") if isinstance(info, dict) else None
        reference = _reference(task) if isinstance(task, dict) else None
        domain = self._domain(raw.file, {call.name for step in chat.steps for call in step.calls})
        stem = Path(raw.file).name.split(".json")[0]
        trajectory = make_trajectory(
            task=Task(
                task_id=f"{domain or 'tau'}-{number}",
                query=chat.query,
                family=domain,
                context=chat.context,
                tools=self.schemas.get(domain or "", ()),
                reference=reference,
            ),
            steps=chat.steps,
            answer=chat.answer,
            outcome=Outcome(reward=reward),
            source=Source(
                format=self.name,
                file=raw.file,
                line=raw.line,
                row=raw.row,
                trial=trial,
                policy=stem.removesuffix(f"-{domain}") if domain and self.file_names_policy else None,
            ),
            extra={
                **{key: row[key] for key in row if key not in ("task_id", "reward", "trial", "traj")},
                **chat.extra,
            },
        )
        return Converted(trajectory, chat.placed)

    def _domain(self, file: str, called: set[str]) -> str | None:
        """The domain that the file or its folder is named after, or else the one whose tools were called."""
        for name in (Path(file).name.split(".json")[0], self.folder):
            for domain in (*self.schemas, "airline", "retail"):
                if domain in name:
                    return domain
        fits = [domain for domain, tools in self.schemas.items() if called and called <= {tool.name for tool in tools}]
        return fits[0] if len(fits) == 1 else None


def _schemas(folder: Path) -> dict[str, tuple[Tool, ...]]:
    """Tools by domain, from ``schemas/<domain>_tools.json`` beside the runs; none where there is no such folder.

    Raises:
        DataError: a file there is damaged.
    """
    found = {}
    for path in sorted((folder / "schemas").glob(f"*{_SUFFIX}")):
        try:
            if (kind := kind_at(path)) != "file":
                raise DataError(f"it is a {kind}" if kind else "it is a link to nothing")
            found[path.name.removesuffix(_SUFFIX)] = read_tools(path.read_text("utf-8"))[0]
        except (OSError, ValueError, RecursionError, DataError) as error:
            raise DataError(f"{path}: not a list of tool schemas ({error}). Mend it or move it away") from error
    return found


def _reference(task: dict[str, Any]) -> Reference | None:
    actions, outputs = task.get("actions") or [], task.get("outputs") or []
    if not isinstance(actions, list) or not isinstance(outputs, list):
        raise DataError("its info.task has actions or outputs that are no list")
    calls = []
    for action in actions:
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            raise DataError("its info.task.actions has an action without a name")
        arguments = action.get("kwargs")
        if not isinstance(arguments, dict):
            raise DataError(f"its reference action '{action['name']}' has no kwargs object")
        calls.append(Call(name=action["name"], arguments=arguments))
    if not calls and not outputs:
        return None
    return Reference(answers=tuple(str(output) for output in outputs), actions=tuple(calls))
