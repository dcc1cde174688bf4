"""Tool efficiency of a trajectory, from the facts of its calls.

The mean of the parts present (selection accuracy, argument validity, 1 - waste ratio) minus
min(limit, rate x steps beyond the expected number), floor 0.

- *Selection*: a call's tool is right at its point while a gold action of that tool is still to be done.
  Trying other arguments does not use a gold action up (that is waste and length, not selection); doing it
  does. Order is free. A reference whose actions hold no read speaks of writes only, so reads are left out.
- *Validity*: over calls whose arguments could be checked; a call to an undeclared tool satisfies no schema.
- *Waste*: repeats and calls known to have achieved nothing (errors too), over all calls. A call of which
  that is unknown is not counted as waste.
- *Length* compares like with like: all steps with the task's own number of steps, else calls with `gold_factor`
  x gold actions (which are calls), else steps with calls with their median over the task's successes (talk
  with a user is no tool use), else there is no penalty and the evidence says so.

Without a call the value is 1 if the trajectory succeeded (so none was needed), 0 if the reference or a
subgoal names calls, else unknown.
"""

from collections.abc import Sequence
from typing import Any

from rmtrain.config.verifiers import EfficiencySettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.schema import Trajectory
from rmtrain.verifiers.base import Verdict, abstained, decided
from rmtrain.verifiers.outcome.actions import gold_actions
from rmtrain.verifiers.tools.calls import CallFacts, CallReader, same_call

DIMENSION = "tool_efficiency"


class ToolEfficiency:
    """The dimension's verdict.

    Args:
        reader: of the calls' facts.
        settings: shares and bounds.

    Raises:
        ConfigError: if a setting is out of its range.
    """

    name = "tool_efficiency"
    version = 1

    def __init__(self, reader: CallReader, settings: EfficiencySettings | None = None) -> None:
        self._reader = reader
        self.settings = settings or EfficiencySettings()
        _check(self.settings)

    def verify(
        self, trajectory: Trajectory, *, correctness: float | None = None, median_steps: float | None = None
    ) -> list[Verdict]:
        """One verdict on the trajectory.

        Args:
            trajectory: the episode.
            correctness: its correctness in [0, 1], None if unknown.
            median_steps: median number of steps with calls over the task's successes, None if unknown.

        Raises:
            DataError: if a gold action has no arguments object.
        """
        facts = self._reader.facts(trajectory)
        gold = gold_actions(trajectory)
        if not facts:
            return [self._without_calls(trajectory, correctness)]
        evidence: dict[str, Any] = {"calls": len(facts)}
        selection, evidence["selection"] = self._selection(trajectory, facts)
        validity, evidence["validity"] = _validity(facts)
        waste, evidence["waste"] = _waste(facts)
        penalty, evidence["length"] = self._length(trajectory, len(gold), median_steps)
        parts = {"selection": selection, "validity": validity, "waste": waste}
        present = {name: part for name, part in parts.items() if part is not None}
        shares = {name: getattr(self.settings, name) for name in present}
        total = sum(shares.values())
        mean = sum(shares[name] * part for name, part in present.items()) / total
        evidence |= {"parts": present, "mean": mean, "penalty": penalty}
        value = min(1.0, max(0.0, mean - penalty))
        names = {"selection": "selection", "validity": "validity", "waste": "1 - waste"}
        told = ", ".join(f"{names[name]} {part:.2f}" for name, part in present.items())
        reason = f"mean of {told}" + (f", minus {penalty:.2f} for length" if penalty else "")
        return [decided(self, trajectory, value, reason, dimension=DIMENSION, evidence=evidence)]

    def _without_calls(self, trajectory: Trajectory, correctness: float | None) -> Verdict:
        evidence = {"calls": 0}
        if not trajectory.steps:
            because = "nothing was recorded: no steps"
            return abstained(self, trajectory, because, dimension=DIMENSION, evidence=evidence)
        if correctness is not None and correctness >= self.settings.success:
            reason = "no call was made and the trajectory succeeded, so none was needed"
            return decided(self, trajectory, 1.0, reason, dimension=DIMENSION, evidence=evidence)
        if gold_actions(trajectory):
            reason = "no call was made, but the reference has actions"
            return decided(self, trajectory, 0.0, reason, dimension=DIMENSION, evidence=evidence)
        if any(subgoal.kind == "called" for subgoal in trajectory.task.subgoals):
            reason = "no call was made, but a subgoal asks for one"
            return decided(self, trajectory, 0.0, reason, dimension=DIMENSION, evidence=evidence)
        because = "no call was made, and whether one was needed is unknown"
        return abstained(self, trajectory, because, dimension=DIMENSION, evidence=evidence)

    def _selection(self, trajectory: Trajectory, facts: Sequence[CallFacts]) -> tuple[float | None, dict[str, Any]]:
        remaining = list(gold_actions(trajectory))
        if not remaining:
            return None, {"left_out": "the reference has no actions"}
        skips_reads = not any(self._reader.kind(action.name) == "read" for action in remaining)
        judged = right = 0
        for fact in facts:
            if skips_reads and fact.kind == "read":
                continue
            judged += 1
            right += any(fact.call.name == action.name for action in remaining)
            done = next((action for action in remaining if same_call(fact.call, action)), None)
            if done is not None and not fact.has_failed:
                remaining.remove(done)
        if not judged:
            return None, {"left_out": "the reference speaks of writes only, and all calls are reads"}
        return right / judged, {"right": right, "judged": judged, "reads_left_out": len(facts) - judged}

    def _length(self, trajectory: Trajectory, n_gold: int, median_steps: float | None) -> tuple[float, dict[str, Any]]:
        expected: float
        if trajectory.task.expected_steps is not None:
            counted, length, expected, source = "steps", len(trajectory.steps), trajectory.task.expected_steps, "task"
        elif n_gold:
            counted, length = "calls", sum(len(step.calls) for step in trajectory.steps)
            expected, source = self.settings.gold_factor * n_gold, "gold actions"
        elif median_steps is not None:
            counted, length = "steps with calls", steps_with_calls(trajectory)
            expected, source = median_steps, "median of the task's successes"
        else:
            return 0.0, {"left_out": "the expected number of steps is unknown"}
        beyond = max(0.0, length - expected)
        penalty = min(self.settings.penalty_limit, self.settings.penalty_per_step * beyond)
        return penalty, {
            "counted": counted,
            "length": length,
            "expected": expected,
            "expected_from": source,
            "beyond": beyond,
        }


def steps_with_calls(trajectory: Trajectory) -> int:
    """Number of steps that hold at least one call."""
    return sum(bool(step.calls) for step in trajectory.steps)


def _validity(facts: Sequence[CallFacts]) -> tuple[float | None, dict[str, Any]]:
    undeclared = sum(fact.known_tool.holds is False for fact in facts)
    checked = [fact.valid_arguments.holds for fact in facts if fact.valid_arguments.holds is not None]
    judged = len(checked) + undeclared
    if not judged:
        return None, {"left_out": "no arguments could be checked"}
    evidence = {"valid": sum(checked), "judged": judged, "undeclared": undeclared, "unknown": len(facts) - judged}
    return sum(checked) / judged, evidence


def _waste(facts: Sequence[CallFacts]) -> tuple[float, dict[str, Any]]:
    wasted = sum(fact.not_repeated.holds is False or fact.achieved_something.holds is False for fact in facts)
    evidence = {
        "wasted": wasted,
        "repeats": sum(fact.not_repeated.holds is False for fact in facts),
        "errors": sum(fact.has_failed for fact in facts),
        "no_ops": sum(fact.achieved_something.holds is False and not fact.has_failed for fact in facts),
        "unknown": sum(fact.achieved_something.holds is None for fact in facts),
    }
    return 1 - wasted / len(facts), evidence


def _check(settings: EfficiencySettings) -> None:
    ranges = {
        "selection": (settings.selection >= 0, "at least 0"),
        "validity": (settings.validity >= 0, "at least 0"),
        "waste": (settings.waste > 0, "more than 0"),
        "penalty_per_step": (0 <= settings.penalty_per_step <= 1, "in [0, 1]"),
        "penalty_limit": (0 <= settings.penalty_limit <= 1, "in [0, 1]"),
        "gold_factor": (settings.gold_factor > 0, "more than 0"),
        "success": (0 < settings.success <= 1, "in (0, 1]"),
    }
    for name, (is_right, allowed) in ranges.items():
        if not is_right:
            raise ConfigError(f"verifiers.efficiency.{name} is {getattr(settings, name)}; it must be {allowed}")
