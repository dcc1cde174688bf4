"""Look-ups over linked tables: follow two to four relations from a named entry and report a field."""

from random import Random

from rmtrain.world.families.draft import THEMES, Draft, populate
from rmtrain.world.tasks import Learn, Move, World
from rmtrain.world.vocabulary import VALUES, Vocabulary


def draft(rng: Random, vocabulary: Vocabulary) -> Draft:
    """A chain of 2 to 4 relations: 5 to 7 steps with the search before it and the answer after it."""
    theme = rng.choice(THEMES)
    tables, names = populate(rng, vocabulary, theme)
    table = rng.choice(list(tables))
    name, key = rng.choice(list(names[table].items()))
    others = tuple(other for other in names[table] if other != name)
    moves = [
        Move(
            tool="find",
            arguments={"table": table, "name": "{name}"},
            intent="find",
            slots={"name": "{name}", "table": table},
            pivot="name",
            others=others,
            learns=(Learn("k0", "key", "key"),),
        )
    ]
    truth = {"name": name, "k0": key}
    start, path, label = table, [], "key"
    n_relations, visited = rng.randint(2, 4), {key}
    for depth in range(n_relations + 1):
        record = tables[table][truth[f"k{depth}"]]
        onward = [relation for relation in theme.relations[table] if record[relation] not in visited]
        if depth < n_relations and not onward:
            if depth < 2:
                return draft(rng, vocabulary)  # a chain that closes at once: draw another
            n_relations = depth
        relation = rng.choice(onward if depth < n_relations else theme.attributes[table])
        visited.add(record[relation])
        belief = f"k{depth + 1}"
        moves.append(
            Move(
                tool="get_record",
                arguments={"table": table, "key": f"{{k{depth}}}"},
                intent="open",
                slots={"key": f"{{k{depth}}}", "table": table},
                pivot="key",
                others=tuple(other for other in tables[table] if other != truth[f"k{depth}"]),
                learns=(Learn(belief, relation, relation),),
                requires=(depth,),
            )
        )
        truth[belief] = record[relation]
        label = relation
        if depth == n_relations:
            break
        path.append(relation)
        table = theme.relations[table][relation]
    return Draft(
        query=vocabulary.say(rng, "query_lookup", name=name, table=start, path=", ".join(path), attribute=label),
        world=World(tables=tables, names=names),
        moves=tuple(moves),
        known={"name": name},
        truth=truth,
        answer=f"k{n_relations + 1}",
        answer_label=label,
        wrong_answers=tuple(value for value in vocabulary.cut(VALUES) if value != truth[f"k{n_relations + 1}"]),
        plan=f"find the entry, follow {', '.join(path)}, report the {label}",
        tools=("find", "get_record", "get_status", "calculate"),
    )
