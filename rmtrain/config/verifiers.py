"""Settings of the rules: which run, which decides correctness, and the numbers behind tool efficiency."""

from dataclasses import dataclass, field


@dataclass
class ArgumentSettings:
    """How far the check of arguments against a tool's schema goes before it abstains."""

    pattern_s: float = 1.0
    """Seconds that all regular expressions of a schema may take on one call, > 0."""
    references: int = 10_000
    """Most `$ref` followed for one call, >= 1; a schema that branches through itself needs endlessly many."""
    characters: int = 200_000
    """Longest arguments checked, in characters of their JSON, >= 1."""


@dataclass
class CallSettings:
    """How a call is read."""

    read_prefixes: list[str] = field(
        default_factory=lambda: [
            "calculate",
            "check",
            "compare",
            "compute",
            "consult",
            "count",
            "fetch",
            "find",
            "get",
            "inspect",
            "list",
            "load",
            "look",
            "lookup",
            "query",
            "read",
            "retrieve",
            "search",
            "show",
            "view",
        ]
    )
    """First words of tools that only read, lower case: `get_user`, `getUser` and `bank.get_user` start with get."""
    write_prefixes: list[str] = field(
        default_factory=lambda: [
            "add",
            "append",
            "assign",
            "book",
            "cancel",
            "create",
            "delete",
            "edit",
            "exchange",
            "insert",
            "modify",
            "move",
            "pay",
            "place",
            "post",
            "put",
            "remove",
            "rename",
            "reserve",
            "return",
            "save",
            "send",
            "set",
            "submit",
            "transfer",
            "update",
            "write",
        ]
    )
    """First words of tool names that change the state; a tool in neither list is not checked for no-ops."""
    seen_words: int = 8
    """Words from which on a result counts as seen when an earlier result contains it, >= 1; a shorter one, such as
    `true`, counts as seen only after an identical call, because it answers another question each time."""
    arguments: ArgumentSettings = field(default_factory=ArgumentSettings)
    """Limits of the argument check."""


@dataclass
class EfficiencySettings:
    """How per-call facts become tool_efficiency: the mean of the parts present minus a bounded penalty."""

    selection: float = 1.0
    """Relative share of selection accuracy in the mean, >= 0."""
    validity: float = 1.0
    """Relative share of argument validity in the mean, >= 0."""
    waste: float = 1.0
    """Relative share of 1 - waste ratio in the mean, > 0 (the one part every trajectory with calls has)."""
    penalty_per_step: float = 0.05
    """Taken off for each step beyond the expected number, in [0, 1]."""
    penalty_limit: float = 0.3
    """Most that is taken off for length, in [0, 1]."""
    gold_factor: float = 1.5
    """Expected calls per gold action where the task gives no number of steps itself, > 0."""
    success: float = 1.0
    """Correctness from which on a trajectory is a success (for the median, and for `no call was needed`), in (0, 1]."""


@dataclass
class VerifierSettings:
    """Which rules run and how."""

    rules: list[str] = field(
        default_factory=lambda: [
            "known_tool",
            "valid_arguments",
            "not_repeated",
            "achieved_something",
            "no_error",
            "subgoals",
            "subgoals_with_prerequisites",
            "source_reward",
            "final_state",
            "gold_actions",
            "exact_match",
            "holds_answer",
            "token_f1",
        ]
    )
    """Names of the rules that run, in the order of their verdicts."""
    correctness: list[str] = field(
        default_factory=lambda: [
            "subgoals_with_prerequisites",
            "source_reward",
            "final_state",
            "gold_actions",
            "holds_answer",
        ]
    )
    """Names among `rules`; the first that decides gives the trajectory's correctness."""
    calls: CallSettings = field(default_factory=CallSettings)
    """How calls are read."""
    efficiency: EfficiencySettings = field(default_factory=EfficiencySettings)
    """How calls become tool_efficiency."""
