import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.verifiers.outcome.tokens import contains, tokens


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The total is 42.", 42),
        ("The total is 42.0 dollars", "42"),
        ("The total is 42", 42.0),
        ("It costs $1,250.50!", 1250.5),
        ("It costs 1250", "1,250"),
        ("-5 degrees", -5),
        ("\u22125 degrees", -5),
        ("that is 1e3 units", 1000),
        ("50% of them", 50),
        ("(12)", "12"),
        ("12, 13 and 14", 13),
        ("prices 1,2,3", 2),
        ("Booked for MIRA LI.", "Mira Li"),
        ("on 2024-05-20 at 12:30", "2024-05-20"),
        ("flight HAT136 leaves", "HAT136"),
        ("答案是北京。", "北京"),
        ("共42元", 42),
        ("yes, it is true", True),
        ('{"prices":[100,200]}', 100),
        ('{"user": {"name": "Mira Li"}, "open": true}', {"name": "Mira Li"}),
        ("the list 3 4", [3, 4]),
        ("account 123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.10", ".1"),
        ("a-b", "a b"),
    ],
)
def test_contained(text, value):
    assert contains(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("112", 12),
        ("120", "12"),
        ("12.5", 12),
        ("1.12", 12),
        ("1,234", 1),
        ("1,234", 234),
        ("-5", 5),
        ("5", -5),
        ("HAT136", 136),
        ("5kg", 5),
        ("12.5kg", 12.5),
        ("2024-05-20", 20),
        ("12:30", 12),
        ("1.2.3", 1.2),
        ("gift_card_12", 12),
        ("Mira Lind", "Mira Li"),
        ("Mira and Li", "Mira Li"),
        ("account 123456789012345678901234567891", "123456789012345678901234567890"),
        ('{"prices":[100,200]}', 100200),
        ("", "x"),
    ],
)
def test_not_contained(text, value):
    assert not contains(text, value)


def test_a_value_without_word_or_number_cannot_be_looked_for():
    for value in ("", " ", "$!", [], {}):
        with pytest.raises(ValueError, match="holds no word and no number to look for"):
            contains("text", value)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.text(alphabet="ab .!?", max_size=9))
def test_a_number_is_found_in_a_sentence_however_it_is_written(number, around):
    assert contains(f"{around} {number} {around}", number)
    assert contains(f"{around} {number} {around}", str(number))
    if isinstance(number, int):
        assert contains(f"{around} {number:,} {around}", number)
        assert contains(f"{around} {number}.0 {around}", number)


@given(st.integers(), st.integers())
def test_numbers_are_contained_exactly_when_equal(one, other):
    assert contains(str(one), other) == (one == other)


@given(st.text())
def test_a_text_contains_itself(text):
    if tokens(text):
        assert contains(f"before {text} after" if not text.strip().startswith(("{", "[")) else text, text)


def test_deep_json_and_long_texts_are_no_danger():
    assert not contains("[" * 100_000 + "]" * 100_000, "x")
    assert contains("1," * 50_000 + "7", 7)
    assert not contains("1." * 50_000, 7)
    assert not contains("1e" * 50_000, 7)
