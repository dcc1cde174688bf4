"""The world to act in: `reset`, `step(call)` gives an observation, `outcome(answer)` says how it went."""

import copy
from dataclasses import dataclass
from random import Random
from typing import Any

import jsonschema

from rmtrain.trajectories.schema import Call, Observation, Outcome, Tool
from rmtrain.world.tasks import Record, WorldTask


def _tool(name: str, description: str, /, **parameters: str) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {key: {"type": "string", "description": text} for key, text in parameters.items()},
            "required": list(parameters),
            "additionalProperties": False,
        },
    )


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool("find", "The key of a named entry.", table="table to search", name="display name"),
        _tool("get_record", "All fields of one entry.", table="table to read", key="key of the entry"),
        _tool("calculate", "The value of an arithmetic expression.", expression="sums and products of numbers"),
        _tool("consult", "What a source says about an entry.", source="source to ask", key="key of the entry"),
        _tool("get_status", "Whether a source is final or a draft.", source="source to ask about"),
        _tool("reserve", "Book a room.", room="key of the room", slot="time", group="who it is for"),
        _tool("list_bookings", "What is booked for a room.", room="key of the room"),
        _tool("send_message", "Send a text to a person.", to="name of the person", text="what to say"),
    )
}


WRITES = ("reserve", "send_message")


@dataclass(frozen=True)
class Result:
    """What a call did: the observation an agent sees, and its fields for a policy that reads it."""

    observation: Observation
    fields: Record


class Environment:
    """One episode of one task. Deterministic: equal calls give equal observations.

    Args:
        world_task: the task; its own state is never changed.
        seed: chooses the wording of errors and of empty results.
    """

    def __init__(self, world_task: WorldTask, seed: int = 0) -> None:
        self.world_task = world_task
        self.seed = seed
        self.reset()

    def reset(self) -> str:
        """Start over.

        Returns:
            The query.
        """
        self._bookings: dict[str, dict[str, str]] = {}
        self._messages: list[dict[str, str]] = []
        self._slips = dict(self.world_task.world.slips)
        self.n_calls = 0
        return self.world_task.task.query

    @property
    def is_over(self) -> bool:
        """Whether the most calls an episode may have are spent."""
        return self.n_calls >= self.world_task.max_steps

    def step(self, call: Call) -> Observation:
        """Carry out one call; a call that can't be carried out gives an observation with `is_error` set."""
        return self.act(call).observation

    def outcome(self, answer: str | None = None) -> Outcome:
        """The final state; `answer` is recorded in it."""
        return Outcome(final_state=self.state() | ({} if answer is None else {"answer": answer}))

    def state(self) -> dict[str, Any]:
        """What the agent may have changed: bookings and messages."""
        return {"bookings": copy.deepcopy(self._bookings), "messages": copy.deepcopy(self._messages)}

    def act(self, call: Call) -> Result:
        """`step`, with the observation's fields beside its text."""
        rng = Random(f"{self.seed}/{call.name}/{sorted((call.arguments or {}).items(), key=str)}")
        if self.is_over:
            return self._refuse(call, "episode", rng)
        self.n_calls += 1
        tool = next((tool for tool in self.world_task.task.tools if tool.name == call.name), None)
        if tool is None:
            return self._refuse(call, call.name, rng)
        problem = next(jsonschema.Draft202012Validator(tool.parameters).iter_errors(call.arguments), None)
        if problem is not None or call.arguments is None:
            missing = [name for name in tool.parameters["required"] if name not in (call.arguments or {})]
            where = str(problem.path[0]) if problem and problem.path else (missing or ["arguments"])[0]
            return self._refuse(call, where, rng)
        result: Result = getattr(self, f"_{call.name}")(rng, **call.arguments)
        observation = result.observation.model_copy(update={"call_id": call.call_id})
        return Result(observation, result.fields)

    def _refuse(self, call: Call, argument: str, rng: Random) -> Result:
        text = self.world_task.vocabulary.say(rng, "error", argument=argument)
        return Result(Observation(call_id=call.call_id, content=text, is_error=True), {})

    def _say(self, fields: Record) -> Result:
        text = "; ".join(f"{name}: {value}" for name, value in fields.items())
        return Result(Observation(content=text, is_error=False), fields)

    def _absent(self, rng: Random, key: str) -> Result:
        text = self.world_task.vocabulary.say(rng, "absent", key=key)
        return Result(Observation(content=text, is_error=False), {})

    def _find(self, rng: Random, table: str, name: str) -> Result:
        key = self.world_task.world.names.get(table, {}).get(name)
        return self._absent(rng, name) if key is None else self._say({"key": key})

    def _get_record(self, rng: Random, table: str, key: str) -> Result:
        record = self.world_task.world.tables.get(table, {}).get(key)
        return self._absent(rng, key) if record is None else self._say(dict(record))

    def _calculate(self, rng: Random, expression: str) -> Result:
        value = evaluate(expression)
        return self._absent(rng, expression) if value is None else self._say({"result": str(value)})

    def _consult(self, rng: Random, source: str, key: str) -> Result:
        entry = self.world_task.world.sources.get(source, {}).get(key)
        return self._absent(rng, key) if entry is None else self._say({entry[0]: entry[1]})

    def _get_status(self, rng: Random, source: str) -> Result:
        status = self.world_task.world.status.get(source)
        return self._absent(rng, source) if status is None else self._say({"status": status})

    def _reserve(self, rng: Random, room: str, slot: str, group: str) -> Result:
        if room not in self.world_task.world.tables.get("rooms", {}):
            return self._absent(rng, room)
        landed = self._slips.pop(room, slot)
        for slots in self._bookings.values():
            for held in [held for held, who in slots.items() if who == group]:
                del slots[held]
        self._bookings.setdefault(room, {})[landed] = group
        self._bookings = {name: slots for name, slots in self._bookings.items() if slots}
        return self._say({"request": "accepted"})

    def _list_bookings(self, rng: Random, room: str) -> Result:
        slots = self._bookings.get(room)
        if not slots:
            return self._absent(rng, room)
        slot, group = next(iter(sorted(slots.items())))
        return self._say({"slot": slot, "group": group})

    def _send_message(self, rng: Random, to: str, text: str) -> Result:
        self._messages.append({"to": to, "text": text})
        return self._say({"message": "sent"})


def evaluate(expression: str) -> int | None:
    """The value of sums and products of natural numbers, e.g. ``3 * 37 + 2 * 52``; None if it is anything else."""
    if len(expression) > 200:
        return None
    total = 0
    for term in expression.split("+"):
        product = 1
        for factor in term.split("*"):
            if not factor.strip().isdecimal() or len(factor.strip()) > 9:
                return None
            product *= int(factor)
        total += product
    return total
