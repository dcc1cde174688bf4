"""A calculation over what was found: two entries' numbers, multiplied and added."""

from random import Random

from rmtrain.world.families.draft import THEMES, Draft, populate
from rmtrain.world.tasks import Learn, Move, World
from rmtrain.world.vocabulary import Vocabulary


def draft(rng: Random, vocabulary: Vocabulary) -> Draft:
    """Find and read two entries, calculate, answer: 6 steps."""
    theme = rng.choice(THEMES)
    tables, names = populate(rng, vocabulary, theme)
    table = rng.choice(list(tables))
    attribute = rng.choice(theme.numbers[table])
    first, second = rng.sample(list(names[table]), 2)
    n, m = rng.randint(2, 9), rng.randint(2, 9)
    truth = {"first": first, "second": second}
    moves: list[Move] = []
    for which, belief in (("first", "a"), ("second", "b")):
        key = names[table][truth[which]]
        found = len(moves)
        moves.append(
            Move(
                tool="find",
                arguments={"table": table, "name": f"{{{which}}}"},
                intent="find",
                slots={"name": f"{{{which}}}", "table": table},
                pivot="name",
                others=tuple(name for name in names[table] if name not in (first, second)),
                learns=(Learn(f"key_{belief}", "key", "key"),),
            )
        )
        moves.append(
            Move(
                tool="get_record",
                arguments={"table": table, "key": f"{{key_{belief}}}"},
                intent="open",
                slots={"key": f"{{key_{belief}}}", "table": table},
                pivot="key",
                others=tuple(other for other in tables[table] if other != key),
                learns=(Learn(belief, attribute, attribute),),
                requires=(found,),
            )
        )
        truth |= {f"key_{belief}": key, belief: tables[table][key][attribute]}
    wrong = [f"{n} * {rng.randint(12, 98)} + {m} * {truth['b']}", f"{n} * {truth['a']} + {m} * {rng.randint(12, 98)}"]
    expression = f"{n} * {{a}} + {m} * {{b}}"
    right = expression.format_map(truth)
    moves.append(
        Move(
            tool="calculate",
            arguments={"expression": expression},
            intent="calculate",
            slots={"expression": expression},
            pivot="expression",
            others=tuple(text for text in wrong if text != right),
            learns=(Learn("total", "result", "total"),),
            requires=(1, 3),
        )
    )
    total = n * int(truth["a"]) + m * int(truth["b"])
    truth["total"] = str(total)
    slots = {"n": n, "m": m, "first": first, "second": second, "table": table, "attribute": attribute}
    return Draft(
        query=vocabulary.say(rng, "query_calculation", **slots),
        world=World(tables=tables, names=names),
        moves=tuple(moves),
        known={"first": first, "second": second},
        truth=truth,
        answer="total",
        answer_label="total",
        wrong_answers=tuple(str(total + delta) for delta in (-40, -10, 7, 20, 100)),
        plan=f"find both entries, read the {attribute} of each, calculate the total",
        tools=("find", "get_record", "calculate", "get_status"),
    )
