"""Scripted policies: each decides which of a task's moves go wrong, and how.

A schedule maps the index of a move (the number of moves stands for the answer) to a fault. The
mixtures draw several faults, so that no policy is given away by a single habit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from rmtrain.world.tasks import WorldTask

Fault = Literal[
    "repeat",
    "roundabout",
    "invalid_arguments",
    "wrong_tool",
    "ignores_observation",
    "announces_other",
    "fabricates",
    "gives_up",
    "skips_check",
    "overlooks",
]


@dataclass(frozen=True)
class Script:
    """What one episode will do.

    Attributes:
        policy: name of the policy that wrote it.
        faults: move index to fault.
        corrects: the agent notices a wrong call right after it and repairs it.
    """

    policy: str
    faults: dict[int, Fault] = field(default_factory=dict)
    corrects: bool = False


def _at(fault: Fault, rng: Random, task: WorldTask) -> dict[int, Fault]:
    """`fault` at one place where it makes sense, or nothing where there is none."""
    moves = range(len(task.moves))
    places: dict[Fault, list[int]] = {
        "fabricates": [i for i in moves if task.moves[i].requires] + [len(task.moves)],
        "ignores_observation": [i for i in moves if task.moves[i].requires],
        "gives_up": [i for i in moves if i >= 1],
        "skips_check": [i for i in moves if task.moves[i].promised],
        "overlooks": [i for i in moves if task.moves[i].settles][:1],
        "roundabout": [i for i in moves if i >= 1],
    }
    possible = places.get(fault, list(moves))
    return {rng.choice(possible): fault} if possible else {}


def _expert(rng: Random, task: WorldTask) -> Script:
    return Script("expert")


def _several(fault: Fault, policy: str) -> Callable[[Random, WorldTask], Script]:
    def write(rng: Random, task: WorldTask) -> Script:
        faults: dict[int, Fault] = {}
        for _ in range(rng.randint(1, 3)):
            faults |= _at(fault, rng, task)
        return Script(policy, faults)

    return write


def _gives_up(rng: Random, task: WorldTask) -> Script:
    return Script("gives_up", _at("gives_up", rng, task))


def _corrects(rng: Random, task: WorldTask) -> Script:
    faults: dict[int, Fault] = {}
    for _ in range(rng.randint(1, 2)):
        faults |= _at(rng.choice(("announces_other", "ignores_observation")), rng, task)
    return Script("corrects_itself", faults, corrects=True)


def _careless(rng: Random, task: WorldTask) -> Script:
    fault: Fault = rng.choice(("skips_check", "overlooks"))
    faults = _at(fault, rng, task) or _at("skips_check", rng, task) or _at("overlooks", rng, task)
    return Script("careless", _at("announces_other", rng, task) | faults)


def _mixture(rng: Random, task: WorldTask) -> Script:
    kinds: list[Fault] = [
        "repeat", "roundabout", "invalid_arguments", "wrong_tool", "ignores_observation", "announces_other",
        "fabricates", "gives_up", "skips_check", "overlooks",
    ]  # fmt: skip
    faults: dict[int, Fault] = {}
    for fault in rng.sample(kinds, rng.randint(2, 4)):
        faults |= {index: kind for index, kind in _at(fault, rng, task).items() if index not in faults}
    return Script("mixture", faults, corrects=rng.random() < 0.3)


POLICIES: dict[str, Callable[[Random, WorldTask], Script]] = {
    "expert": _expert,
    "roundabout": _several("roundabout", "roundabout"),
    "repeating": _several("repeat", "repeating"),
    "invalid_arguments": _several("invalid_arguments", "invalid_arguments"),
    "wrong_tool": _several("wrong_tool", "wrong_tool"),
    "ignores_observation": _several("ignores_observation", "ignores_observation"),
    "announces_other": _several("announces_other", "announces_other"),
    "fabricates": _several("fabricates", "fabricates"),
    "gives_up": _gives_up,
    "careless": _careless,
    "corrects_itself": _corrects,
    "mixture": _mixture,
}
SHARES: dict[str, float] = dict.fromkeys(POLICIES, 1.0) | {"expert": 1.5, "mixture": 4.0}


def write_script(rng: Random, task: WorldTask, taken: set[str]) -> Script:
    """A script by a policy drawn by its share; mixtures may occur again among a task's rollouts, others not."""
    names = [name for name in POLICIES if name not in taken or name == "mixture"]
    policy = rng.choices(names, [SHARES[name] for name in names])[0]
    return POLICIES[policy](rng, task)
