"""A task of the world: what the agent is asked, what the world holds, and the moves that solve it.

Moves name what they need by belief (``{lead}``) rather than by value, so that a policy which
misunderstands something carries its mistake on, as an agent would.
"""

from dataclasses import dataclass, field
from typing import Any

from rmtrain.trajectories.schema import Call, Reference, Split, Subgoal, Task, Tool
from rmtrain.world.vocabulary import Vocabulary

Record = dict[str, str]
StateGoal = tuple[str, Any, int]
"""Dotted path into the final state, the value it has to hold there, and the move that has to come first."""
Tables = dict[str, dict[str, Record]]


@dataclass(frozen=True)
class Learn:
    """After a move, belief `belief` becomes field `field` of what was observed; `label` is how one speaks of it."""

    belief: str
    field: str
    label: str


@dataclass(frozen=True)
class Move:
    """One sound action: a call whose arguments are templates over beliefs, and how it is announced.

    Attributes:
        tool: name of the tool.
        arguments: argument name to template.
        intent: kind of phrase that announces the call.
        slots: the phrase's slots, templates over beliefs.
        learns: what the agent takes from the observation.
        pivot: the argument (and slot of the same template) that goes wrong when the agent errs.
        others: wrong values that the pivot could take.
        requires: indices of moves that must have succeeded first.
        promised: the plan announced this move as a check.
        conflict: beliefs (a, b) that disagree and are remarked on before this move.
        settles: the move exists only because evidence was contradictory; skipping it overlooks that.
        counts: the move is a requirement of the task.
    """

    tool: str
    arguments: dict[str, str]
    intent: str
    slots: dict[str, str]
    pivot: str
    others: tuple[str, ...]
    learns: tuple[Learn, ...] = ()
    requires: tuple[int, ...] = ()
    promised: bool = False
    conflict: tuple[str, str] | None = None
    settles: bool = False
    counts: bool = True


@dataclass(frozen=True)
class World:
    """What exists before the agent acts.

    Attributes:
        tables: table to key to record.
        names: table to display name to key.
        sources: source to key to (field, value).
        status: source to its standing.
        slips: rooms whose first booking lands at another slot: room to that slot.
    """

    tables: Tables = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    sources: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    slips: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorldTask:
    """A solvable task together with the knowledge of how it is solved.

    Attributes:
        task: what an agent sees, and the reference that verifiers use.
        world: initial state.
        moves: a shortest solution.
        known: beliefs the query itself gives.
        truth: what every belief should become.
        answer: belief that the answer states.
        answer_label: how one speaks of it.
        wrong_answers: values a fabricated answer may state.
        plan: what a careful agent says it will do.
        vocabulary: the words and phrases in use.
        split: the split this task belongs to.
        max_steps: calls after which the environment ends the episode.
        state_goals: what the final state has to hold.
    """

    task: Task
    world: World
    moves: tuple[Move, ...]
    known: dict[str, str]
    truth: dict[str, str]
    answer: str
    answer_label: str
    wrong_answers: tuple[str, ...]
    plan: str
    vocabulary: Vocabulary
    split: Split
    max_steps: int
    state_goals: tuple[StateGoal, ...] = ()


def fill(templates: dict[str, str], beliefs: dict[str, str]) -> dict[str, str]:
    """Templates with beliefs put in; raises KeyError when a belief is absent."""
    return {name: template.format_map(beliefs) for name, template in templates.items()}


def public_task(
    *,
    task_id: str,
    family: str,
    query: str,
    moves: tuple[Move, ...],
    truth: dict[str, str],
    answer: str,
    tools: tuple[Tool, ...],
    final_state: dict[str, Any] | None,
    state_goals: tuple[StateGoal, ...] = (),
) -> Task:
    """The task as agents and verifiers see it: subgoals and gold calls follow from the true moves."""
    subgoals = []
    for index, move in enumerate(moves):
        if move.counts:
            subgoals.append(
                Subgoal(
                    subgoal_id=f"move-{index}",
                    description=f"{move.tool} with the right arguments",
                    kind="called",
                    name=move.tool,
                    arguments=fill(move.arguments, truth),
                    requires=tuple(f"move-{i}" for i in move.requires),
                )
            )
    for path, value, after in state_goals:
        subgoals.append(
            Subgoal(
                subgoal_id="state",
                description=f"the final state holds {value} at {path}",
                kind="state",
                name=path,
                value=value,
                requires=(f"move-{after}",),
            )
        )
    counted = tuple(subgoal.subgoal_id for subgoal in subgoals)
    subgoals.append(
        Subgoal(
            subgoal_id="answer",
            description="the answer states the right value",
            kind="answer",
            value=truth[answer],
            requires=counted[-1:],
        )
    )
    return Task(
        task_id=task_id,
        family=family,
        query=query,
        tools=tools,
        reference=Reference(
            answers=(truth[answer],),
            actions=tuple(Call(name=move.tool, arguments=fill(move.arguments, truth)) for move in moves),
            final_state=final_state,
        ),
        subgoals=tuple(subgoals),
        expected_steps=len(moves) + 1,
    )
