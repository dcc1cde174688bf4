import pytest
from pydantic import ValidationError

from rmtrain.verifiers.base import Verdict, Verifier, abstained, decided
from rmtrain.verifiers.outcome.reward import SourceReward

SUBJECT = {"verifier": "v", "version": 1, "trajectory_id": "t"}


def test_a_verdict_has_a_value_or_an_abstention_never_both_nor_neither():
    for given in ({}, {"value": 0.0, "abstained_because": "no reference"}):
        with pytest.raises(ValidationError, match="either a value or abstained_because"):
            Verdict(**SUBJECT, **given)
    assert Verdict(**SUBJECT, value=0.0).value == 0.0
    assert Verdict(**SUBJECT, abstained_because="no reference").value is None


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_value_outside_the_unit_interval_is_refused(value):
    with pytest.raises(ValidationError):
        Verdict(**SUBJECT, value=value)


def test_verdicts_name_their_rule_and_subject(make):
    trajectory = make.episode()
    rule = SourceReward()
    assert isinstance(rule, Verifier)
    for verdict in (decided(rule, trajectory, 0.5, "half"), abstained(rule, trajectory, "no reward")):
        assert (verdict.verifier, verdict.version) == ("source_reward", 1)
        assert verdict.trajectory_id == trajectory.trajectory_id
        assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
