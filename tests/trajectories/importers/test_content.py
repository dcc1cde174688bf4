import pytest

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.content import read_content, unmapped

IMAGE = {"type": "image_url", "image_url": {"url": "data:…"}}


@pytest.mark.parametrize(
    ("content", "text", "left"),
    [
        (None, "", {}),
        ("", "", {}),
        (" a\n", " a\n", {}),
        ([], "", {}),
        (["a", {"type": "text", "text": "b"}], "a\nb", {}),
        ([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}], "a\nb", {"1": IMAGE}),
        ([{"type": "output_text", "text": "a", "annotations": [1]}], "a", {"0": {"annotations": [1]}}),
        ([{"type": "refusal", "refusal": "No."}], "No.", {}),
        ([{"type": "text", "text": None}], "", {"0": {"type": "text", "text": None}}),
        ([{"type": "new", "x": 1}], "", {"0": {"type": "new", "x": 1}}),
    ],
)
def test_text_is_joined_and_the_rest_kept(content: object, text: str, left: dict[str, object]):
    assert read_content(0, "user", content) == (text, left)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"a": "é"}, '{"a": "é"}'),
        (5, "5"),
        (False, "false"),
        (["a", "b"], '["a", "b"]'),
        ([{"type": "flight", "id": 1}], '[{"type": "flight", "id": 1}]'),
        ([{"type": "text", "text": "a"}], "a"),
    ],
)
def test_a_result_logged_as_a_value_becomes_its_json(content: object, text: str):
    assert read_content(0, "tool", content) == (text, {})


@pytest.mark.parametrize(
    ("content", "kind"), [({"a": 1}, "an object"), (5, "a number"), ([1], "a list"), ([{"text": "a"}], "a list")]
)
def test_other_content_of_a_speaker_is_refused(content: object, kind: str):
    with pytest.raises(DataError, match=rf"message 7 has content that is {kind}\. Expected text or a list of parts"):
        read_content(7, "user", content)


@pytest.mark.parametrize("kind", ["tool_use", "tool_result"])
def test_another_format_is_named(kind: str):
    with pytest.raises(DataError, match=f"message 3 has a part of type '{kind}', which is Anthropic's format"):
        read_content(3, "assistant", [{"type": kind, "id": "x"}])


def test_unmapped_keeps_false_and_zero():
    assert unmapped({"a": 1, "b": None, "c": False, "d": 0, "e": ""}, "a") == {"c": False, "d": 0, "e": ""}
