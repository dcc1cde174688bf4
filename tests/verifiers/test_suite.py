import json
import os
import weakref
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.config.verifiers import VerifierSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.schema import Call, Observation, Step, Subgoal, Tool, digest
from rmtrain.trajectories.store import write
from rmtrain.verifiers import suite as suite_module
from rmtrain.verifiers.base import Verdict
from rmtrain.verifiers.suite import RULES, VerifierSuite

SAID = (Subgoal(subgoal_id="a", kind="answer", value="red"), Subgoal(subgoal_id="b", kind="answer", value="blue"))


def labels(verdicts) -> dict[str, Verdict]:
    found = [each for each in verdicts if each.dimension is not None]
    assert [each.dimension for each in found] == ["correctness", "tool_efficiency"]
    return {each.dimension: each for each in found}


def test_correctness_is_the_first_rule_that_decides(make):
    # Subgoals say 1/2, the source 1, the gold action 0, the answer does not match.
    fields = {"subgoals": SAID, "reward": 1.0, "actions": (make.call("pay"),), "answers": ("green",), "answer": "red"}
    trajectory = make.episode(make.step(), **fields)
    for order, value in [
        (["subgoals_with_prerequisites", "source_reward"], 0.5),
        (["source_reward", "subgoals_with_prerequisites"], 1.0),
        (["final_state", "gold_actions"], 0.0),
        (["final_state", "exact_match"], 0.0),
    ]:
        verdict = labels(VerifierSuite(VerifierSettings(correctness=order)).verify(trajectory))["correctness"]
        assert verdict.value == value
        decider = next(name for name in order if name != "final_state")
        assert verdict.evidence["decided_by"] == decider
        skipped = {"final_state": "the reference has no final state"} if "final_state" in order else {}
        assert verdict.evidence["abstained"] == skipped


def test_each_outcome_rule_decides_in_the_default_order(make):
    step = make.step()
    for fields, decider in [
        ({"subgoals": SAID, "reward": 1.0}, "subgoals_with_prerequisites"),
        ({"reward": 1.0, "right_state": {}, "state": {}}, "source_reward"),
        ({"right_state": {}, "state": {}, "actions": (make.call("f"),)}, "final_state"),
        ({"actions": (make.call("f"),), "answers": ("x",)}, "gold_actions"),
        ({"answers": ("x",)}, "holds_answer"),
    ]:
        verdict = labels(VerifierSuite().verify(make.episode(step, **fields)))["correctness"]
        assert verdict.evidence["decided_by"] == decider
    verdict = labels(VerifierSuite().verify(make.episode(step)))["correctness"]
    assert verdict.abstained_because == "no rule could decide"
    assert set(verdict.evidence["abstained"]) == set(VerifierSettings().correctness)


class Broken:
    name = "broken"
    version = 3

    def __init__(self, reader):
        self.reader = reader

    def verify(self, trajectory):
        yield from ()
        raise ValueError("no luck")


class Chatty(Broken):
    name = "chatty"

    def verify(self, trajectory):
        return ["good"]


def test_a_rule_that_raises_is_a_named_abstention_and_the_next_one_decides(make, monkeypatch):
    monkeypatch.setitem(RULES, "broken", Broken)
    monkeypatch.setitem(RULES, "chatty", Chatty)
    names = ["broken", "chatty", "source_reward"]
    verdicts = VerifierSuite(VerifierSettings(rules=names, correctness=names)).verify(make.episode(reward=0.5))
    first, second, *_ = verdicts
    assert (first.verifier, first.version, first.value) == ("broken", 3, None)
    assert first.abstained_because == "raised ValueError: no luck"
    assert second.abstained_because == "raised TypeError: verifier 'chatty' returned a str, not a Verdict"
    assert labels(verdicts)["correctness"].value == 0.5


def test_malformed_subgoals_are_a_named_abstention_too(make):
    subgoals = (Subgoal(subgoal_id="a", kind="answer", value=1, requires=("b",)),)
    verdicts = VerifierSuite().verify(make.episode(make.step(), subgoals=subgoals, reward=1.0))
    because = {each.verifier: each.abstained_because for each in verdicts}
    assert because["subgoals"].startswith("raised DataError: task 't1': subgoal 'a' requires 'b'")
    assert labels(verdicts)["correctness"].evidence["decided_by"] == "source_reward"


def test_efficiency_that_raises_still_gives_its_dimension(make):
    trajectory = make.episode(make.step((make.call("f"), "x")), actions=(Call(name="f"),))
    verdict = labels(VerifierSuite().verify(trajectory))["tool_efficiency"]
    assert verdict.abstained_because.startswith("raised DataError: task 't1': gold action 0")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": ["subgoal"]}, r"verifiers\.rules: unknown rule 'subgoal'\. Known: .* Did you mean 'subgoals'\?"),
        ({"correctness": ["exact_mach"]}, r"verifiers\.correctness: unknown rule 'exact_mach'.*'exact_match'"),
        ({"rules": ["subgoals", "subgoals"]}, r"verifiers\.rules names 'subgoals' twice"),
        ({"rules": ["subgoals"], "correctness": ["token_f1"]}, "names 'token_f1', which does not run"),
    ],
)
def test_wrong_names_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        VerifierSuite(VerifierSettings(**settings))


def run(make, trial, n, reward, task_id="t1", **more):
    steps = [make.step((make.call("get_x", n=k), f"result {k}")) for k in range(n)]
    return make.episode(*steps, make.step(), reward=reward, trial=trial, task_id=task_id, **more)


def test_the_median_is_over_the_successes_of_a_task_that_names_no_number(make):
    corpus = [
        *(run(make, trial, n, 1.0) for trial, n in enumerate((2, 3, 8, 9))),
        run(make, 9, 1, 0.0),
        run(make, 1, 5, 1.0, "t2"),
        run(make, 2, 7, 0.9, "t2"),
        run(make, 1, 4, 0.0, "t3"),
        run(make, 1, 4, 1.0, "t4", expected_steps=3),
        run(make, 1, 4, 1.0, "t5", actions=(make.call("get_x", n=1),)),
    ]
    # t1: successes of 2, 3, 8, 9 steps with calls, median (3 + 8) / 2. t2: one success. The others: none needed.
    assert VerifierSuite().median_steps(corpus) == {"t1": 5.5, "t2": 5.0}
    length = {(each[-1].trajectory_id): each[-1].evidence["length"] for each in VerifierSuite().verify_corpus(corpus)}
    assert length[corpus[3].trajectory_id]["beyond"] == 9 - 5.5
    assert length[corpus[7].trajectory_id] == {"left_out": "the expected number of steps is unknown"}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_the_median_of_counts_is_the_median(values):
    assert suite_module._median(Counter(values)) == median(values)


def test_a_corpus_may_be_a_file_or_a_collection_but_no_iterator(make, tmp_path):
    corpus = [run(make, trial, trial + 1, 1.0) for trial in range(3)]
    path = tmp_path / "trajectories.jsonl"
    write(path, corpus)
    suite = VerifierSuite()
    expected = list(suite.verify_corpus(corpus))
    assert list(suite.verify_corpus(path)) == expected
    assert list(suite.verify_corpus(iter(corpus), median_steps=suite.median_steps(corpus))) == expected
    with pytest.raises(TypeError, match="reads its trajectories twice"):
        suite.verify_corpus(iter(corpus))


def test_a_file_that_can_be_read_once_only_is_refused(make, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    suite = VerifierSuite()
    with pytest.raises(
        DataError, match=r"pipe\.jsonl: is a pipe, but trajectories are read twice .* Save them to a file"
    ):
        suite.verify_corpus(pipe)
    with pytest.raises(DataError, match=r": is a folder, but trajectories are read twice"):
        suite.verify_corpus(tmp_path)
    with pytest.raises(DataError, match=r"absent\.jsonl: no such file"):
        suite.verify_corpus(tmp_path / "absent.jsonl")


def test_one_trajectory_at_a_time_is_in_memory(make):
    alive: list[weakref.ref] = []
    most = 0

    class Corpus:
        def __iter__(self):
            for trial in range(100):
                trajectory = run(make, trial, 2, 1.0, task_id=f"t{trial % 5}")
                alive.append(weakref.ref(trajectory))
                yield trajectory

    for _ in VerifierSuite().verify_corpus(Corpus()):
        most = max(most, sum(each() is not None for each in alive))
    assert len(alive) == 200
    assert 1 <= most <= 3


NESTED: dict = {}
for _ in range(5_000):
    NESTED = {"a": NESTED}

HOSTILE = [
    Step(step_index=0),
    Step(step_index=0, calls=(Call(name=""),)),
    Step(step_index=0, calls=(Call(name="get_x", arguments=NESTED),), observations=(Observation(content="x"),)),
    Step(step_index=0, calls=(Call(name="get_x", arguments={"n": float("nan")}),)),
    Step(step_index=0, calls=(Call(name="get_x", arguments={"n": 10**5000}),)),
    Step(step_index=0, observations=(Observation(content="[" * 50_000),)),
    Step(
        step_index=0, extra={"state_before": NESTED, "state_after": NESTED}, calls=(Call(name="set_x", arguments={}),)
    ),
]


@pytest.mark.parametrize("step", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize(
    "parameters",
    [{}, {"type": 3}, {"$ref": "https://example.com"}, {"properties": {"n": {"type": "integer"}}}, NESTED],
    ids=["empty", "invalid", "remote", "typed", "nested"],
)
def test_hostile_input_gives_every_verdict_and_none_is_an_accident(make, step, parameters):
    trajectory = make.episode().model_copy(update={"steps": (step,)})
    task = trajectory.task.model_copy(update={"tools": (Tool.model_construct(name="get_x", parameters=parameters),)})
    verdicts = VerifierSuite().verify(trajectory.model_copy(update={"task": task}))
    labels(verdicts)
    assert not [each for each in verdicts if "raised" in (each.abstained_because or "")]
    for verdict in verdicts:
        json.loads(verdict.model_dump_json().encode("utf-8"))
        json.dumps(verdict.evidence, allow_nan=False)


def test_inputs_are_not_changed(make):
    trajectory = run(make, 1, 3, 1.0, subgoals=SAID, tools=(make.tool("get_x", n={"type": "integer"}),))
    settings = VerifierSettings()
    before = (digest(trajectory.model_dump(mode="json")), asdict(settings))
    suite = VerifierSuite(settings)
    first = suite.verify(trajectory)
    assert (digest(trajectory.model_dump(mode="json")), asdict(settings)) == before
    assert suite.verify(trajectory) == first == VerifierSuite(replace(settings)).verify(trajectory)


def test_no_steps_is_no_zero(make):
    verdicts = VerifierSuite().verify(make.episode(answer=None, answers=("x",), actions=(make.call("f"),)))
    assert all(each.value is None for each in verdicts)


def test_the_settings_file_and_the_dataclass_say_the_same_and_run_every_rule():
    default = Path(__file__).resolve().parents[2] / "conf" / "verifiers" / "default.yaml"
    assert yaml.safe_load(default.read_text()) == asdict(VerifierSettings())
    assert sorted(VerifierSettings().rules) == sorted(RULES)
