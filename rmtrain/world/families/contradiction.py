"""Two sources that may contradict each other: where they do, their standing has to be looked up."""

from random import Random

from rmtrain.world.families.draft import THEMES, Draft, populate
from rmtrain.world.tasks import Learn, Move, World
from rmtrain.world.vocabulary import Vocabulary

SOURCES = ("register", "bulletin", "ledger", "almanac", "gazette", "archive")


def draft(rng: Random, vocabulary: Vocabulary) -> Draft:
    """Find an entry, read which entry it points to, ask two sources about that one, settle, answer: 5 or 7 steps.

    The sources contradict each other two times in three.
    """
    theme = rng.choice(THEMES)
    tables, names = populate(rng, vocabulary, theme)
    start = rng.choice(list(tables))
    name, start_key = rng.choice(list(names[start].items()))
    relation, table = rng.choice(list(theme.relations[start].items()))
    key = tables[start][start_key][relation]
    attribute = rng.choice(theme.attributes[table])
    one, two = rng.sample(SOURCES, 2)
    values = rng.sample(sorted({vocabulary.value(rng) for _ in range(40)}), 4)
    differs = rng.random() < 2 / 3
    said = {one: values[0], two: values[1] if differs else values[0]}
    final = rng.choice((one, two))
    sources = {
        source: {key: (attribute, said[source])}
        | {other: (attribute, rng.choice(values[2:])) for other in tables[table] if other != key}
        for source in (one, two)
    }
    keys = tuple(other for other in tables[table] if other != key)
    moves = [
        Move(
            tool="find",
            arguments={"table": start, "name": "{name}"},
            intent="find",
            slots={"name": "{name}", "table": start},
            pivot="name",
            others=tuple(other for other in names[start] if other != name),
            learns=(Learn("start", "key", "key"),),
        ),
        Move(
            tool="get_record",
            arguments={"table": start, "key": "{start}"},
            intent="open",
            slots={"key": "{start}", "table": start},
            pivot="key",
            others=tuple(other for other in tables[start] if other != start_key),
            learns=(Learn("key", relation, relation),),
            requires=(0,),
        ),
    ]
    for belief, source in (("a", one), ("b", two)):
        moves.append(
            Move(
                tool="consult",
                arguments={"source": source, "key": "{key}"},
                intent="consult",
                slots={"name": source, "key": "{key}"},
                pivot="key",
                others=keys,
                learns=(Learn(belief, attribute, f"{attribute} in the {source}"),),
                requires=(1,),
            )
        )
    truth = {"name": name, "start": start_key, "key": key, "a": said[one], "b": said[two]}
    answer = "a" if final == one else "b"
    if differs:
        for belief, source in (("status_a", one), ("status_b", two)):
            moves.append(
                Move(
                    tool="get_status",
                    arguments={"source": source},
                    intent="status",
                    slots={"name": source},
                    pivot="source",
                    others=tuple(other for other in SOURCES if other not in (one, two)),
                    learns=(Learn(belief, "status", f"standing of the {source}"),),
                    requires=(2, 3),
                    conflict=("a", "b") if belief == "status_a" else None,
                    settles=True,
                )
            )
            truth[belief] = "final" if source == final else "draft"
    return Draft(
        query=vocabulary.say(
            rng,
            "query_contradiction",
            name=name,
            table=start,
            relation=relation,
            attribute=attribute,
            first=one,
            second=two,
        ),
        world=World(
            tables=tables,
            names=names,
            sources=sources,
            status={source: "final" if source == final else "draft" for source in (one, two)},
        ),
        moves=tuple(moves),
        known={"name": name},
        truth=truth,
        answer=answer,
        answer_label=attribute,
        wrong_answers=tuple(value for value in (said[one], said[two], *values[2:]) if value != said[final]),
        plan=f"find the entry and its {relation}, ask the {one} and the {two}, settle any difference",
        tools=("find", "consult", "get_status", "get_record"),
    )
