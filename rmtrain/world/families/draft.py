"""What a family hands over: a task before it has an id, a split and a public form."""

from dataclasses import dataclass
from random import Random
from typing import Any

from rmtrain.world.tasks import Move, Record, StateGoal, Tables, World
from rmtrain.world.vocabulary import Vocabulary


@dataclass(frozen=True)
class Draft:
    """See `rmtrain.world.tasks.WorldTask` for the meaning of each field."""

    query: str
    world: World
    moves: tuple[Move, ...]
    known: dict[str, str]
    truth: dict[str, str]
    answer: str
    answer_label: str
    wrong_answers: tuple[str, ...]
    plan: str
    tools: tuple[str, ...]
    final_state: dict[str, Any] | None = None
    state_goals: tuple[StateGoal, ...] = ()


@dataclass(frozen=True)
class Theme:
    """A domain: its tables, and per table the relations (field to table) and plain attributes."""

    relations: dict[str, dict[str, str]]
    attributes: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[str, ...]]


THEMES = (
    Theme(
        {
            "people": {"team": "teams", "mentor": "people"},
            "teams": {"lead": "people", "home": "halls"},
            "halls": {"keeper": "people", "annex": "halls"},
        },
        {"people": ("desk",), "teams": ("emblem",), "halls": ("color",)},
        {"people": ("salary",), "teams": ("budget",), "halls": ("seats",)},
    ),
    Theme(
        {
            "books": {"author": "authors", "shelf": "shelves"},
            "authors": {"editor": "authors", "house": "houses"},
            "shelves": {"guard": "authors", "next": "shelves"},
            "houses": {"owner": "authors", "branch": "houses"},
        },
        {"books": ("cover",), "authors": ("prize",), "shelves": ("wing",), "houses": ("logo",)},
        {"books": ("pages",), "authors": ("fee",), "shelves": ("height",), "houses": ("staff",)},
    ),
    Theme(
        {
            "items": {"bin": "bins", "supplier": "suppliers"},
            "suppliers": {"agent": "agents", "partner": "suppliers"},
            "bins": {"warden": "agents", "overflow": "bins"},
            "agents": {"deputy": "agents", "depot": "bins"},
        },
        {
            "items": ("material",),
            "suppliers": ("seal",),
            "bins": ("aisle",),
            "agents": ("office",),
        },
        {"items": ("price",), "suppliers": ("discount",), "bins": ("capacity",), "agents": ("quota",)},
    ),
    Theme(
        {
            "patients": {"ward": "wards", "doctor": "doctors"},
            "doctors": {"tutor": "doctors", "clinic": "clinics"},
            "wards": {"nurse": "nurses", "twin": "wards"},
            "nurses": {"chief": "doctors", "base": "wards"},
            "clinics": {"head": "doctors", "lab": "clinics"},
        },
        {
            "patients": ("diet",),
            "doctors": ("pager",),
            "wards": ("gate",),
            "nurses": ("locker",),
            "clinics": ("sign",),
        },
        {"patients": ("dose",), "doctors": ("load",), "wards": ("beds",), "nurses": ("hours",), "clinics": ("rooms",)},
    ),
)


def populate(
    rng: Random, vocabulary: Vocabulary, theme: Theme, n_records: int = 6
) -> tuple[Tables, dict[str, dict[str, str]]]:
    """Tables filled with records that link to each other, and the display name of each record.

    Returns:
        table to key to record; table to display name to key. Keys and names are unique in the whole world.
    """
    used: set[str] = set()

    def fresh(draw: str) -> str:
        while True:
            name = vocabulary.key(rng) if draw == "key" else vocabulary.person(rng)
            if name not in used:
                used.add(name)
                return name

    keys = {table: [fresh("key") for _ in range(n_records)] for table in theme.relations}
    tables: Tables = {}
    for table, relations in theme.relations.items():
        tables[table] = {}
        for key in keys[table]:
            record: Record = {}
            for field, target in relations.items():
                taken = {key, *record.values()}
                record[field] = rng.choice([other for other in keys[target] if other not in taken])
            record |= {field: vocabulary.value(rng) for field in theme.attributes[table]}
            record |= {field: str(rng.randint(12, 98)) for field in theme.numbers[table]}
            names = list(record)
            rng.shuffle(names)
            tables[table][key] = {name: record[name] for name in names}
    names_of = {table: {fresh("name"): key for key in keys[table]} for table in tables}
    return tables, names_of
