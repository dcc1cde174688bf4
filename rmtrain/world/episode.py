"""One episode: a scripted policy acts in the environment, saying what it does, and the truth is noted beside it."""

from dataclasses import replace
from random import Random
from typing import Any

from rmtrain.trajectories.schema import Call, Source, Step, Trajectory, make_trajectory
from rmtrain.world.environment import TOOLS, WRITES, Environment
from rmtrain.world.policies import Script
from rmtrain.world.tasks import Move, WorldTask, fill
from rmtrain.world.truth import StepTruth, Truth, judge


def run_episode(world_task: WorldTask, script: Script, trial: int, seed: int) -> tuple[Trajectory, Truth]:
    """Act out a script.

    Args:
        world_task: the task.
        script: which moves go wrong.
        trial: number of this rollout among the task's, from 0.
        seed: chooses the wording and every other free choice.

    Returns:
        The trajectory and the true values of its dimensions.
    """
    actor = _Actor(world_task, script, Random(f"episode/{seed}/{world_task.task.task_id}/{trial}"))
    answer = actor.act()
    trajectory = make_trajectory(
        task=world_task.task,
        steps=tuple(actor.steps),
        answer=answer,
        outcome=actor.environment.outcome(),
        source=Source(format="world", policy=script.policy, trial=trial, seed=seed, split=world_task.split),
    )
    subgoals = world_task.task.subgoals
    return trajectory, judge(
        trajectory.trajectory_id,
        actor.notes,
        n_met=actor.n_met(answer),
        n_subgoals=len(subgoals),
        expected_steps=len(world_task.moves) + 1,
    )


class _Actor:
    def __init__(self, world_task: WorldTask, script: Script, rng: Random) -> None:
        self.task, self.script, self.rng = world_task, script, rng
        self.environment = Environment(world_task, seed=rng.randrange(2**31))
        self.beliefs = dict(world_task.known)
        self.steps: list[Step] = []
        self.notes: list[StepTruth] = []
        self.omitted: str | None = None
        self.overlooks = False
        self.done: set[int] = set()
        self.recap: tuple[str, str] | None = None
        self.prefix = ""

    def act(self) -> str | None:
        """Go through the moves and the answer; returns the answer given, None for an admitted failure."""
        faults = self.script.faults
        if self.rng.random() < 0.5 or any(move.promised for move in self.task.moves):
            self.prefix = self._say("plan", plan=self.task.plan)
        for index, move in enumerate(self.task.moves):
            fault = faults.get(index)
            if self.environment.is_over or not self._can(move) or fault == "gives_up":
                return self._give_up()
            if fault == "skips_check":
                self.omitted = "skips_check"
                continue
            if move.settles and (fault == "overlooks" or self.overlooks or not self._sees_conflict()):
                if self._sees_conflict() and not self.overlooks:
                    self.omitted, self.overlooks = "overlooks", True
                continue
            self._move(index, move, fault)
        if self.environment.is_over:
            return self._give_up()
        return self._answer(faults.get(len(self.task.moves)) == "fabricates")

    def n_met(self, answer: str | None) -> int:
        """Requirements met by what was really done, each only if what it requires is met."""
        met = {i for i in self.done if self.task.moves[i].counts}
        while True:
            lost = {i for i in met if any(r not in met for r in self.task.moves[i].requires)}
            if not lost:
                break
            met -= lost
        goals = [after in met and self._holds(path, value) for path, value, after in self.task.state_goals]
        last = goals[-1] if goals else max(i for i, move in enumerate(self.task.moves) if move.counts) in met
        right = last and answer == self.task.truth[self.task.answer]
        return len(met) + sum(goals) + right

    def _holds(self, path: str, value: Any) -> bool:
        found: Any = self.environment.state()
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return bool(found == value)

    def _say(self, kind: str, **slots: object) -> str:
        return self.task.vocabulary.say(self.rng, kind, **slots)

    def _can(self, move: Move) -> bool:
        try:
            fill(move.arguments, self.beliefs)
        except KeyError:
            return False
        return True

    def _needs(self, tool: str) -> bool:
        """Whether a move by that tool is still to be done."""
        return any(move.tool == tool and index not in self.done for index, move in enumerate(self.task.moves))

    def _sees_conflict(self) -> bool:
        conflict = next((move.conflict for move in self.task.moves if move.conflict), None)
        if conflict is None:
            return True
        first, second = (self.beliefs.get(name) for name in conflict)
        return first is not None and second is not None and first != second

    def _move(self, index: int, move: Move, fault: str | None) -> None:
        said, called = fill(move.slots, self.beliefs), fill(move.arguments, self.beliefs)
        if fault == "roundabout":
            self._aside()
        elif fault == "wrong_tool":
            self._wrong_tool(move, said, called)
        elif fault == "invalid_arguments":
            self._invalid(move, said, called)
        elif fault in ("ignores_observation", "announces_other", "fabricates"):
            self._err(index, move, said, called, fault)
            return
        self._do(index, move, self._thought(move, said), called)
        if fault == "repeat":
            for _ in range(self.rng.randint(1, 2)):
                truth = StepTruth(1, "repeat", is_right_tool=self._needs(move.tool), is_wasted=True)
                self._step(self._thought(move, said), move.tool, called, truth)

    def _thought(self, move: Move, said: dict[str, str], recap: tuple[str, str] | None = None) -> str:
        parts = [self.prefix] if self.prefix else []
        self.prefix = ""
        shown = recap or self.recap
        if shown and (recap or self.rng.random() < 0.75):
            parts.append(self._say("recap", label=shown[0], value=shown[1]))
        if move.conflict:
            first, second = (self.beliefs[name] for name in move.conflict)
            parts.append(self._say("differ", first=first, second=second))
        parts.append(self._say(move.intent, **said))
        return " ".join(parts)

    def _step(self, thought: str, tool: str, arguments: dict[str, Any], truth: StepTruth) -> dict[str, str]:
        call = Call(call_id=f"c{len(self.steps)}", name=tool, arguments=arguments)
        before = self.environment.state()
        result = self.environment.act(call)
        extra = {"state_before": before, "state_after": self.environment.state()} if tool in WRITES else {}
        step = Step(
            step_index=len(self.steps), thought=thought, calls=(call,), observations=(result.observation,), extra=extra
        )
        self._note(step, truth)
        return result.fields

    def _note(self, step: Step, truth: StepTruth) -> None:
        """Record a step; one that passes over what had to be done first takes the blame for that."""
        if self.omitted and truth.fault is None:
            truth = replace(truth, quality=0 if self.omitted == "overlooks" else 1, fault=self.omitted)
        if truth.fault == self.omitted:
            self.omitted = None
        self.steps.append(step)
        self.notes.append(truth)

    def _do(
        self, index: int, move: Move, thought: str, called: dict[str, str], truth: StepTruth = StepTruth(2)
    ) -> None:
        fields = self._step(thought, move.tool, called, truth)
        if fields and called == fill(move.arguments, self.task.truth):
            self.done.add(index)
        self.recap = None
        for learn in move.learns:
            if learn.field in fields:
                self.beliefs[learn.belief] = fields[learn.field]
                self.recap = (learn.label, fields[learn.field])
            else:
                self.beliefs.pop(learn.belief, None)
                if move.promised:
                    self.omitted = "overlooks"

    def _err(self, index: int, move: Move, said: dict[str, str], called: dict[str, str], fault: str) -> None:
        right = called[move.pivot]
        wrong = self.rng.choice([other for other in move.others if other != right] or list(move.others))
        wrong_called = called | {move.pivot: wrong}
        wrong_said = {slot: value.replace(right, wrong) for slot, value in said.items()}
        if move.intent == "notify":
            room, _, slot = wrong.partition(" at ")
            wrong_said = said | {"room": room, "slot": slot}
        repaired = self.script.corrects
        truth = StepTruth(0, fault, is_repaired=repaired)
        before, recap, omitted = dict(self.beliefs), self.recap, self.omitted
        if fault == "announces_other":
            thought = self._thought(move, said)
        elif fault == "fabricates" and recap and recap[1] == right:
            thought = self._thought(move, wrong_said, recap=(recap[0], wrong))
        else:
            thought = self._thought(move, wrong_said)
        self._do(index, move, thought, wrong_called, truth)
        if repaired and not self.environment.is_over:
            self.beliefs, self.recap, self.omitted = before, None, omitted
            self.prefix = self._say("mistaken")
            self._do(index, move, self._thought(move, said), called)

    def _aside(self) -> None:
        """Look at an entry that exists and has nothing to do with the task."""
        tables = self.task.world.tables
        used = set(self.task.truth.values()) | set(self.beliefs.values())
        table = self.rng.choice(sorted(tables))
        keys = [key for key in tables[table] if key not in used]
        key = self.rng.choice(keys or list(tables[table]))
        parts = [self.prefix] if self.prefix else []
        self.prefix = ""
        if self.recap and self.rng.random() < 0.75:
            parts.append(self._say("recap", label=self.recap[0], value=self.recap[1]))
        parts.append(self._say("aside", key=key, table=table))
        truth = StepTruth(1, "roundabout", is_right_tool=self._needs("get_record"))
        self._step(" ".join(parts), "get_record", {"table": table, "key": key}, truth)

    def _wrong_tool(self, move: Move, said: dict[str, str], called: dict[str, str]) -> None:
        """Announce the right thing and use a tool that can't do it."""
        names = [tool.name for tool in self.task.task.tools if tool.name not in (move.tool, "reserve", "send_message")]
        tool = self.rng.choice([name for name in names if not self._needs(name)] or names)
        values = list(called.values())[::-1]
        required = TOOLS[tool].parameters["required"]
        arguments = {name: values[i % len(values)] for i, name in enumerate(required)}
        truth = StepTruth(1, "wrong_tool", is_right_tool=False)
        self._step(self._thought(move, said), tool, arguments, truth)

    def _invalid(self, move: Move, said: dict[str, str], called: dict[str, str]) -> None:
        """The right call with arguments that its schema refuses."""
        broken: dict[str, Any] = dict(called)
        name = self.rng.choice(sorted(broken))
        how = self.rng.choice(("missing", "renamed", "list", "extra"))
        if how == "missing":
            del broken[name]
        elif how == "renamed":
            broken[self.rng.choice(("id", "item", "entry", "value", "target"))] = broken.pop(name)
        elif how == "list":
            broken[name] = [broken[name]]
        else:
            broken[self.rng.choice(("limit", "format", "verbose", "page"))] = self.rng.randint(1, 9)
        truth = StepTruth(1, "invalid_arguments", is_valid=False, is_wasted=True)
        self._step(self._thought(move, said), move.tool, broken, truth)
        if self.rng.random() < 0.7:
            self.prefix = self._say("refused")

    def _final(self, thought: str, truth: StepTruth) -> None:
        self._note(Step(step_index=len(self.steps), thought=thought), truth)

    def _answer(self, fabricated: bool) -> str | None:
        belief = self._chosen()
        if belief is None:
            return self._give_up()
        value = self.beliefs[belief]
        if fabricated:
            value = self.rng.choice([other for other in self.task.wrong_answers if other != value])
        thought = " ".join((self._say("recap", label=self.task.answer_label, value=value), self._say("conclude")))
        self._final(
            thought, StepTruth(0, "fabricates", 0, None, None) if fabricated else StepTruth(2, None, 0, None, None)
        )
        return value

    def _chosen(self) -> str | None:
        """The belief that the answer states: with two sources, the one found to be final, else the first."""
        if "status_a" in self.beliefs or "status_b" in self.beliefs:
            chosen = "a" if self.beliefs.get("status_a") == "final" else "b"
        elif "status_a" in self.task.truth:
            chosen = "a"
        else:
            chosen = self.task.answer
        return chosen if chosen in self.beliefs else None

    def _give_up(self) -> str | None:
        """Stop early: half the time admit it, else pass off the last thing found as the answer."""
        is_early = len(self.steps) < len(self.task.moves)
        if self.recap is None or self.rng.random() < 0.5:
            parts = [self.prefix, self._say("missing")] if self.prefix else [self._say("missing")]
            self._final(" ".join(parts), StepTruth(1 if is_early else 2, "gives_up", 0, None, None))
            return None
        value = self.recap[1]
        thought = " ".join((self._say("recap", label=self.task.answer_label, value=value), self._say("conclude")))
        self._final(thought, StepTruth(0, "fabricates", 0, None, None))
        return value
