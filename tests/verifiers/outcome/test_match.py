import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmtrain.verifiers.outcome.match import AnswerMatch, exact_match, holds_answer, normalize_answer, token_f1

EXACT, F1 = AnswerMatch("exact_match", exact_match), AnswerMatch("token_f1", token_f1)


@pytest.mark.parametrize(
    ("answer", "reference", "exact", "f1"),
    [
        ("The Eiffel Tower!", "eiffel  tower", 1.0, 1.0),
        # ours: 4 tokens, theirs: 2, shared 2; precision 1/2, recall 1, F1 = 2 * (1/2) / (3/2) = 2/3.
        ("it is eiffel tower", "Eiffel Tower", 0.0, 2 / 3),
        # "red" occurs twice here and once there, so it is shared once: 2 * 1 / (3 + 1) = 1/2.
        ("red red blue", "red", 0.0, 1 / 2),
        ("green", "red", 0.0, 0.0),
        # The articles go as words only: "theatre" and "an" inside "man" stay.
        ("a man in the theatre", "man in theatre", 1.0, 1.0),
        # Punctuation is removed, not replaced by a space: "3.5" is "35", "don't" is "dont".
        ("don't", "dont", 1.0, 1.0),
        ("the", "", 1.0, 1.0),
        ("", "red", 0.0, 0.0),
    ],
)
def test_by_hand(answer, reference, exact, f1):
    assert exact_match(answer, reference) == exact
    assert token_f1(answer, reference) == pytest.approx(f1)


def test_the_best_of_several_references_counts(make):
    trajectory = make.episode(make.step(), answer="Mira Li", answers=("Li", "mira li.", "Mira"))
    verdict = EXACT.verify(trajectory)[0]
    assert (verdict.verifier, verdict.value, verdict.evidence["reference"]) == ("exact_match", 1.0, '"mira li."')
    # Against "Li" alone: 2 * 1 / (2 + 1).
    only = make.episode(make.step(), answer="Mira Li", answers=("Li", "Rome"))
    assert F1.verify(only)[0].value == pytest.approx(2 / 3)


def test_absent_reference_absent_answer_and_nothing_recorded(make):
    assert EXACT.verify(make.episode(make.step()))[0].abstained_because == "the reference has no answers"
    unanswered = EXACT.verify(make.episode(make.step(), answer=None, answers=("x",)))[0]
    assert (unanswered.value, unanswered.reason) == (0.0, "the agent gave no answer")
    assert EXACT.verify(make.episode(answer=None, answers=("x",)))[0].value is None


@given(st.text(), st.text())
def test_bounds_symmetry_and_idempotence(left, right):
    assert 0 <= token_f1(left, right) <= 1
    assert token_f1(left, right) == token_f1(right, left)
    assert exact_match(left, left) == token_f1(left, left) == 1.0
    assert exact_match(left, right) <= token_f1(left, right)
    assert normalize_answer(normalize_answer(left)).split() == normalize_answer(left).split() or "a" in left.lower()


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("The answer is 42.", "42", 1.0),
        ("It is 42.0 in all", "42", 1.0),
        ("The answer is 142.", "42", 0.0),  # never a part of a number
        ("<answer> Beijing </answer>", "beijing", 1.0),
        ("Beijingers", "Beijing", 0.0),  # nor of a word
        ("!", "!", 1.0),  # a reference without a word falls back to exact match
    ],
)
def test_an_answer_holds_the_reference_word_for_word(answer, reference, value):
    assert holds_answer(answer, reference) == value
