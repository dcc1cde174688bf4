from dataclasses import replace

import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, Value
from rmtrain.errors import DataError
from rmtrain.model.labels import check_labels

C = {"c": HeadSettings()}
Q = {"q": HeadSettings(level="step", objective="ordinal", classes=3)}
P = {"p": HeadSettings(objective="bradley_terry")}


def example(number: int, c: Value = None, q: tuple[Value, ...] | None = None) -> Example:
    return Example(f"t{number}", "x", "p", ("s", "s"), {"c": c}, {} if q is None else {"q": q})


def test_amounts_are_labels_and_pair_weights() -> None:
    examples = [
        example(0, 0.0, ((1.0, 0.0, 0.0), None)),
        example(1, 1.0, ((0.0, 0.5, 0.5), (0.0, 0.0, 1.0))),
        example(2),
    ]
    pairs = [Pair("p", "t0", "t1", 1.0, 0.5), Pair("p", "t1", "t2", 0.5, 0.25), Pair("other", "t0", "t1", 1.0)]
    assert check_labels({**C, **Q, **P}, examples, pairs).amounts == {"c": 2.0, "q": 3.0, "p": 0.75}


def test_a_head_without_labels_in_validation_is_said() -> None:
    train = [example(0, 0.0), example(1, 1.0)]
    found = check_labels({**C, **P}, train, [Pair("p", "t0", "t1", 1.0)], [example(3)], [])
    assert found.notes == (
        "head 'c' has no labels in validation: it has no validation figures.",
        "head 'p' has no pairs in validation: it has no validation figures.",
        "no head can choose an epoch by validation: the last one is kept.",
    )
    assert found.chooses == ()
    assert check_labels(C, train, []).notes == ()


def test_a_head_with_one_class_in_validation_does_not_choose() -> None:
    train = [example(0, 0.0, ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))), example(1, 1.0)]
    held = [example(2, 1.0, ((0.0, 1.0, 0.0), (0.0, 0.5, 0.5)))]
    found = check_labels({**C, **Q}, train, [], held, [])
    assert found.chooses == ("q",)
    assert found.notes == ("head 'c' has one class only in validation: it does not help to choose the epoch.",)


@pytest.mark.parametrize(
    ("heads", "examples", "match"),
    [
        (C, [example(0), example(1)], "head 'c' has no labels in training"),
        (C, [example(0, 1.0), example(1, 1.0)], "head 'c': all 2 labels in training are 1., one class only"),
        (Q, [example(0, q=((0.0, 1.0, 0.0), None))], r"head 'q': all 1 labels in training are \[0. 1. 0.\]"),
        (P, [example(0, 1.0)], "head 'p' has no pairs in training"),
        (C, [example(0, 1.5)], r"trajectory 't0': label 1.5 of head 'c' .* a value in \[0, 1\]"),
        (C, [example(0, (0.5, 0.5))], "trajectory 't0': label .* of head 'c'"),
        (Q, [example(0, q=((0.5, 0.4, 0.0), None))], "a distribution over 3 classes that sums to 1"),
        (Q, [example(0, q=((0.5, 0.5), None))], "a distribution over 3 classes"),
        (Q, [example(0, q=(1.0, None))], "label 1.0 of head 'q' .* a distribution over 3 classes"),
        (Q, [example(0, q=((1.0, 0.0, 0.0),))], "trajectory 't0' has 2 steps and 1 labels of head 'q'"),
    ],
)
def test_what_cannot_be_learned_is_refused(heads: dict[str, HeadSettings], examples: list[Example], match: str) -> None:
    with pytest.raises(DataError, match=match):
        check_labels(heads, examples, [])


@pytest.mark.parametrize(
    ("pair", "match"),
    [
        (Pair("p", "t0", "t9", 1.0), "trajectory 't9' is not in the same split"),
        (Pair("p", "t0", "t0", 1.0), "compares a trajectory with itself"),
        (Pair("p", "t0", "t2", 1.0), "compares two tasks"),
        (Pair("p", "t0", "t1", 1.2), "target 1.2 and weight 1.0"),
        (Pair("p", "t0", "t1", 1.0, 0.0), "target 1.0 and weight 0.0"),
        (Pair("p", "t0", "t1", 0.5), "head 'p': all 1 pairs in training are ties"),
    ],
)
def test_pairs_are_checked(pair: Pair, match: str) -> None:
    examples = [example(0, 0.0), example(1, 1.0), replace(example(2, 1.0), task_id="y")]
    with pytest.raises(DataError, match=match):
        check_labels(P, examples, [pair])
