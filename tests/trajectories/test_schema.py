import pytest
from pydantic import ValidationError

from rmtrain.trajectories.schema import (
    Call,
    Observation,
    Outcome,
    Source,
    Step,
    Task,
    call_key,
    digest,
    make_trajectory,
)

TASK = Task(task_id="t", query="q")
STEP = Step(step_index=0, thought="think", calls=(Call(name="f", arguments={"a": 1}),))


def test_id_is_pinned():
    # Recorded with this code; a change of the id cuts stored annotations off from their trajectories.
    trajectory = make_trajectory(task=TASK, steps=(STEP,), source=Source(format="x", line=3, trial=1), answer="a")
    assert trajectory.trajectory_id == "4ca14dd79f834ef4"


@pytest.mark.parametrize(
    "source",
    [
        Source(format="x", line=1, trial=1),
        Source(format="x", line=2),
        Source(format="x", line=1, row=2),
        Source(format="x", line=1, seed=0),
    ],
)
def test_trials_of_equal_content_have_their_own_ids(source: Source):
    one = make_trajectory(task=TASK, steps=(STEP,), source=Source(format="x", line=1))
    assert make_trajectory(task=TASK, steps=(STEP,), source=source).trajectory_id != one.trajectory_id


def test_id_ignores_where_the_file_lies():
    ids = {
        make_trajectory(task=TASK, steps=(STEP,), source=Source(format="x", file=file, line=1)).trajectory_id
        for file in ("a.jsonl", "folder/a.jsonl", None)
    }
    assert len(ids) == 1


def test_steps_count_from_zero_in_order():
    later = STEP.model_copy(update={"step_index": 2})
    with pytest.raises(ValidationError, match="step 1 has step_index 2"):
        make_trajectory(task=TASK, steps=(STEP, later), source=Source(format="x"))


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_an_absent_reward_is_none_and_never_nan(reward: float):
    assert Outcome().reward is None
    with pytest.raises(ValidationError, match="finite"):
        Outcome(reward=reward)


def test_a_misspelt_field_is_refused():
    with pytest.raises(ValidationError, match="Extra inputs"):
        Observation.model_validate({"content": "x", "iserror": True})


def test_records_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        STEP.thought = "other"


def test_call_key_ignores_the_order_of_arguments_and_keeps_types_apart():
    key = call_key(Call(name="f", arguments={"a": 1, "b": "2"}))
    assert key == call_key(Call(call_id="other", name="f", arguments={"b": "2", "a": 1}))
    assert key != call_key(Call(name="f", arguments={"a": 1, "b": 2}))
    one, two = ({"a": "1, b=2"}, {"a": "1", "b": "2"})  # both read as f(a=1, b=2)
    assert call_key(Call(name="f", arguments=one)) != call_key(Call(name="f", arguments=two))
    assert call_key(Call(name="f", raw_arguments="{")) != call_key(Call(name="f", raw_arguments="{{"))


def test_digest_is_of_the_canonical_json():
    # printf '{"a":[1,"é"],"b":null}' | sha256sum
    assert digest({"b": None, "a": (1, "é")}) == "1e02bc81a26af2f027329541e97eef36f3290bedc6dfe043dbe66b057ecb13ba"
