"""Tables link to each other without a loose end."""

from random import Random

import pytest

from rmtrain.world.families.draft import THEMES, populate
from rmtrain.world.vocabulary import PARTS, Vocabulary


@pytest.mark.parametrize("theme", THEMES, ids=[next(iter(theme.relations)) for theme in THEMES])
@pytest.mark.parametrize("part", PARTS)
def test_every_link_leads_to_a_record_and_no_name_serves_two(theme, part):
    for seed in range(5):
        tables, names = populate(Random(seed), Vocabulary(part), theme)
        assert list(tables) == list(names) == list(theme.relations)
        keys = [key for records in tables.values() for key in records]
        assert len(keys) == len(set(keys)) == 6 * len(tables)
        shown = [name for entries in names.values() for name in entries]
        assert len(set(shown)) == len(shown) == len(keys)
        for table, records in tables.items():
            assert set(names[table].values()) == set(records)
            for key, record in records.items():
                for field, target in theme.relations[table].items():
                    assert record[field] in tables[target]
                    assert record[field] != key
                assert set(record) == {*theme.relations[table], *theme.attributes[table], *theme.numbers[table]}
                assert all(record[field].isdecimal() for field in theme.numbers[table])


def test_a_theme_names_tables_that_exist():
    for theme in THEMES:
        assert {target for relations in theme.relations.values() for target in relations.values()} <= set(
            theme.relations
        )
        assert set(theme.relations) == set(theme.attributes) == set(theme.numbers)
