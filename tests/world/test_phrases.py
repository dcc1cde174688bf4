"""Phrases come in many wordings of one meaning: each kind has one set of slots, and no phrase says two things."""

from collections import Counter
from string import Formatter

import pytest

from rmtrain.world.phrases import PHRASES


def slots(phrase):
    return {name for _, name, _, _ in Formatter().parse(phrase) if name is not None}


@pytest.mark.parametrize("kind", PHRASES)
def test_the_wordings_of_a_kind_say_the_same(kind):
    wordings = PHRASES[kind]
    assert len(set(wordings)) == len(wordings) >= 10
    assert len({frozenset(slots(wording)) for wording in wordings}) == 1


def test_no_wording_serves_two_kinds():
    counts = Counter(wording for wordings in PHRASES.values() for wording in wordings)
    assert counts.most_common(1)[0][1] == 1
