"""job=score: rewards for a file or a log, one line per trajectory in order, the same every time."""

import json

import pytest

from rmtrain.errors import ConfigError, DataError, ModelError
from rmtrain.reward.scorer import RewardBreakdown, RewardModel
from rmtrain.trajectories.importers.base import BadRow
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, write

ROW = {
    "messages": [
        {"role": "user", "content": "What is the capital of France?"},
        {
            "role": "assistant",
            "content": "I look it up.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "France"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Paris"},
        {"role": "assistant", "content": "Paris."},
    ],
}


@pytest.fixture
def model(trained):
    return f"model={trained.artefacts['model']}"


def test_every_trajectory_gets_its_reward(flow, model, trained, files):
    report = flow.run("score", model)
    trajectories = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))
    rewards = list(read(report.artefacts["rewards"], RewardBreakdown))
    assert [reward.trajectory_id for reward in rewards] == [t.trajectory_id for t in trajectories]
    assert report.counts == {"trajectories": 48, "steps": sum(len(t.steps) for t in trajectories)}
    assert report.figures["cut_tokens"] == sum(reward.n_cut_tokens for reward in rewards)
    assert {reward.model for reward in rewards} == {report.figures["model"]}
    for name, mean in report.figures["mean"].items():
        assert mean == pytest.approx(sum(reward.trajectory[name].value for reward in rewards) / 48)
    alone = RewardModel.load(trained.artefacts["model"]).score(trajectories[:1])[0]
    assert alone.trajectory["correctness"].value == pytest.approx(rewards[0].trajectory["correctness"].value, abs=1e-5)

    before = files(flow.base / "score")
    flow.run("score", model)
    assert files(flow.base / "score") == before
    assert set(before) == {"rewards.jsonl"}


def test_a_raw_log_is_read_and_its_bad_rows_kept(flow, model, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([json.dumps(ROW), '{"messages": [', json.dumps(ROW)]) + "\n")
    report = flow.run(
        "score", model, "source=openai", f"source.path={log}", f"output={tmp_path}/r.jsonl", folder=tmp_path / "out"
    )
    assert report.artefacts["rewards"] == tmp_path / "r.jsonl"
    assert len(list(read(tmp_path / "r.jsonl", RewardBreakdown))) == report.counts["trajectories"] == 2
    (bad,) = read(report.artefacts["quarantine"], BadRow)
    assert bad.line == 2
    assert report.figures["ingest"]["bad_rows"] == 1
    assert report.warnings[0].startswith("1 of 3 rows could not be read and are in quarantine, the first: log.jsonl:2:")


def test_an_empty_file_gives_no_rewards_and_no_mean(flow, model, tmp_path):
    write(tmp_path / "none.jsonl", [])
    report = flow.run("score", model, f"input={tmp_path}/none.jsonl", folder=tmp_path / "out")
    assert report.counts["trajectories"] == 0
    assert report.figures["mean"] == {}


def test_a_failure_leaves_the_earlier_rewards(flow, model, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))[:2]
    write(tmp_path / "t.jsonl", rows)
    flow.run("score", model, f"input={tmp_path}/t.jsonl", folder=tmp_path / "out")
    before = (tmp_path / "out" / "rewards.jsonl").read_bytes()
    write(tmp_path / "t.jsonl", [rows[0], rows[1].model_copy(update={"steps": ()})])
    with pytest.raises(DataError, match=rf"trajectory '{rows[1].trajectory_id}' has no steps"):
        flow.run("score", model, f"input={tmp_path}/t.jsonl", folder=tmp_path / "out")
    assert (tmp_path / "out" / "rewards.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (
            ["input=/a.jsonl", "source=openai"],
            ConfigError,
            r"^input and source both say what to score\. Give input=FILE",
        ),
        (["input=/a.jsonl"], DataError, r"^input=/a\.jsonl does not exist\. .*or name another: input=PATH$"),
        (["corpus=void"], DataError, r"^no trajectories in .*void/ingest.*or name a file: input=FILE$"),
        (["model=/none"], ModelError, r"^/none is not a reward model folder: it has no rmtrain\.json\. .*job=train"),
    ],
)
def test_what_cannot_be_scored_is_named(flow, model, overrides, error, message, tmp_path):
    with pytest.raises(error, match=message):
        flow.run("score", model, *overrides, folder=tmp_path / "out")
    assert not (tmp_path / "out" / "rewards.jsonl").exists()
