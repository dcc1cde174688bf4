"""job=verify as a page: it finds the trajectories, writes every verdict, and names the rules that broke."""

import os

import pytest

from rmtrain.config.compose import compose
from rmtrain.errors import DataError
from rmtrain.jobs.verify import run
from rmtrain.trajectories.schema import Call, Observation, Outcome, Source, Step, Task, Tool, make_trajectory
from rmtrain.trajectories.store import read, write
from rmtrain.verifiers.base import Verdict
from rmtrain.verifiers.suite import RULES


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """One trajectory: a call to a known tool, a call to an unknown one, reward 1."""
    monkeypatch.chdir(tmp_path)
    calls = [Call(call_id="a", name="look_up", arguments={"q": "x"}), Call(call_id="b", name="nothing", arguments={})]
    steps = tuple(
        Step(step_index=i, calls=(call,), observations=(Observation(call_id=call.call_id, content="ok"),))
        for i, call in enumerate(calls)
    )
    task = Task(task_id="t-1", query="Look.", tools=(Tool(name="look_up"),))
    one = make_trajectory(task=task, steps=steps, source=Source(format="openai"), outcome=Outcome(reward=1.0))
    write(tmp_path / "runs/main/ingest/trajectories.jsonl", [one])
    return tmp_path


def test_every_verdict_is_written_and_counted(corpus):
    folder = corpus / "runs/main/verify"
    report = run(compose(["job=verify"]), folder)
    verdicts = list(read(folder / "verdicts.jsonl", Verdict))
    assert report.counts["verdicts"] == len(verdicts)
    assert (report.counts["trajectories"], report.counts["calls"]) == (1, 2)
    assert report.figures["totals"]["known_tools"] == 1
    assert [v.value for v in verdicts if v.dimension == "correctness"] == [1.0]
    assert report.figures["verifiers"]["known_tool"]["mean"] == 0.5
    assert any(line.split() == ["known_tool", "2", "0", "0.500"] for line in report.lines)
    assert report.warnings == []
    assert report.next == ["python -m rmtrain job=build"]
    assert report.save(folder).is_file()


def test_a_broken_rule_is_a_warning_not_a_zero(corpus, monkeypatch):
    class Broken:
        name, version = "exact_match", 1

        def verify(self, trajectory):
            raise RuntimeError("out of paper")

    monkeypatch.setitem(RULES, "exact_match", lambda reader: Broken())
    report = run(compose(["job=verify"]), corpus / "runs/main/verify")
    assert report.warnings == ["the rule 'exact_match' broke on 1: raised RuntimeError: out of paper"]
    assert report.figures["verifiers"]["exact_match"]["mean"] is None


def test_no_trajectory_is_no_success_and_leaves_what_was_there(corpus):
    folder = corpus / "runs/main/verify"
    run(compose(["job=verify"]), folder)
    before = (folder / "verdicts.jsonl").read_bytes()
    write(corpus / "none.jsonl", [])
    with pytest.raises(
        DataError, match=r"^none\.jsonl: holds no trajectory\. Make some: python -m rmtrain job=ingest "
    ):
        run(compose(["job=verify", "trajectories=none.jsonl"]), folder)
    assert (folder / "verdicts.jsonl").read_bytes() == before


def test_a_pipe_is_refused_before_anything_is_read_or_replaced(corpus):
    folder = corpus / "runs/main/verify"
    run(compose(["job=verify"]), folder)
    before = (folder / "verdicts.jsonl").read_bytes()
    os.mkfifo(corpus / "pipe")
    with pytest.raises(
        DataError, match=r"^trajectories=pipe is a pipe\. Expected a file: trajectories=PATH, or make it"
    ):
        run(compose(["job=verify", "trajectories=pipe"]), folder)
    assert (folder / "verdicts.jsonl").read_bytes() == before


def test_a_log_is_told_from_trajectories(corpus):
    (corpus / "log.jsonl").write_text('{"messages": []}\n')
    expected = r"log\.jsonl:1: .*If it is a log, make trajectories of it first: .*job=ingest source\.path=log\.jsonl$"
    with pytest.raises(DataError, match=expected):
        run(compose(["job=verify", "trajectories=log.jsonl"]), corpus / "runs/main/verify")


def test_what_is_read_is_not_replaced(corpus):
    own = corpus / "own" / "verdicts.jsonl"
    own.parent.mkdir()
    (corpus / "runs/main/ingest/trajectories.jsonl").rename(own)
    with pytest.raises(
        DataError, match=r"^.*own/verdicts\.jsonl is read by this job .* Write elsewhere: hydra\.run\.dir="
    ):
        run(compose(["job=verify", f"trajectories={own}"]), own.parent)
    assert own.read_text().startswith('{"schema_version":"rmtrain.trajectory/1"')


def test_without_trajectories_it_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"^no trajectories in runs/main/ingest.* or runs/main/simulate"):
        run(compose(["job=verify"]), tmp_path / "runs/main/verify")
