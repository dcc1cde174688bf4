"""Families of tasks: each turns a random generator and a vocabulary into a task and its solution."""

from collections.abc import Callable
from random import Random

from rmtrain.world.families import calculation, contradiction, lookup, promise
from rmtrain.world.families.draft import Draft
from rmtrain.world.vocabulary import Vocabulary

FAMILIES: dict[str, Callable[[Random, Vocabulary], Draft]] = {
    "lookup": lookup.draft,
    "calculation": calculation.draft,
    "contradiction": contradiction.draft,
    "promise": promise.draft,
}
