"""Pools are cut in three, and no word or phrase of one part is in another."""

from itertools import combinations
from random import Random

import pytest

from rmtrain.trajectories.schema import SPLITS
from rmtrain.world.phrases import PHRASES
from rmtrain.world.vocabulary import GIVEN, PART_OF_SPLIT, PARTS, VALUES, WORDS, Vocabulary

POOLS = {"given": GIVEN, "words": WORDS, "values": VALUES}


@pytest.mark.parametrize("pool", [*POOLS.values(), *PHRASES.values()], ids=[*POOLS, *PHRASES])
def test_the_parts_of_a_pool_share_nothing_and_leave_nothing_out(pool):
    cuts = [Vocabulary(part).cut(pool) for part in PARTS]
    assert [*cuts[0], *cuts[1], *cuts[2]] == list(pool)
    assert len(set(pool)) == len(pool), "a word that occurs twice may lie in two parts"
    assert all(cuts)
    assert len(cuts[0]) > len(cuts[1])


def test_no_word_is_in_two_pools():
    for one, other in combinations(POOLS.values(), 2):
        assert not set(one) & set(other)


def test_every_split_has_its_part_and_test_has_one_of_its_own():
    assert set(PART_OF_SPLIT) == set(SPLITS)
    assert [split for split, part in PART_OF_SPLIT.items() if part == PART_OF_SPLIT["test"]] == ["test"]
    assert [split for split, part in PART_OF_SPLIT.items() if part == PART_OF_SPLIT["train"]] == ["train"]


@pytest.mark.parametrize("part", PARTS)
def test_draws_come_from_the_part(part):
    vocabulary, rng = Vocabulary(part), Random(0)
    for _ in range(50):
        given, word = vocabulary.person(rng).split()
        assert given in vocabulary.cut(GIVEN)
        assert word in vocabulary.cut(WORDS)
        word, _, number = vocabulary.key(rng).partition("-")
        assert word in vocabulary.cut(WORDS)
        assert 10 <= int(number) <= 99
        assert vocabulary.value(rng) in vocabulary.cut(VALUES)
        assert vocabulary.say(rng, "recap", label="L", value="V") in {
            phrase.format(label="L", value="V") for phrase in vocabulary.cut(PHRASES["recap"])
        }


def test_a_phrase_without_its_slot_is_a_bug():
    with pytest.raises(KeyError, match="value"):
        Vocabulary("train").say(Random(0), "recap", label="L")
