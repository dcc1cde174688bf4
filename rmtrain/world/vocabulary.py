"""Names, ids and phrases, drawn from pools that are cut in three: train, held (validation, calibration) and test.

A word or phrase of one part never occurs in another, so a model can't do well on test tasks by
remembering what a name or a turn of phrase went with.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal

from rmtrain.trajectories.schema import Split
from rmtrain.world.phrases import PHRASES

Part = Literal["train", "held", "test"]
PARTS: dict[Part, tuple[float, float]] = {"train": (0.0, 0.6), "held": (0.6, 0.8), "test": (0.8, 1.0)}
PART_OF_SPLIT: dict[Split, Part] = {"train": "train", "validation": "held", "calibration": "held", "test": "test"}

GIVEN = """
anna ben clara david elena felix grace henry iris jack karen liam maria nina oscar paula quentin rosa samuel
tina victor wendy adam bella carl diana ethan fiona george hannah ivan julia kevin laura martin nora oliver
peter rachel simon teresa walter alice bruce cecil donna edgar frank gloria harold irene james kate leon
molly nathan olga philip ruth stephen thomas ursula vincent albert bertha claude dora ernest flora gilbert
helen isaac joan kurt louise max nancy otto pearl ralph stella theo vera wilma arthur blanche conrad doris
emil frida gustav hilda hugo ida jonas klara lucas mabel
""".split()
WORDS = """
falcon river copper garden castle harbor maple anchor velvet candle meadow tiger silver bridge marble rocket
desert forest violin lantern pepper island mirror crystal ribbon thunder orchard basket eagle cotton hammer
valley puzzle saddle cherry dragon feather glacier helmet ivory jungle kettle lemon magnet needle oyster
pencil quartz rabbit salmon temple umbrella walnut zebra apple beacon cactus diamond ember fountain granite
hazel iron jacket kingdom ladder mountain nickel olive parrot quilt raven shadow tunnel unicorn violet
willow amber bamboo canyon dolphin engine flame gravel hollow indigo jasper knight lotus mango nectar onyx
queen rose spider tower urban vapor whale anvil breeze cobalt dawn echo fern ginger harvest jewel
kite lilac mist north ocean petal quarry rust storm thorn ultra vine wolf aspen birch coral dune elm frost
grove heron inlet juniper kelp linden moss nest opal pine quail reed sage tide umber vale wren cedar bishop
badger cannon daisy emerald fiddle goblet hunter icon joker kernel lagoon medal nomad orbit pilot quiver
rider scarlet tulip vessel wagon yacht acorn blossom clover dagger elbow fable galaxy hermit idol
""".split()
VALUES = """
oak brass linen clay glass steel paper wool stone leather wax tin silk cork rope sand salt sugar rice coffee
honey butter bread soup cheese bean plum pear peach grape melon onion carrot garlic mint basil thyme
zinc gold bronze chrome plastic rubber wood brick cement plaster chalk coal oil steam smoke dust mud snow
ice rain wind fog cloud star moon sun sky earth fire water metal cloth thread yarn lace satin denim canvas
felt fur horn bone shell ink paint glue tar soap
""".split()


@dataclass(frozen=True)
class Vocabulary:
    """The words and phrases that one part of the tasks may use."""

    part: Part

    def cut(self, pool: list[str] | tuple[str, ...]) -> list[str]:
        """This part's share of a pool, in the pool's order."""
        low, high = PARTS[self.part]
        return list(pool[round(low * len(pool)) : round(high * len(pool))])

    def person(self, rng: Random) -> str:
        return f"{rng.choice(self.cut(GIVEN))} {rng.choice(self.cut(WORDS))}"

    def key(self, rng: Random) -> str:
        """A record's key, e.g. ``falcon-57``."""
        return f"{rng.choice(self.cut(WORDS))}-{rng.randint(10, 99)}"

    def value(self, rng: Random) -> str:
        return rng.choice(self.cut(VALUES))

    def say(self, rng: Random, kind: str, /, **slots: object) -> str:
        """One phrase of a kind with its slots filled."""
        return rng.choice(self.cut(PHRASES[kind])).format(**slots)
