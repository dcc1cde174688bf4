from typing import Any

import pytest

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.chat import Chat, read_chat
from rmtrain.trajectories.schema import Message


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str | None = None, *ids: str | None, **more: Any) -> dict[str, Any]:
    made = [{"id": call_id, "function": {"name": f"f{at}", "arguments": "{}"}} for at, call_id in enumerate(ids)]
    return {"role": "assistant", "content": text, "tool_calls": made, **more}


def result(text: str, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call_id, **more}


def observed(chat: Chat) -> list[list[tuple[str | None, str]]]:
    return [[(seen.call_id, seen.content) for seen in step.observations] for step in chat.steps]


def test_where_each_message_goes():
    chat = read_chat(
        [
            system("policy"),
            {"role": "developer", "content": "style"},
            user("task"),
            user("and quickly"),
            agent("I look", "a"),
            result("found", "a"),
            system("note"),
            user("well?"),
            agent("Done."),
            user("thanks"),
            system("stop"),
        ]
    )
    assert (chat.context, chat.query, chat.answer) == ("policy\n\nstyle", "task", "Done.")
    assert [step.thought for step in chat.steps] == ["I look", "Done."]
    assert [step.step_index for step in chat.steps] == [0, 1]
    assert [step.extra["message_index"] for step in chat.steps] == [4, 8]
    assert chat.steps[0].context == (Message(role="user", content="and quickly"),)
    assert chat.steps[1].context == (Message(role="system", content="note"), Message(role="user", content="well?"))
    assert chat.extra == {
        "trailing_messages": [{"role": "user", "content": "thanks"}, {"role": "system", "content": "stop"}]
    }
    assert chat.placed == {"task": 3, "step": 2, "context": 3, "observation": 1, "extra": 2}


def test_results_go_to_the_call_of_their_id_wherever_it_is():
    results = (result("1", "c"), result("2", "b"), result("3", "a"))
    chat = read_chat([user("q"), agent("", "a", "b"), agent("", "c"), *results])
    assert observed(chat) == [[("b", "2"), ("a", "3")], [("c", "1")]]


def test_a_repeated_id_means_the_latest_call_that_waits():
    chat = read_chat([user("q"), agent("", "a"), agent("", "a"), result("late", "a"), result("early", "a")])
    assert observed(chat) == [[("a", "early")], [("a", "late")]]
    chat = read_chat([user("q"), agent("", "a"), result("1", "a"), agent("", "a"), result("2", "a")])
    assert observed(chat) == [[("a", "1")], [("a", "2")]]


def test_one_id_for_two_calls_of_a_message():
    chat = read_chat([user("q"), agent("", "a", "a"), result("1", "a", name="f0"), result("2", "a", name="f1")])
    assert observed(chat) == [[("a", "1"), ("a", "2")]]
    assert chat.extra == {}  # each name is that of its call, so the order is right


def test_a_second_result_of_a_call_is_kept():
    assert observed(read_chat([user("q"), agent("", "a"), result("1", "a"), result("2", "a")])) == [
        [("a", "1"), ("a", "2")]
    ]


def test_results_without_id_go_by_name_and_order_to_the_last_step():
    chat = read_chat([user("q"), agent("", "a", "b"), result("first"), result("second")])
    assert observed(chat) == [[("a", "first"), ("b", "second")]]
    chat = read_chat([user("q"), agent("", "a", "b"), result("first", name="f1"), result("second")])
    assert observed(chat) == [[("b", "first"), ("a", "second")]]
    chat = read_chat([user("q"), agent("", None, None), result("first", "x"), result("second", "")])
    assert observed(chat) == [[("x", "first"), (None, "second")]]


def test_the_older_function_call():
    chat = read_chat(
        [
            user("q"),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "f", "content": "r"},
        ]
    )
    assert chat.steps[0].calls[0].arguments == {"a": 1}
    assert observed(chat) == [[(None, "r")]]


def test_reasoning_stands_before_what_is_said_and_is_no_answer():
    chat = read_chat([user("q"), agent("said", reasoning_content="thought", reasoning="thought", thinking=" ")])
    assert (chat.steps[0].thought, chat.answer) == ("thought\nsaid", "said")
    chat = read_chat([user("q"), agent("", reasoning_content="thought", thinking={"deep": 1})])
    assert (chat.steps[0].thought, chat.answer) == ("thought", None)
    assert chat.steps[0].extra["thinking"] == {"deep": 1}


def test_a_refusal_is_what_the_agent_said():
    chat = read_chat([user("q"), agent(None, refusal="I can't.")])
    assert (chat.steps[0].thought, chat.answer) == ("I can't.", "I can't.")
    assert "refusal" not in chat.steps[0].extra


@pytest.mark.parametrize(
    ("last", "answer"),
    [(agent(" A \n"), "A"), (agent("A", "c"), None), (agent(""), None), (agent(None), None)],
)
def test_answer_is_the_last_text_without_calls(last: dict[str, Any], answer: str | None):
    assert read_chat([user("q"), agent("earlier"), last]).answer == answer


def test_what_has_no_place_is_kept_by_message_index():
    image = {"type": "image_url", "image_url": "x"}
    chat = read_chat(
        [
            user([{"type": "text", "text": "look"}, image]) | {"name": "ann"},
            agent("", "a", audio={"id": 1}, refusal=None),
            result("r", "a", name="other", time=3),
        ]
    )
    assert chat.query == "look"
    assert chat.extra["messages"] == {
        "0": {"parts": {"1": image}, "name": "ann"},
        "2": {"name": "other", "time": 3},
    }
    assert chat.steps[0].extra == {"message_index": 1, "audio": {"id": 1}}


def test_is_error_is_what_the_log_or_the_rule_says_else_unknown():
    messages = [user("q"), agent("", "a", "b"), result("Error: no", "a"), result("fine", "b", is_error=True)]
    assert [seen.is_error for seen in read_chat(messages).steps[0].observations] == [None, True]
    ruled = read_chat(messages, is_error=lambda content: content.startswith("Error"))
    assert [seen.is_error for seen in ruled.steps[0].observations] == [True, True]


def test_a_query_of_the_row_leaves_another_first_message_as_context():
    chat = read_chat([user("prompt: q"), agent("a")], query="q")
    assert (chat.query, chat.steps[0].context) == ("q", (Message(role="user", content="prompt: q"),))
    assert chat.placed["context"] == 1
    same = read_chat([user(" q\n"), agent("a")], query="q")
    assert (same.query, same.steps[0].context, same.placed["task"]) == ("q", (), 1)
    assert read_chat([agent("a")], query="q").query == "q"
    assert read_chat([user("q"), agent("a")], query=" ").query == "q"


def test_a_greeting_before_the_task_is_a_step():
    chat = read_chat([system("s"), agent("Hello"), system("t"), user("q"), agent("a")])
    assert (chat.context, chat.query, len(chat.steps)) == ("s", "q", 2)
    assert chat.steps[1].context == (Message(role="system", content="t"),)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([user("q")], "holds no assistant message, so there is no step to judge"),
        ([], "holds no assistant message"),
        ([agent("a")], "no user message with text and no 'query' says what .* name it: source.fields.query=NAME$"),
        ([user([]), agent("a")], "no user message with text"),
        (
            [user("q"), {"role": "tol", "content": ""}],
            r"^message 1 has role 'tol'\. Expected one of: system, developer",
        ),
        ([user("q"), {"role": ["x"]}], "message 1 has role that is a list"),
        ([{"content": "q"}], "message 0 has no role"),
        ([user("q"), "hello"], "message 1 is text"),
        ([None], "message 0 is null"),
        (
            [user("q"), agent("", "a"), result("r", "x")],
            r"message 2 is a tool result for call 'x', which no earlier message made",
        ),
        ([user("q"), result("r", "a"), agent("", "a")], "message 1 is a tool result for call 'a', which no earlier"),
        (
            [user("q"), agent("", "a"), result("r", "a"), result("s")],
            "message 3 is a tool result without a tool_call_id",
        ),
        ([user("q"), agent("", "a"), agent(""), result("s")], "no call of the last assistant message waits for one"),
        (
            [user("q"), agent("", "a"), result("r") | {"tool_call_id": 5}],
            "message 2 has a tool_call_id that is a number",
        ),
        ([user({"a": 1}), agent("a")], "message 0 has content that is an object"),
    ],
)
def test_what_cannot_be_understood_is_named(messages: list[Any], message: str):
    with pytest.raises(DataError, match=message):
        read_chat(messages)


def test_time_is_linear_in_the_number_of_calls():
    n = 1000
    messages = [user("q"), *(part for at in range(n) for part in (agent("", f"c{at}"), result("r", f"c{at}")))]
    chat = read_chat(messages)
    assert all(len(step.observations) == 1 for step in chat.steps)
