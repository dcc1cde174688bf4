import json

import pytest

from rmtrain.trajectories.importers.tau_bench import TauBench
from rmtrain.trajectories.schema import Observation, digest
from rmtrain.verifiers.base import Verdict
from rmtrain.verifiers.suite import VerifierSuite
from rmtrain.verifiers.summary import KEPT_REASONS, OTHER, VerdictSummary


def test_counts_by_hand(make):
    tools = (make.tool("get_x", n={"type": "integer"}),)
    summary = VerdictSummary()
    for trajectory in (
        make.episode(
            make.step((make.call("get_x", n=1), "a"), (make.call("get_x", n=1), "a")),
            make.step((make.call("get_x", n="1"), Observation(content="bad", is_error=True))),
            tools=tools,
            reward=1.0,
        ),
        make.episode(make.step((make.call("get_y"), "b")), tools=tools, reward=0.5),
        make.episode(make.step(), tools=tools),
    ):
        summary.add(VerifierSuite().verify(trajectory))
    # Four calls: three of a known tool; two valid, one invalid, one unknown; one repeat; one error.
    # Achieved nothing: the repeat, which said the same again, and the error.
    assert summary.n_calls == 4
    assert summary.totals == {
        "known_tools": 3,
        "schema_valid": 2,
        "exact_repeats": 1,
        "error_results": 1,
        "achieved_nothing": 2,
    }
    report = summary.as_dict()
    assert report["trajectories"] == 3
    assert report["verifiers"]["source_reward"] == {
        "decided": 2,
        "mean": 0.75,
        "abstained": 1,
        "abstained_because": {"the source gave no reward": 1},
    }
    assert report["verifiers"]["final_state"]["mean"] is None
    json.dumps(report, allow_nan=False)


def test_nothing_counted_has_no_mean():
    assert VerdictSummary().as_dict() == {
        "trajectories": 0,
        "totals": {"calls": 0, **dict.fromkeys(VerdictSummary().totals)},
        "verifiers": {},
    }


def test_what_no_rule_told_is_not_zero():
    summary = VerdictSummary()
    summary.add([Verdict(verifier="known_tool", version=1, trajectory_id="t", step_index=0, call_index=0, value=0.0)])
    assert summary.n_calls == 1
    assert summary.totals["known_tools"] == 0
    assert {total for name, total in summary.totals.items() if name != "known_tools"} == {None}


def test_the_number_of_kept_reasons_is_bounded():
    summary = VerdictSummary()
    for i in range(KEPT_REASONS + 7):
        summary.add([Verdict(verifier="v", version=1, trajectory_id="t", abstained_because=f"reason {i}")])
    summary.add([Verdict(verifier="v", version=1, trajectory_id="t", abstained_because="reason 0")])
    reasons = summary.verifiers["v"].abstained
    assert (reasons[OTHER], reasons["reason 0"]) == (7, 2)
    assert summary.as_dict()["verifiers"]["v"]["abstained"] == KEPT_REASONS + 8


def test_the_counts_of_tau_bench_are_the_published_ones(real_data):
    # shared/data/tau-bench/README.md: 1164 calls, all known and schema-valid, 32 exact repeats. It says 72 errors;
    # the file holds 73 tool messages that start with "Error", counted here without our code.
    path = real_data / "tau-bench" / "gpt-4o-airline.json"
    importer = TauBench()
    trajectories = [importer.convert(raw).trajectory for raw in importer.read(path, path.name)]
    records = json.loads(path.read_text())
    messages = [message for record in records for message in record["traj"] if message["role"] == "tool"]
    errors = sum(message["content"].startswith("Error") for message in messages)
    summary = VerdictSummary()
    before = digest([each.model_dump(mode="json") for each in trajectories])
    for verdicts in VerifierSuite().verify_corpus(trajectories):
        summary.add(verdicts)
        assert [each.dimension for each in verdicts if each.dimension] == ["correctness", "tool_efficiency"]
    totals = summary.totals
    assert summary.trajectories == 200
    assert summary.n_calls == totals["known_tools"] == totals["schema_valid"] == 1164
    assert totals["exact_repeats"] == 32
    assert totals["error_results"] == errors == 73
    # pass^1 is published as .420: the mean of 200 rewards of 0 or 1.
    assert summary.verifiers["correctness"].mean == pytest.approx(0.42)
    assert digest([each.model_dump(mode="json") for each in trajectories]) == before
