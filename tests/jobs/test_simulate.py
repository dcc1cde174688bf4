"""job=simulate: trajectories, what is true of them and what people say of them, the same every time."""

import pytest

from rmtrain.errors import ConfigError
from rmtrain.labels.schema import ANNOTATION, Comparison, Ranking, StepLabel
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read
from rmtrain.world.truth import Truth


def test_three_files_about_the_same_trajectories(flow, simulated, goes_on):
    folder = flow.base / "simulate"
    trajectories = list(read(folder / "trajectories.jsonl", Trajectory))
    truths = list(read(folder / "truth.jsonl", Truth))
    annotations = list(read(folder / "annotations.jsonl", ANNOTATION))
    assert [truth.trajectory_id for truth in truths] == [t.trajectory_id for t in trajectories]
    assert simulated.counts == {"tasks": 16, "trajectories": 48, "annotations": len(annotations)}
    ids = {trajectory.trajectory_id for trajectory in trajectories}
    n_steps = {trajectory.trajectory_id: len(trajectory.steps) for trajectory in trajectories}
    labelled = {(a.trajectory_id, a.step_index) for a in annotations if isinstance(a, StepLabel)}
    assert labelled == {(t, i) for t, n in n_steps.items() for i in range(n)}  # every step
    for answer in annotations:
        if isinstance(answer, Comparison):
            assert {answer.trajectory_a, answer.trajectory_b} < ids
        elif isinstance(answer, Ranking):
            assert {name for level in answer.order for name in level} < ids
    assert sum(simulated.figures["policies"].values()) == 48
    assert simulated.figures["families"] == dict.fromkeys(("lookup", "calculation", "contradiction", "promise"), 4)
    assert simulated.figures["splits"] == {"train": 8, "validation": 4, "test": 4}
    (following,) = goes_on(simulated)
    assert (following.job, following.corpus) == ("verify", "embedded")


def test_splits_that_stay_empty_are_a_warning_with_the_number_that_fills_them(flow, simulated, tmp_path):
    assert simulated.warnings == []
    few = flow.run("simulate", "world.n_tasks=8", folder=tmp_path / "few")
    # two tasks a family lie at 1/4 and 3/4, three at 1/6, 1/2 and 5/6, four at 1/8, 3/8, …; validation is [1/4, 1/2)
    (warning,) = few.warnings
    assert warning == (
        "world.n_tasks=8 is too few for these shares: no task of some family is in test; "
        "the next number that fills them is world.n_tasks=16"
    )


def test_run_twice_nothing_doubles(flow, simulated, files):
    before = files(flow.base / "simulate")
    flow.run("simulate")
    assert files(flow.base / "simulate") == before
    assert set(before) == {"trajectories.jsonl", "truth.jsonl", "annotations.jsonl"}


def test_too_few_people_leave_what_was_there(flow, simulated, files):
    before = files(flow.base / "simulate")
    with pytest.raises(ConfigError, match=r"overlap is 9 and count 6"):
        flow.run("simulate", "world.annotators.overlap=9")
    assert files(flow.base / "simulate") == before
