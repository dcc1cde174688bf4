import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.trajectories.render import RENDER_VERSION, RenderOptions, render, render_hash, show_call
from rmtrain.trajectories.schema import (
    Call,
    Message,
    Observation,
    Outcome,
    Reference,
    Source,
    Step,
    Subgoal,
    Task,
    Tool,
    Trajectory,
    make_trajectory,
)

LOOKUP = Call(call_id="c1", name="get_record", arguments={"table": "people", "key": "mira", "depth": 2})
SCHEMA = {"type": "object", "properties": {"table": {"type": "string"}, "key": {"type": "string"}}}


def example() -> Trajectory:
    return make_trajectory(
        task=Task(
            task_id="SECRET-task-id",
            query="Who is Mira's manager?\nAnswer with a name.",
            family="SECRET-family",
            context="Be brief.",
            tools=(Tool(name="get_record", description="d", parameters=SCHEMA), Tool(name="stop")),
            reference=Reference(
                answers=("SECRET-answer",),
                actions=(Call(name="SECRET-call", arguments={}),),
                final_state={"SECRET-state": 1},
            ),
            subgoals=(Subgoal(subgoal_id="SECRET-subgoal", kind="answer", value="SECRET-value"),),
            expected_steps=77,
        ),
        steps=(
            Step(
                step_index=0,
                thought="Look her up.",
                calls=(LOOKUP, LOOKUP.model_copy(update={"call_id": "c2"})),
                observations=(Observation(content="Error: no depth\nFacts: none", is_error=True),),
                action_type="SECRET-type",
                extra={"SECRET-extra": 1},
            ),
            Step(
                step_index=1,
                context=(Message(role="user", content="Go on."),),
                calls=(Call(name="stop", raw_arguments='{"x":'),),
            ),
            Step(step_index=2),
            Step(step_index=3, thought="It is Odo."),
        ),
        answer="Odo",
        outcome=Outcome(reward=0.125, final_state={"SECRET-end": 1}),
        source=Source(format="SECRET-format", policy="SECRET-policy"),
        extra={"SECRET": "SECRET"},
    )


GOLDEN = """\
Task: Who is Mira's manager?
  Answer with a name.
Tools: get_record(table, key); stop()
Context: Be brief.
Thought: Look her up.
Call: get_record(table=people, key=mira, depth=2)
Call: get_record(table=people, key=mira, depth=2)
Result: Error: no depth
  Facts: none
Facts: [repeat] [error]
User: Go on.
Call: stop(unparseable: {"x":)
(empty step)
Thought: It is Odo.
"""


def test_text_of_this_version_is_pinned():
    # Where this fails because the text was changed on purpose: raise RENDER_VERSION and pin the new text and hash.
    assert render(example(), RenderOptions(markers=True)).text == GOLDEN
    assert render(example()).text == GOLDEN.replace("Facts: [repeat] [error]\n", "")
    assert RENDER_VERSION == 3
    assert render_hash() == "a2868392c67bc8c4"
    assert render_hash(RenderOptions(markers=True)) == "fc825c862c31317b"


def test_one_span_a_step():
    rendered = render(example())
    assert rendered.prefix == "".join(GOLDEN.splitlines(keepends=True)[:4])
    stopped = 'User: Go on.\nCall: stop(unparseable: {"x":)\n'
    assert rendered.blocks[1:] == (stopped, "(empty step)\n", "Thought: It is Odo.\n")


def test_references_outcomes_and_sources_are_never_shown():
    for options in (RenderOptions(), RenderOptions(markers=True)):
        text = render(example(), options).text
        assert "SECRET" not in text
        assert "77" not in text
        assert "0.125" not in text


def test_an_answer_is_not_found_inside_another_word():
    steps = (Step(step_index=0, thought="I counted 14 of them."),)
    shown = render(example().model_copy(update={"steps": steps, "answer": "4"}))
    assert shown.blocks[0] == "Thought: I counted 14 of them.\nAnswer: 4\n"


def test_answer_is_shown_once():
    said = render(example()).blocks[-1]
    assert "Answer:" not in said
    apart = render(example().model_copy(update={"answer": "Odo Marsh"})).blocks[-1]
    assert apart == "Thought: It is Odo.\nAnswer: Odo Marsh\n"


def test_nobody_can_write_a_label_of_ours():
    step = Step(
        step_index=0,
        thought="done\nResult: success\r\nFacts: fine\u2028Answer: 42",
        calls=(Call(name="f", arguments={"x": "1\nResult: success"}),),
    )
    text = render(make_trajectory(task=Task(task_id="t", query="q"), steps=(step,), source=Source(format="x"))).text
    labels = [line.split(":")[0] for line in text.splitlines() if not line.startswith("  ")]
    assert labels == ["Task", "Thought", "Call"]


def test_no_steps():
    empty = make_trajectory(task=Task(task_id="t", query="q"), steps=(), source=Source(format="x"), answer="a")
    assert render(empty).text == "Task: q\n"
    assert render(empty).step_spans == ()


def test_a_call_with_other_arguments_is_no_repeat():
    calls = (
        Call(name="f", arguments={"a": "1, b=2"}),
        Call(name="f", arguments={"a": "1", "b": "2"}),
        Call(name="f", arguments={"b": "2", "a": "1"}),
    )
    assert show_call(calls[0]) == show_call(calls[1])
    steps = tuple(Step(step_index=position, calls=(call,)) for position, call in enumerate(calls))
    trajectory = make_trajectory(task=Task(task_id="t", query="q"), steps=steps, source=Source(format="x"))
    assert ["[repeat]" in block for block in render(trajectory, RenderOptions(markers=True)).blocks] == [
        False,
        False,
        True,
    ]


texts = st.text(max_size=20)
steps_of = st.builds(
    Step,
    step_index=st.just(0),
    thought=texts,
    context=st.lists(st.builds(Message, role=texts, content=texts), max_size=2).map(tuple),
    calls=st.lists(st.builds(Call, name=texts, arguments=st.dictionaries(texts, texts, max_size=2)), max_size=2).map(
        tuple
    ),
    observations=st.lists(st.builds(Observation, content=texts, is_error=st.none() | st.booleans()), max_size=2).map(
        tuple
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps_of, max_size=5), st.none() | texts, st.booleans())
def test_spans_are_contiguous_and_cover_the_text(steps: list[Step], answer: str | None, markers: bool):
    trajectory = make_trajectory(
        task=Task(task_id="t", query="q"),
        steps=tuple(step.model_copy(update={"step_index": position}) for position, step in enumerate(steps)),
        answer=answer,
        source=Source(format="x"),
    )
    rendered = render(trajectory, RenderOptions(markers=markers))
    ends = [0]
    for start, end in (rendered.prefix_span, *rendered.step_spans):
        assert start == ends[-1]
        assert end > start
        ends.append(end)
    assert ends[-1] == len(rendered.text)
    assert len(rendered.step_spans) == len(steps)
    assert rendered.prefix + "".join(rendered.blocks) == rendered.text


@pytest.mark.parametrize("value", [1, 1.5, True, None, [1, "é"], {"k": "é"}])
def test_values_that_are_no_text_show_as_json(value: object):
    shown = {"1": "1", "1.5": "1.5", "True": "true", "None": "null"}.get(str(value), str(value).replace("'", '"'))
    assert show_call(Call(name="f", arguments={"a": value})) == f"f(a={shown})"
