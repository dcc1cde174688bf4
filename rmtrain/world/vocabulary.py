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
justin timothy monica sandra aaron lawrence jeremy jennifer edith russell dennis kenneth carmen julian vernon
herbert greta edward lillian virginia amelia larry agnes terry wesley eugene bernard stanley harry scott catherine
nicole keith roger mildred deborah robert eva hugh katherine michael natalie roland valerie warren lorraine jacob
rebecca ellen daniel janet sophie francis howard eric lloyd louis andrew gerald sidney ingrid frederick mitchell
isabel douglas bridget dorothy harriet raymond marcus christopher sarah gordon charlotte marion anthony phyllis
veronica vivian norman maurice richard sylvia patrick nicholas elizabeth caroline matthew susan joseph margaret
sharon emma beatrice jessica judith betty annie eleanor linda barbara melissa irving brian lydia benjamin audrey
pamela jason clarence heather
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
rooster frigate buffalo whistle brush hut camel blanket horizon voyage dock medallion fossil statue cellar stable
engineer feast port mosaic vault dancer atlas beard comet boulder valve bullet altar dial lion circus lamp throne
stream plaza museum crescent pavilion sphere cliff ranger parcel chamber oasis fence bowl scout rhythm spring
turtle zenith curtain paddle apron monsoon gorge guitar villa bench clarinet arch strand hotel monk timber axle
siren theater fortress library ceiling armor citadel journal brook leopard cabin clock festival nebula album pond
blaze lynx crane parade alley fleet delta reef herald trumpet gypsy palace berry relic prism bundle captain ridge
frontier phantom carnival fox ranch border colony canoe symphony otter robin hound treaty harp camera tailor fairy
polar sparrow prairie bell arrow parish vicar shepherd barrel empire highway arena eclipse ferry compass swan crow
radar quest horse cloak ticket torch penguin pony elephant monument pirate squirrel banner autumn moth inn winter
sword bucket spear lark shore waterfall mule cottage hare drum jaguar lighthouse pasture tavern barber chariot sail
chimney crater envelope hedge warrior hornet crown globe lizard satellite jet cape nightingale sunset talon ballad
prince mammoth viper farm cable owl shield mill beetle butterfly piano mask cricket melody bicycle lumber bottle
trail cradle bolt market avenue carpet weaver wizard swallow meteor terrace village orchid organ cavern blade mast
summit balcony giant mantle battery chapel balloon furnace grain basin attic cargo kitten veil bakery mirage estate
bayou lodge sultan bandit award panther flute bouquet windmill cyclone
""".split()
VALUES = """
oak brass linen clay glass steel paper wool stone leather wax tin silk cork rope sand salt sugar rice coffee
honey butter bread soup cheese bean plum pear peach grape melon onion carrot garlic mint basil thyme
zinc gold bronze chrome plastic rubber wood brick cement plaster chalk coal oil steam smoke dust mud snow
ice rain wind fog cloud star moon sun sky earth fire water metal cloth thread yarn lace satin denim canvas
felt fur horn bone shell ink paint glue tar soap
pie egg milk almond sulfur resin mustard jam ham sausage tobacco poultry bacon plasma pea yeast chicken sapphire
cream tile asphalt tuna jelly hay beer squash tomato sauce turkey alcohol toast lime flour foam meat cocoa barley
pumpkin tweed seed oxygen herb mercury pork spice pasta vinegar concrete powder trout aluminum paste wine nut
carbon juice fig fiber nylon orange banana coconut vanilla silicon titanium nitrogen leaf corn acid syrup cardboard
slate lobster candy straw tea chili beef lamb wheat cake fabric rye cinnamon ruby cereal cabbage hydrogen shrimp
fish potato
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
