"""A trajectory as text: one function for training, evaluation and serving.

The text is the task prefix followed by one block per step, and the character span of each is kept,
so that no later stage looks for a separator. Labels such as ``Result:`` stand at the start of a line and the
later lines of what an agent, user or tool said are indented, so that nobody can write a label of ours.
`render_hash` identifies the text's form; a model stores it and refuses a dataset rendered otherwise.
References, outcomes and verdicts are never rendered.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rmtrain.trajectories.schema import Call, Step, Trajectory, call_key, digest

RENDER_VERSION = 3  # raise it with every change of the text; a test pins the text of this version

Span = tuple[int, int]


@dataclass(frozen=True)
class RenderOptions:
    """What the text shows.

    Attributes:
        markers: append facts that need no reference to a step (``[error]`` where the log says that a
            call failed, ``[repeat]`` where an earlier call of the trajectory was identical).
    """

    markers: bool = False


@dataclass(frozen=True)
class Rendered:
    """The text of one trajectory and where its parts lie.

    Attributes:
        text: task prefix and all step blocks, in order.
        prefix_span: characters [start, end) of the task prefix.
        step_spans: characters [start, end) of each step's block, by step index.
    """

    text: str
    prefix_span: Span
    step_spans: tuple[Span, ...]

    @property
    def prefix(self) -> str:
        return self.text[slice(*self.prefix_span)]

    @property
    def blocks(self) -> tuple[str, ...]:
        return tuple(self.text[slice(*span)] for span in self.step_spans)


def render(trajectory: Trajectory, options: RenderOptions = RenderOptions()) -> Rendered:
    """Turn a trajectory into text with one character span per step.

    Args:
        trajectory: the episode; it may have no steps.
        options: what to show.

    Returns:
        The text; spans are contiguous, cover it whole, and there is one per step.
    """
    parts = [_prefix(trajectory)]
    seen: set[str] = set()
    last = len(trajectory.steps) - 1
    for step in trajectory.steps:
        text = _block(step)
        if step.step_index == last and trajectory.answer and not _says(step.thought, trajectory.answer.strip()):
            text += _line("Answer", trajectory.answer) + "\n"
        if options.markers:
            text += _markers(step, seen)
        parts.append(text)
    spans: list[Span] = []
    start = 0
    for part in parts:
        spans.append((start, start + len(part)))
        start += len(part)
    return Rendered(text="".join(parts), prefix_span=spans[0], step_spans=tuple(spans[1:]))


def render_hash(options: RenderOptions = RenderOptions()) -> str:
    """Identity of the text's form: 16 hexadecimal digits over its version and the options."""
    return digest({"version": RENDER_VERSION, **asdict(options)})[:16]


def show_call(call: Call) -> str:
    """A call as read by people and the model, e.g. ``get_record(table=people, key=mira)``."""
    if call.arguments is None:
        return f"{call.name}(unparseable: {call.raw_arguments or ''})"
    shown = ", ".join(f"{key}={_show(value)}" for key, value in call.arguments.items())
    return f"{call.name}({shown})"


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(label: str, text: str) -> str:
    return f"{label}: " + "\n  ".join(text.strip().splitlines())


def _says(thought: str, answer: str) -> bool:
    """Whether the answer stands in the thought as words of its own, so that "4" is not found in "14"."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", thought) is not None


def _prefix(trajectory: Trajectory) -> str:
    task = trajectory.task
    lines = [_line("Task", task.query)]
    if task.tools:
        lines.append("Tools: " + "; ".join(_signature(tool.name, tool.parameters) for tool in task.tools))
    if task.context:
        lines.append(_line("Context", task.context))
    return "\n".join(lines) + "\n"


def _signature(name: str, parameters: dict[str, Any]) -> str:
    properties = parameters.get("properties")
    names: Sequence[str] = list(properties) if isinstance(properties, dict) else []
    return f"{name}({', '.join(names)})"


def _block(step: Step) -> str:
    lines = [_line(message.role.capitalize(), message.content) for message in step.context]
    if step.thought.strip():
        lines.append(_line("Thought", step.thought))
    lines += [_line("Call", show_call(call)) for call in step.calls]
    lines += [_line("Result", observation.content) for observation in step.observations]
    return "\n".join(lines or ["(empty step)"]) + "\n"


def _markers(step: Step, seen: set[str]) -> str:
    marks = []
    for call in step.calls:
        key = call_key(call)
        if key in seen:
            marks.append("[repeat]")
        seen.add(key)
    if any(observation.is_error for observation in step.observations):
        marks.append("[error]")
    return f"Facts: {' '.join(marks)}\n" if marks else ""
