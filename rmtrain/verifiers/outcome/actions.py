"""Correctness by what was done: the final state against the reference's, or the gold actions among the calls.

A gold action is done when a call has its name and exactly its arguments (nothing missing, nothing
extra, numbers as numbers) and is not known to have failed; logs that record no results are still judged.
Each call does at most one gold action, so an action listed twice must be done twice. Order is free.
"""

from collections.abc import Iterable, Sequence

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Call, Trajectory
from rmtrain.verifiers.base import Verdict, abstained, decided
from rmtrain.verifiers.json_values import differing_paths, shorten
from rmtrain.verifiers.tools.calls import CallReader, same_call

SHOWN_PATHS = 20


class FinalState:
    """1 if the final state equals the reference's, else 0; the differing paths are the evidence."""

    name = "final_state"
    version = 1

    def verify(self, trajectory: Trajectory) -> list[Verdict]:
        """One verdict on the trajectory."""
        reference = trajectory.task.reference
        if reference is None or reference.final_state is None:
            return [abstained(self, trajectory, "the reference has no final state")]
        if trajectory.outcome.final_state is None:
            return [abstained(self, trajectory, "the final state is not recorded")]
        paths = list(differing_paths(reference.final_state, trajectory.outcome.final_state))
        if not paths:
            return [decided(self, trajectory, 1.0, "the final state equals the reference")]
        evidence = {"differing": len(paths), "paths": [shorten(path) for path in paths[:SHOWN_PATHS]]}
        reason = f"the final state differs from the reference at {len(paths)} path{'s' if len(paths) > 1 else ''}"
        return [decided(self, trajectory, 0.0, reason, evidence=evidence)]


class GoldActions:
    """Share of gold actions done.

    Args:
        reader: of the calls' results.
    """

    name = "gold_actions"
    version = 1

    def __init__(self, reader: CallReader) -> None:
        self._reader = reader

    def verify(self, trajectory: Trajectory) -> list[Verdict]:
        """One verdict on the trajectory.

        Raises:
            DataError: if a gold action has no arguments object.
        """
        gold = gold_actions(trajectory)
        if not gold:
            return [abstained(self, trajectory, "the reference has no actions")]
        if not trajectory.steps:
            return [abstained(self, trajectory, "nothing was recorded: no steps")]
        calls = [facts.call for facts in self._reader.facts(trajectory) if not facts.has_failed]
        missing = undone(gold, calls)
        done = len(gold) - len(missing)
        evidence = {
            "done": done,
            "gold": len(gold),
            "missing": [shorten(action.name) for action in missing],
            "other_calls": len(calls) - done,
        }
        return [
            decided(self, trajectory, done / len(gold), f"{done} of {len(gold)} gold actions done", evidence=evidence)
        ]


def gold_actions(trajectory: Trajectory) -> tuple[Call, ...]:
    """The reference's actions, empty where it has none.

    Raises:
        DataError: if one has no arguments object.
    """
    reference = trajectory.task.reference
    actions = reference.actions if reference else ()
    for position, action in enumerate(actions):
        if action.arguments is None:
            raise DataError(
                f"task '{trajectory.task.task_id}': gold action {position} ('{action.name}') has no arguments "
                "object; write {} where the tool takes none"
            )
    return actions


def undone(gold: Sequence[Call], calls: Iterable[Call]) -> list[Call]:
    """The gold actions that no call did; each call does at most one."""
    missing = list(gold)
    for call in calls:
        for position, action in enumerate(missing):
            if same_call(call, action):
                del missing[position]
                break
    return missing
