"""Verdicts counted for a report: per verifier how many decided, abstained and why, and the mean value."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rmtrain.verifiers.base import Verdict

KEPT_REASONS = 50
OTHER = "other reasons"


@dataclass
class VerifierCount:
    """One verifier's verdicts.

    Attributes:
        decided: number with a value.
        total: sum of their values.
        abstained: number of abstentions by reason; after KEPT_REASONS different ones, under OTHER.
    """

    decided: int = 0
    total: float = 0.0
    abstained: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """Mean of the values, in [0, 1]; None where nothing was decided."""
        return self.total / self.decided if self.decided else None


class VerdictSummary:
    """Counts verdicts as they pass; it keeps none of them."""

    def __init__(self) -> None:
        self.trajectories = 0
        self.verifiers: dict[str, VerifierCount] = {}
        self._calls: Counter[str] = Counter()

    def add(self, verdicts: Iterable[Verdict]) -> None:
        """Count the verdicts on one trajectory."""
        self.trajectories += 1
        calls: set[tuple[int, int]] = set()
        for verdict in verdicts:
            count = self.verifiers.setdefault(verdict.verifier, VerifierCount())
            if verdict.value is None:
                because = verdict.abstained_because or ""
                is_new = because not in count.abstained and len(count.abstained) >= KEPT_REASONS
                count.abstained[OTHER if is_new else because] += 1
            else:
                count.decided += 1
                count.total += verdict.value
            if verdict.step_index is not None and verdict.call_index is not None:
                calls.add((verdict.step_index, verdict.call_index))
                if verdict.value is not None:
                    self._calls[f"{verdict.verifier}={verdict.value:g}"] += 1
        self._calls["calls"] += len(calls)

    @property
    def n_calls(self) -> int:
        """Calls that some rule judged or abstained on."""
        return self._calls["calls"]

    @property
    def totals(self) -> dict[str, int | None]:
        """Of the calls: known tools, schema-valid arguments, exact repeats and error results.

        None where the rule that tells did not judge.
        """
        told = {
            "known_tools": ("known_tool", 1),
            "schema_valid": ("valid_arguments", 1),
            "exact_repeats": ("not_repeated", 0),
            "error_results": ("no_error", 0),
            "achieved_nothing": ("achieved_something", 0),
        }
        return {
            total: self._calls[f"{rule}={value}"] if rule in self.verifiers else None
            for total, (rule, value) in told.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """The summary as JSON; a mean of nothing is None."""
        return {
            "trajectories": self.trajectories,
            "totals": {"calls": self.n_calls, **self.totals},
            "verifiers": {
                name: {
                    "decided": count.decided,
                    "mean": count.mean,
                    "abstained": sum(count.abstained.values()),
                    "abstained_because": dict(count.abstained.most_common()),
                }
                for name, count in self.verifiers.items()
            },
        }
