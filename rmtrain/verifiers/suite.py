"""The verify stage: every rule on every trajectory, then one verdict for correctness and one for tool_efficiency.

Correctness is the value of the first rule, in the configured order, that decides. A rule that raises
becomes an abstention that names the exception: a broken rule must neither stop a corpus nor score 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rmtrain.config.verifiers import VerifierSettings
from rmtrain.disk import kind_at
from rmtrain.errors import ConfigError, DataError, unknown
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read
from rmtrain.verifiers.base import Verdict, Verifier, abstained, decided
from rmtrain.verifiers.json_values import shorten
from rmtrain.verifiers.outcome.actions import FinalState, GoldActions
from rmtrain.verifiers.outcome.match import AnswerMatch, exact_match, holds_answer, token_f1
from rmtrain.verifiers.outcome.reward import SourceReward
from rmtrain.verifiers.outcome.subgoals import Subgoals
from rmtrain.verifiers.tools.calls import CALL_RULES, CallReader, CallRule
from rmtrain.verifiers.tools.efficiency import DIMENSION, ToolEfficiency, steps_with_calls

RuleFactory = Callable[[CallReader], Verifier]

RULES: dict[str, RuleFactory] = {
    **{name: partial(CallRule, name) for name in CALL_RULES},
    "subgoals": Subgoals,
    "subgoals_with_prerequisites": lambda reader: Subgoals(reader, with_prerequisites=True),
    "source_reward": lambda reader: SourceReward(),
    "final_state": lambda reader: FinalState(),
    "gold_actions": GoldActions,
    "exact_match": lambda reader: AnswerMatch("exact_match", exact_match),
    "holds_answer": lambda reader: AnswerMatch("holds_answer", holds_answer),
    "token_f1": lambda reader: AnswerMatch("token_f1", token_f1),
}
"""Every rule by name; add to it to plug in another."""


class VerifierSuite:
    """The configured rules.

    Args:
        settings: which rules run, which decide correctness, and how calls are read.

    Raises:
        ConfigError: if a name is unknown or doubled, `correctness` names a rule that does not run, or a
            number is out of its range.
    """

    name = "correctness"
    version = 1

    def __init__(self, settings: VerifierSettings | None = None) -> None:
        self.settings = settings or VerifierSettings()
        for section in ("rules", "correctness"):
            names: list[str] = getattr(self.settings, section)
            for position, name in enumerate(names):
                if name not in RULES:
                    raise ConfigError(f"verifiers.{section}: {unknown('rule', name, RULES)}")
                if name in names[:position]:
                    raise ConfigError(f"verifiers.{section} names '{name}' twice; keep it once")
        for name in self.settings.correctness:
            if name not in self.settings.rules:
                raise ConfigError(
                    f"verifiers.correctness names '{name}', which does not run; add it to verifiers.rules"
                )
        self._reader = CallReader(self.settings.calls)
        self._rules = {name: RULES[name](self._reader) for name in self.settings.rules}
        self._efficiency = ToolEfficiency(self._reader, self.settings.efficiency)

    def verify(self, trajectory: Trajectory, *, median_steps: float | None = None) -> list[Verdict]:
        """All verdicts on `trajectory`: of each rule, then one for correctness and one for tool_efficiency.

        Args:
            trajectory: the episode; it is not changed.
            median_steps: median number of steps with calls over the task's successes, None if unknown.
        """
        by_rule = {name: _guarded(rule, trajectory) for name, rule in self._rules.items()}
        correctness = self._correctness(trajectory, by_rule)
        efficiency = _guarded(
            self._efficiency,
            trajectory,
            dimension=DIMENSION,
            correctness=correctness.value,
            median_steps=median_steps,
        )
        return [*(verdict for verdicts in by_rule.values() for verdict in verdicts), correctness, *efficiency]

    def verify_corpus(
        self, trajectories: Path | Iterable[Trajectory], *, median_steps: Mapping[str, float] | None = None
    ) -> Iterator[list[Verdict]]:
        """The verdicts on each trajectory, one trajectory in memory at a time.

        Args:
            trajectories: a trajectory file, or trajectories. They are read twice unless `median_steps` is
                given, so neither an iterator nor a pipe will do.
            median_steps: as `median_steps()` returns it; None computes it in a pass of its own.

        Raises:
            TypeError: if an iterator would have to be read twice.
            DataError: if the file cannot be read, or would have to be read twice and is a pipe.
        """
        if median_steps is None:
            if isinstance(trajectories, Iterator):
                raise TypeError("verify_corpus reads its trajectories twice; give it a file or a collection")
            if isinstance(trajectories, Path) and (kind := kind_at(trajectories)) not in ("file", None):
                raise DataError(
                    f"{trajectories}: is a {kind}, but trajectories are read twice to be judged. "
                    "Save them to a file and give that"
                )
            median_steps = self.median_steps(_read(trajectories))
        medians = median_steps
        return (self.verify(each, median_steps=medians.get(each.task.task_id)) for each in _read(trajectories))

    def median_steps(self, trajectories: Iterable[Trajectory]) -> dict[str, float]:
        """Median number of steps with calls over the successes of each task that names no number itself."""
        counts: dict[str, Counter[int]] = {}
        for trajectory in trajectories:
            task = trajectory.task
            if task.expected_steps is not None or (task.reference and task.reference.actions):
                continue
            by_rule = {name: _guarded(self._rules[name], trajectory) for name in self.settings.correctness}
            value = self._correctness(trajectory, by_rule).value
            if value is not None and value >= self.settings.efficiency.success:
                counts.setdefault(task.task_id, Counter())[steps_with_calls(trajectory)] += 1
        return {task_id: _median(count) for task_id, count in counts.items()}

    def _correctness(self, trajectory: Trajectory, by_rule: Mapping[str, list[Verdict]]) -> Verdict:
        passed: dict[str, str] = {}
        for name in self.settings.correctness:
            whole = [verdict for verdict in by_rule[name] if verdict.step_index is None]
            for verdict in whole:
                if verdict.value is not None:
                    evidence = {"decided_by": name, "abstained": passed, **verdict.evidence}
                    return decided(
                        self, trajectory, verdict.value, verdict.reason, dimension="correctness", evidence=evidence
                    )
            passed[name] = next((v.abstained_because or "" for v in whole), "it gave no verdict on the trajectory")
        because = "no rule could decide"
        return abstained(self, trajectory, because, dimension="correctness", evidence={"abstained": passed})


def _read(trajectories: Path | Iterable[Trajectory]) -> Iterable[Trajectory]:
    return read(trajectories, Trajectory) if isinstance(trajectories, Path) else trajectories


def _guarded(rule: Any, trajectory: Trajectory, *, dimension: str | None = None, **known: Any) -> list[Verdict]:
    try:
        verdicts = list(rule.verify(trajectory, **known))
        for verdict in verdicts:
            if not isinstance(verdict, Verdict):
                raise TypeError(f"verifier '{rule.name}' returned a {type(verdict).__name__}, not a Verdict")
    except Exception as error:  # the plug-in boundary: a rule may raise anything
        because = shorten(f"raised {type(error).__name__}: {error}", 300)
        return [abstained(rule, trajectory, because, dimension=dimension)]
    return verdicts


def _median(counts: Counter[int]) -> float:
    ordered = sorted(counts.items())
    total = sum(counts.values())

    def at(rank: int) -> int:
        for value, count in ordered:
            rank -= count
            if rank < 0:
                return value
        raise IndexError(rank)

    return (at((total - 1) // 2) + at(total // 2)) / 2
