"""job=score: rewards for a file or a log, one line per trajectory in order, the same every time."""

import json
import os

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


def test_an_empty_file_is_refused(flow, model, tmp_path):
    write(tmp_path / "none.jsonl", [])
    with pytest.raises(DataError, match=r"none\.jsonl: holds no trajectory to score\. Name another: input=FILE"):
        flow.run("score", model, f"input={tmp_path}/none.jsonl", folder=tmp_path / "out")
    assert not (tmp_path / "out" / "rewards.jsonl").exists()


def test_a_failure_leaves_the_earlier_rewards(flow, model, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))[:2]
    write(tmp_path / "t.jsonl", rows)
    flow.run("score", model, f"input={tmp_path}/t.jsonl", folder=tmp_path / "out")
    before = (tmp_path / "out" / "rewards.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_text(rows[0].model_dump_json() + "\n{\n")
    with pytest.raises(DataError, match=r"t\.jsonl:2: not valid JSON"):
        flow.run("score", model, f"input={tmp_path}/t.jsonl", folder=tmp_path / "out")
    assert (tmp_path / "out" / "rewards.jsonl").read_bytes() == before


def test_a_trajectory_without_a_step_is_left_out_and_counted(flow, model, tmp_path):
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))[:4]
    mixed = [row.model_copy(update={"steps": ()}) if index in (1, 2) else row for index, row in enumerate(rows)]
    write(tmp_path / "t.jsonl", mixed)
    report = flow.run("score", model, f"input={tmp_path}/t.jsonl", folder=tmp_path / "out")
    rewards = read(report.artefacts["rewards"], RewardBreakdown)
    assert [reward.trajectory_id for reward in rewards] == [rows[0].trajectory_id, rows[3].trajectory_id]
    assert report.counts == {"trajectories": 2, "steps": len(rows[0].steps) + len(rows[3].steps)}
    assert report.figures["without_step"] == 2
    assert report.warnings[0] == (
        f"2 trajectories have no step to judge and were left out, the first: '{rows[1].trajectory_id}'"
    )


@pytest.fixture
def unloaded(flow, monkeypatch, tmp_path):
    """Runs the job with a model that must not be asked for: what is refused is refused before the work."""

    def load(path):
        raise AssertionError("the model was loaded")

    def score(*overrides):
        return flow.run("score", "model=m", *overrides, folder=tmp_path / "out")

    monkeypatch.setattr(RewardModel, "load", load)
    return score


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("my folder", r"folder is a folder\. Name a file in it: 'output=\".*/my folder/rewards\.jsonl\"'$"),
        ("pipe", r"pipe is a pipe\. Name another file: output=FILE$"),
        ("t.jsonl", r"t\.jsonl is read by this job and would be replaced by it\. Write elsewhere: output=FILE"),
        ("link.jsonl", r"link\.jsonl is read by this job and would be replaced by it"),
        ("thesis.txt", r"thesis\.txt holds something other than rewards, which would be lost\. Name another file"),
        ("thesis.txt/r.jsonl", r"r\.jsonl cannot be made: .*/thesis\.txt is no folder\. Name another file"),
        ("out/report.json", r"report\.json is where this job writes something else"),
    ],
)
def test_where_rewards_cannot_go_is_said_before_anything_is_scored(
    flow, simulated, unloaded, tmp_path, output, message
):
    (tmp_path / "my folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "thesis.txt").write_text("for years")
    rows = list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))[:1]
    write(tmp_path / "t.jsonl", rows)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "t.jsonl")
    with pytest.raises(DataError, match=message):
        unloaded(f"input={tmp_path}/t.jsonl", f"output='{tmp_path}/{output}'")
    assert list(read(tmp_path / "t.jsonl", Trajectory)) == rows
    assert (tmp_path / "thesis.txt").read_text() == "for years"


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        ("log.jsonl", "log.jsonl", r"log\.jsonl is read by this job and would be replaced by it"),
        ("out/quarantine.jsonl", "r.jsonl", r"quarantine\.jsonl is read by this job and would be replaced by it"),
        ("", "log.jsonl", r"log\.jsonl holds something other than rewards, which would be lost"),
        ("log.jsonl", "out/quarantine.jsonl", r"quarantine\.jsonl is where this job writes something else"),
    ],
)
def test_a_log_is_not_replaced(unloaded, tmp_path, source, output, message):
    for name in ("log.jsonl", "out/quarantine.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(ROW) + "\n")
    with pytest.raises(DataError, match=message):
        unloaded("source=openai", f"source.path='{tmp_path}/{source}'", f"output={tmp_path}/{output}")


def test_a_folder_that_is_closed_is_named_before_anything_is_scored(simulated, unloaded, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(
        DataError, match=r"new/r\.jsonl cannot be made: there is no right to write in .*\. Name another"
    ):
        unloaded(f"output={tmp_path}/new/r.jsonl")


def test_earlier_rewards_are_replaced_under_a_name_of_ones_own(flow, model, tmp_path):
    write(tmp_path / "t.jsonl", list(read(flow.base / "simulate" / "trajectories.jsonl", Trajectory))[:1])
    for _ in range(2):
        flow.run("score", model, f"input={tmp_path}/t.jsonl", f"output={tmp_path}/r.jsonl", folder=tmp_path / "out")
    assert len(list(read(tmp_path / "r.jsonl", RewardBreakdown))) == 1


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
