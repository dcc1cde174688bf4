"""Correctness by subgoals: m of N requirements met, in two readings.

Plainly, each met requirement counts. With prerequisites, it counts only if all it requires, directly
or through others, are met too. One undecidable requirement makes the share unknown, so the rule abstains
and names it. A trajectory is a whole episode: where steps are recorded and no answer is, the agent gave
none, and a requirement on the answer is not met.
"""

from collections.abc import Mapping
from typing import Any

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Subgoal, Trajectory
from rmtrain.verifiers.base import Verdict, abstained, decided
from rmtrain.verifiers.json_values import ABSENT, lookup, preview, same_json, shorten
from rmtrain.verifiers.outcome.tokens import contains
from rmtrain.verifiers.tools.calls import CallReader, Fact


class Subgoals:
    """Share of subgoals met.

    Args:
        reader: of the calls' results.
        with_prerequisites: count a subgoal only if all it requires are met.
    """

    version = 1

    def __init__(self, reader: CallReader, *, with_prerequisites: bool = False) -> None:
        self.name = "subgoals_with_prerequisites" if with_prerequisites else "subgoals"
        self._reader = reader
        self._with_prerequisites = with_prerequisites

    def verify(self, trajectory: Trajectory) -> list[Verdict]:
        """One verdict on the trajectory.

        Raises:
            DataError: if a subgoal is malformed, or its requirements are unknown or run in a circle.
        """
        subgoals = trajectory.task.subgoals
        if not subgoals:
            return [abstained(self, trajectory, "the task has no subgoals")]
        closure = prerequisites(trajectory.task.task_id, subgoals)
        if not trajectory.steps and trajectory.answer is None:
            return [abstained(self, trajectory, "nothing was recorded: no steps and no answer")]
        facts = {subgoal.subgoal_id: self._check(trajectory, subgoal) for subgoal in subgoals}
        details = {name: {"met": fact.holds, "because": fact.reason} for name, fact in facts.items()}
        unknown = [name for name, fact in facts.items() if fact.holds is None]
        if unknown:
            because = f"subgoal '{shorten(unknown[0], 80)}' cannot be decided: {facts[unknown[0]].reason}"
            return [abstained(self, trajectory, because, evidence={"subgoals": details, "undecided": unknown})]
        met = {name for name, fact in facts.items() if fact.holds}
        counted = {name for name in met if not self._with_prerequisites or closure[name] <= met}
        evidence: dict[str, Any] = {"subgoals": details, "counted": [name for name in facts if name in counted]}
        reason = f"{len(counted)} of {len(facts)} subgoals are met"
        if self._with_prerequisites:
            lost = [name for name in facts if name in met - counted]
            evidence["met_without_prerequisites"] = lost
            reason += f" with all they require ({len(lost)} more without)" if lost else " with all they require"
        return [decided(self, trajectory, len(counted) / len(facts), reason, evidence=evidence)]

    def _check(self, trajectory: Trajectory, subgoal: Subgoal) -> Fact:
        if subgoal.kind == "answer":
            sought = _sought(trajectory, subgoal)
            if trajectory.answer is None:
                return Fact(False, "the agent gave no answer")
            found = _contains(trajectory, subgoal, trajectory.answer)
            return Fact(found, f"the answer {'contains' if found else 'does not contain'} {sought}")
        if subgoal.kind == "observed":
            return _observed(trajectory, subgoal)
        if subgoal.kind == "state":
            return _state(trajectory, subgoal)
        return self._called(trajectory, subgoal)

    def _called(self, trajectory: Trajectory, subgoal: Subgoal) -> Fact:
        name = _name(trajectory, subgoal)
        wanted = subgoal.arguments or {}
        matching = [
            facts
            for facts in self._reader.facts(trajectory)
            if facts.call.name == name and _includes(facts.call.arguments, wanted)
        ]
        shown = f"'{name}'" + (f" with {preview(wanted, 120)}" if wanted else "")
        for facts in matching:
            if facts.no_error.holds:
                return Fact(True, f"{shown} returned without error in step {facts.step_index}")
        for facts in matching:
            if facts.no_error.holds is None:
                return Fact(None, f"{shown} was called in step {facts.step_index}, but {facts.no_error.reason}")
        return Fact(False, f"{shown} {'returned only errors' if matching else 'was never called'}")


def prerequisites(task_id: str, subgoals: tuple[Subgoal, ...]) -> dict[str, frozenset[str]]:
    """All subgoals each one requires, directly or through others.

    Raises:
        DataError: if two subgoals share an id, one requires an unknown id, or requirements run in a circle.
    """
    direct: dict[str, tuple[str, ...]] = {}
    for subgoal in subgoals:
        if subgoal.subgoal_id in direct:
            raise DataError(f"task '{task_id}': two subgoals have the id '{subgoal.subgoal_id}'; give each its own")
        direct[subgoal.subgoal_id] = subgoal.requires
    for name, required in direct.items():
        for other in required:
            if other not in direct:
                raise DataError(
                    f"task '{task_id}': subgoal '{name}' requires '{other}', which is not a subgoal of the task. "
                    f"Known: {', '.join(sorted(direct))}"
                )
    closure: dict[str, frozenset[str]] = {}
    waiting = dict(direct)
    while waiting:
        ready = [name for name, required in waiting.items() if all(other in closure for other in required)]
        if not ready:
            circle = _circle(waiting)
            raise DataError(f"task '{task_id}': subgoals require each other in a circle: {' -> '.join(circle)}")
        for name in ready:
            required = waiting.pop(name)
            closure[name] = frozenset(required).union(*(closure[other] for other in required))
    return closure


def _circle(waiting: Mapping[str, tuple[str, ...]]) -> list[str]:
    # Every waiting subgoal requires a waiting one, so that following them must come back.
    path = [next(iter(waiting))]
    while True:
        after = next(other for other in waiting[path[-1]] if other in waiting)
        if after in path:
            return [*path[path.index(after) :], after]
        path.append(after)


def _observed(trajectory: Trajectory, subgoal: Subgoal) -> Fact:
    sought = _sought(trajectory, subgoal)
    has_calls = any(step.calls for step in trajectory.steps)
    if has_calls and not any(step.observations for step in trajectory.steps):
        return Fact(None, "no result of any call is recorded")
    for step in trajectory.steps:
        if any(_contains(trajectory, subgoal, observation.content) for observation in step.observations):
            return Fact(True, f"step {step.step_index} observed {sought}")
    return Fact(False, f"no observation contains {sought}")


def _state(trajectory: Trajectory, subgoal: Subgoal) -> Fact:
    name = _name(trajectory, subgoal)
    if trajectory.outcome.final_state is None:
        return Fact(None, "the final state is not recorded")
    found = lookup(trajectory.outcome.final_state, name)
    if found is ABSENT:
        return Fact(False, f"the final state has no '{name}'")
    return Fact(same_json(found, subgoal.value), f"the final state holds {preview(found, 120)} at '{name}'")


def _includes(arguments: dict[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    if arguments is None:
        return False
    return all(key in arguments and same_json(arguments[key], value) for key, value in wanted.items())


def _name(trajectory: Trajectory, subgoal: Subgoal) -> str:
    if not subgoal.name:
        raise DataError(
            f"task '{trajectory.task.task_id}': subgoal '{subgoal.subgoal_id}' of kind '{subgoal.kind}' has no name"
        )
    return subgoal.name


def _sought(trajectory: Trajectory, subgoal: Subgoal) -> str:
    if subgoal.value is None:
        raise DataError(
            f"task '{trajectory.task.task_id}': subgoal '{subgoal.subgoal_id}' of kind '{subgoal.kind}' has no value"
        )
    return preview(subgoal.value, 120)


def _contains(trajectory: Trajectory, subgoal: Subgoal, text: str) -> bool:
    try:
        return contains(text, subgoal.value)
    except ValueError as error:
        raise DataError(f"task '{trajectory.task.task_id}': subgoal '{subgoal.subgoal_id}': {error}") from error
