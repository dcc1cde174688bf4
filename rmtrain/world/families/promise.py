"""A plan with a promised check: book a room, look whether the booking is right, tell somebody."""

from random import Random

from rmtrain.world.families.draft import Draft
from rmtrain.world.tasks import Learn, Move, Tables, World
from rmtrain.world.vocabulary import Vocabulary

SLOTS = ("eight", "nine", "ten", "eleven", "noon", "one", "two", "three", "four", "five")
KINDS = ("studio", "court", "kitchen", "workshop", "office", "gallery")


def draft(rng: Random, vocabulary: Vocabulary) -> Draft:
    """Find the house, read its room, book, check, book again if the booking slipped, tell: 6 to 8 steps."""
    kind, other_kind = rng.sample(KINDS, 2)
    keys = _distinct(rng, vocabulary, 18)
    rooms, houses = keys[:12], keys[12:]
    tables: Tables = {
        "houses": {
            house: {kind: rooms[2 * i], other_kind: rooms[2 * i + 1], "warden": vocabulary.person(rng)}
            for i, house in enumerate(houses)
        },
        "rooms": {room: {"seats": str(rng.randint(12, 98)), "color": vocabulary.value(rng)} for room in rooms},
    }
    people = sorted({vocabulary.person(rng) for _ in range(12)})
    rng.shuffle(people)
    names = {"houses": dict(zip(people[:6], houses, strict=False))}
    name = people[0]
    key, group, person = names["houses"][name], people[6], people[7]
    room = tables["houses"][key][kind]
    slot, wrong_slot = rng.sample(SLOTS, 2)
    slips = rng.random() < 0.4
    other_rooms = tuple(other for other in rooms if other != room)
    book = Move(
        tool="reserve",
        arguments={"room": "{room}", "slot": "{slot}", "group": "{group}"},
        intent="reserve",
        slots={"room": "{room}", "slot": "{slot}", "name": "{group}"},
        pivot="room",
        others=other_rooms,
        requires=(1,),
    )
    check = Move(
        tool="list_bookings",
        arguments={"room": "{room}"},
        intent="verify",
        slots={"room": "{room}"},
        pivot="room",
        others=other_rooms,
        learns=(Learn("seen", "slot", "booked time"),),
        requires=(2,),
        promised=True,
    )
    moves = [
        Move(
            tool="find",
            arguments={"table": "houses", "name": "{name}"},
            intent="find",
            slots={"name": "{name}", "table": "houses"},
            pivot="name",
            others=tuple(other for other in names["houses"] if other != name),
            learns=(Learn("key", "key", "key"),),
        ),
        Move(
            tool="get_record",
            arguments={"table": "houses", "key": "{key}"},
            intent="open",
            slots={"key": "{key}", "table": "houses"},
            pivot="key",
            others=tuple(other for other in houses if other != key),
            learns=(Learn("room", kind, kind),),
            requires=(0,),
        ),
        book,
        check,
    ]
    if slips:
        again = {"requires": (3,), "conflict": ("slot", "seen"), "settles": True, "counts": False}
        moves.append(Move(**{**vars(book), **again}))
    moves.append(
        Move(
            tool="send_message",
            arguments={"to": "{person}", "text": "{room} at {slot}"},
            intent="notify",
            slots={"name": "{person}", "room": "{room}", "slot": "{slot}"},
            pivot="text",
            others=(*(f"{other} at {slot}" for other in other_rooms[:3]), f"{room} at {wrong_slot}"),
            requires=(3,),
        )
    )
    return Draft(
        query=vocabulary.say(rng, "query_promise", kind=kind, name=name, slot=slot, group=group, person=person),
        world=World(tables=tables, names=names, slips={room: wrong_slot} if slips else {}),
        moves=tuple(moves),
        known={"name": name, "slot": slot, "group": group, "person": person},
        truth={
            "name": name,
            "slot": slot,
            "group": group,
            "person": person,
            "key": key,
            "room": room,
            "seen": wrong_slot if slips else slot,
        },
        answer="room",
        answer_label="room booked",
        wrong_answers=other_rooms,
        plan=f"find the {kind}, book it, check the booking, then tell {person}",
        tools=("find", "get_record", "reserve", "list_bookings", "send_message"),
        state_goals=((f"bookings.{room}", {slot: group}, 2),),
        final_state={
            "bookings": {room: {slot: group}},
            "messages": [{"to": person, "text": f"{room} at {slot}"}],
        },
    )


def _distinct(rng: Random, vocabulary: Vocabulary, count: int) -> list[str]:
    keys: list[str] = []
    while len(keys) < count:
        key = vocabulary.key(rng)
        if key not in keys:
            keys.append(key)
    return keys
