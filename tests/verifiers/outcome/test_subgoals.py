from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Observation, Subgoal
from rmtrain.verifiers.outcome.subgoals import Subgoals, prerequisites
from rmtrain.verifiers.tools.calls import CallReader


def verdicts(trajectory):
    reader = CallReader()
    return [Subgoals(reader, with_prerequisites=each).verify(trajectory)[0] for each in (False, True)]


def said(name: str, value: object, *requires: str) -> Subgoal:
    return Subgoal(subgoal_id=name, kind="answer", value=value, requires=requires)


def test_both_readings_by_hand(make):
    # The answer says a and c. Plainly 2 of 4. c requires b, which is not met, so c does not count: 1 of 4.
    subgoals = (said("a", "red"), said("b", "blue", "a"), said("c", "green", "b"), said("d", "gray"))
    plain, ordered = verdicts(make.episode(make.step(), answer="red and green", subgoals=subgoals))
    assert (plain.value, ordered.value) == (0.5, 0.25)
    assert plain.evidence["counted"] == ["a", "c"]
    assert ordered.evidence["counted"] == ["a"]
    assert ordered.evidence["met_without_prerequisites"] == ["c"]
    assert ordered.reason == "1 of 4 subgoals are met with all they require (1 more without)"
    assert (plain.dimension, ordered.dimension) == (None, None)


def test_requirements_count_through_others(make):
    # d requires c requires b requires a. a is unmet, so none of the three met ones counts.
    subgoals = (said("d", "w", "c"), said("c", "z", "b"), said("b", "y", "a"), said("a", "x"))
    plain, ordered = verdicts(make.episode(make.step(), answer="y z w", subgoals=subgoals))
    assert (plain.value, ordered.value) == (0.75, 0.0)


def test_observed_called_and_state(make):
    trajectory = make.episode(
        make.step((make.call("get_user", id=7, deep={"a": 1.0}), "Error: busy")),
        make.step((make.call("get_user", id=7, deep={"a": 1.0}), "balance 1,250")),
        make.step((make.call("pay", n=1), "Error: no")),
        subgoals=(
            Subgoal(subgoal_id="observed", kind="observed", value=1250),
            Subgoal(subgoal_id="called", kind="called", name="get_user", arguments={"deep": {"a": 1}}),
            Subgoal(subgoal_id="failed", kind="called", name="pay"),
            Subgoal(subgoal_id="never", kind="called", name="get_user", arguments={"id": 8}),
            Subgoal(subgoal_id="state", kind="state", name="users.7.name", value="Mira"),
            Subgoal(subgoal_id="null", kind="state", name="users.7.pet", value=None),
            Subgoal(subgoal_id="absent", kind="state", name="users.8", value=None),
        ),
        state={"users": {"7": {"name": "Mira", "pet": None}}},
    )
    plain, _ = verdicts(trajectory)
    met = {name: each["met"] for name, each in plain.evidence["subgoals"].items()}
    assert met == {
        "observed": True,
        "called": True,
        "failed": False,
        "never": False,
        "state": True,
        "null": True,
        "absent": False,
    }
    assert plain.evidence["subgoals"]["failed"]["because"] == "'pay' returned only errors"
    assert plain.value == 4 / 7


@pytest.mark.parametrize(
    ("subgoal", "because"),
    [
        (Subgoal(subgoal_id="s", kind="state", name="a", value=1), "the final state is not recorded"),
        (Subgoal(subgoal_id="s", kind="called", name="pay"), "'pay' was called in step 0, but no result"),
        (Subgoal(subgoal_id="s", kind="observed", value=1), "no result of any call is recorded"),
    ],
)
def test_what_cannot_be_decided_is_named_and_makes_the_share_unknown(make, subgoal, because):
    trajectory = make.episode(make.step((make.call("pay"), None)), subgoals=(said("fine", "done"), subgoal))
    for verdict in verdicts(trajectory):
        assert verdict.value is None
        assert verdict.abstained_because.startswith(f"subgoal 's' cannot be decided: {because}")
        assert verdict.evidence["undecided"] == ["s"]


def test_no_answer_is_an_unmet_requirement_but_nothing_recorded_is_unknown(make):
    subgoals = (said("a", "red"),)
    assert verdicts(make.episode(make.step(), answer=None, subgoals=subgoals))[0].value == 0.0
    for verdict in verdicts(make.episode(answer=None, subgoals=subgoals)):
        assert verdict.abstained_because == "nothing was recorded: no steps and no answer"
    assert verdicts(make.episode(answer="red", subgoals=subgoals))[0].value == 1.0
    assert verdicts(make.episode(make.step()))[0].abstained_because == "the task has no subgoals"


@pytest.mark.parametrize(
    ("subgoals", "message"),
    [
        ((said("a", 1, "b"), said("b", 1, "a")), "task 't1': subgoals require each other in a circle: a -> b -> a"),
        ((said("x", 1, "a"), said("a", 1, "a")), "in a circle: a -> a"),
        ((said("a", 1, "bb"),), "subgoal 'a' requires 'bb', which is not a subgoal of the task. Known: a"),
        ((said("a", 1), said("a", 2)), "two subgoals have the id 'a'"),
        ((said("a", None),), "subgoal 'a' of kind 'answer' has no value"),
        ((said("a", "!"),), "subgoal 'a': '!' holds no word and no number"),
        ((Subgoal(subgoal_id="a", kind="called"),), "subgoal 'a' of kind 'called' has no name"),
        ((Subgoal(subgoal_id="a", kind="state"),), "subgoal 'a' of kind 'state' has no name"),
        ((Subgoal(subgoal_id="a", kind="observed"),), "subgoal 'a' of kind 'observed' has no value"),
    ],
)
def test_malformed_subgoals_are_named(make, subgoals, message):
    step = make.step((make.call("f"), Observation(content="x")))
    with pytest.raises(DataError, match=message.replace("!", r"\!")):
        verdicts(make.episode(step, subgoals=subgoals))


@given(st.sets(st.integers(0, 9)), st.permutations(range(10)))
def test_in_a_chain_what_counts_is_the_met_beginning(met, order):
    # Closed form: with k requiring k - 1, the count is the length of the unbroken run 0, 1, 2, ... of met ones.
    subgoals = tuple(said(str(k), k, *([str(k - 1)] if k else [])) for k in order)
    closure = prerequisites("t", subgoals)
    counted = {k for k in met if all(int(other) in met for other in closure[str(k)])}
    run = next((k for k in range(10) if k not in met), 10)
    assert counted == set(range(run))
    assert all(len(closure[str(b)]) == len(closure[str(a)]) + 1 for a, b in pairwise(range(10)))
