import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Call
from rmtrain.verifiers.outcome.actions import FinalState, GoldActions, undone
from rmtrain.verifiers.tools.calls import CallReader


def gold(trajectory):
    return GoldActions(CallReader()).verify(trajectory)[0]


def test_final_state_names_the_differing_paths(make):
    right = {"users": {"7": {"seats": 2}}, "log": [1]}
    same = make.episode(right_state=right, state={"log": [1.0], "users": {"7": {"seats": 2}}})
    assert FinalState().verify(same)[0].value == 1.0
    other = make.episode(right_state=right, state={"users": {"7": {"seats": 3}}, "log": [1]})
    verdict = FinalState().verify(other)[0]
    assert (verdict.value, verdict.evidence) == (0.0, {"differing": 1, "paths": ["users.7.seats"]})
    assert verdict.reason == "the final state differs from the reference at 1 path"


def test_final_state_abstains_where_either_side_is_absent(make):
    assert FinalState().verify(make.episode(state={}))[0].abstained_because == "the reference has no final state"
    assert FinalState().verify(make.episode(right_state={}))[0].abstained_because == "the final state is not recorded"
    assert FinalState().verify(make.episode(right_state={}, state={}))[0].value == 1.0


def test_gold_actions_by_hand(make):
    # Four gold actions. pay(1) is done once of twice; book has an extra argument, so it is another action;
    # cancel failed first and was done later. 2 of 4.
    trajectory = make.episode(
        make.step((make.call("pay", n=1.0), "ok")),
        make.step((make.call("book", room=1, late=True), "ok")),
        make.step((make.call("cancel", id=5), "Error: busy")),
        make.step((make.call("cancel", id=5), "done")),
        actions=(make.call("pay", n=1), make.call("pay", n=1), make.call("book", room=1), make.call("cancel", id=5)),
    )
    verdict = gold(trajectory)
    assert verdict.value == 2 / 4
    assert verdict.evidence == {"done": 2, "gold": 4, "missing": ["pay", "book"], "other_calls": 1}


def test_a_failed_call_does_nothing_but_an_unrecorded_result_is_no_failure(make):
    actions = (make.call("pay", n=1),)
    assert gold(make.episode(make.step((make.call("pay", n=1), "Error")), actions=actions)).value == 0.0
    assert gold(make.episode(make.step((make.call("pay", n=1), None)), actions=actions)).value == 1.0


def test_gold_actions_abstain_or_name_what_is_wrong(make):
    assert gold(make.episode(make.step())).abstained_because == "the reference has no actions"
    assert gold(make.episode(actions=(make.call("f"),))).abstained_because == "nothing was recorded: no steps"
    assert gold(make.episode(make.step(), actions=(make.call("f"),))).value == 0.0
    with pytest.raises(DataError, match=r"task 't1': gold action 0 \('f'\) has no arguments object"):
        gold(make.episode(make.step(), actions=(Call(name="f"),)))


CALLS = st.lists(st.builds(Call, name=st.sampled_from("fg"), arguments=st.fixed_dictionaries({"n": st.integers(0, 2)})))


@given(CALLS, CALLS)
def test_undone_is_the_difference_of_multisets(wanted, made):
    # Second implementation: count each (name, n).
    def count(calls, key):
        return sum((each.name, each.arguments["n"]) == key for each in calls)

    keys = {(each.name, each.arguments["n"]) for each in wanted}
    missing = undone(wanted, made)
    assert all(count(missing, key) == max(0, count(wanted, key) - count(made, key)) for key in keys)
