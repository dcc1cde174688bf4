"""The corpus: equal by seed, split by task, and without a word of test in train."""

import re

import pytest

from rmtrain.config.world import WorldSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.render import render
from rmtrain.trajectories.schema import digest
from rmtrain.trajectories.store import write
from rmtrain.world.families.contradiction import SOURCES
from rmtrain.world.families.draft import THEMES
from rmtrain.world.families.promise import KINDS, SLOTS
from rmtrain.world.phrases import PHRASES
from rmtrain.world.simulate import WORLD_VERSION, empty_splits, enough_tasks, make_task, simulate
from rmtrain.world.vocabulary import GIVEN, VALUES, WORDS, Vocabulary

# The version of the world and the digest of its first eight tasks, which belong together.
PINNED = (4, "fcc288ec6a663a9504ef114993e1b6a9bdb79d7ede3caff8647afb4a38824c54")


def trajectories(**settings):
    return [t for record in simulate(WorldSettings(**settings)) for t in record.trajectories]


def test_a_seed_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name, trajectories(n_tasks=12, seed=3))
    write(tmp_path / "other", trajectories(n_tasks=12, seed=4))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_a_version_of_the_world_makes_one_corpus():
    records = simulate(WorldSettings(n_tasks=8))
    corpus = [[row.model_dump(mode="json") for row in (*each.trajectories, *each.truths)] for each in records]
    assert (WORLD_VERSION, digest(corpus)) == PINNED, (
        "Equal settings make another corpus than before, and datasets that are kept by version would be taken for it: "
        "raise WORLD_VERSION in rmtrain/world/simulate.py and pin the new pair here."
    )


def test_a_task_does_not_depend_on_those_before_it(records):
    settings = WorldSettings(n_tasks=60)
    for index in (0, 17, 59):
        assert make_task(settings, index) == records[index].world_task


def test_every_rollout_is_its_own_trajectory(records):
    ids = [trajectory.trajectory_id for record in records for trajectory in record.trajectories]
    assert len(ids) == len(set(ids)) == 240
    for record in records:
        assert {t.task.task_id for t in record.trajectories} == {record.world_task.task.task_id}
        assert {t.source.split for t in record.trajectories} == {record.world_task.split}
        assert [t.source.trial for t in record.trajectories] == [0, 1, 2, 3]


def test_shares_are_met_within_each_family():
    settings = WorldSettings(n_tasks=80, test_share=0.25, validation_share=0.1, calibration_share=0.05)
    for family in range(4):
        splits = [make_task(settings, index).split for index in range(family, 80, 4)]
        # of 20 tasks: 5, 2, 1 and the rest
        assert {name: splits.count(name) for name in set(splits)} == {
            "test": 5,
            "validation": 2,
            "calibration": 1,
            "train": 12,
        }


@pytest.mark.parametrize("shares", [(0.18, 0.08, 0.08), (0.25, 0.25, 0.0), (0.06, 0.03, 0.02), (0.5, 0.25, 0.125)])
@pytest.mark.parametrize("leave_out", [None, "lookup"])
def test_empty_splits_are_those_that_no_task_of_a_family_falls_into(shares, leave_out):
    names = ("test_share", "validation_share", "calibration_share")
    given = {**dict(zip(names, shares, strict=True)), "families": ["lookup", "promise", "calculation"]}
    for n_tasks in (1, 2, 3, 7, 9, 11, 12, 20, 27, 36):
        settings = WorldSettings(n_tasks=n_tasks, leave_out=leave_out, **given)
        found = {family: set() for family in settings.families if family != leave_out}
        for index in range(n_tasks):
            task = make_task(settings, index)
            found.get(task.task.family, set()).add(task.split)
        wanted = {"test", "validation", "train"}
        assert set(empty_splits(settings)) == {s for s in wanted if any(s not in has for has in found.values())}


def test_enough_tasks_is_the_next_number_that_leaves_no_split_empty():
    # With shares 0.18 and 0.08, nine tasks a family lie at 1/18, 3/18, 5/18, …: none between 0.18 and 0.26.
    expected = {1: 24, 8: 24, 20: 24, 24: 24, 36: 40, 39: 40, 60: 60}
    assert {n: enough_tasks(WorldSettings(n_tasks=n)) for n in expected} == expected
    assert enough_tasks(WorldSettings(n_tasks=4, test_share=0.7, validation_share=0.2, calibration_share=0.1)) is None
    assert enough_tasks(WorldSettings(n_tasks=4, test_share=0.0, validation_share=0.0, calibration_share=0.0)) == 4


def test_no_name_word_or_value_of_one_part_is_in_the_text_of_another(records):
    words = {"train": set[str](), "held": set[str](), "test": set[str]()}
    for record in records:
        part = record.world_task.vocabulary.part
        for trajectory in record.trajectories:
            words[part] |= set(re.findall(r"[a-z]+", render(trajectory).text))
    common = set(re.findall(r"[a-z]+", str([PHRASES, THEMES, KINDS, SLOTS, SOURCES])))
    assert len(common & {*GIVEN, *WORDS, *VALUES}) < 10
    pools = {part: {w for pool in (GIVEN, WORDS, VALUES) for w in Vocabulary(part).cut(pool)} for part in words}
    for part, own in words.items():
        for other, pool in pools.items():
            found = own & pool - common
            assert (len(found) > 10) if part == other else (not found), (part, other, sorted(found)[:5])


def test_a_family_left_out_is_in_test_only():
    settings = WorldSettings(n_tasks=24, leave_out="promise")
    found = {(make_task(settings, i).task.family, make_task(settings, i).split) for i in range(24)}
    assert {split for family, split in found if family == "promise"} == {"test"}
    assert {"train"} <= {split for family, split in found if family == "lookup"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"families": ["lokup"]}, r"unknown task family 'lokup'\. Known: .* Did you mean 'lookup'\?"),
        ({"families": ["lookup", "lookup"]}, r"world\.families names a family twice: lookup, lookup"),
        ({"test_share": float("nan")}, r"world\.test_share=nan"),
        ({"leave_out": "promises"}, r"unknown task family 'promises'.*Did you mean 'promise'\?"),
        (
            {"families": ["lookup"], "leave_out": "promise"},
            r"world\.leave_out is 'promise', which is not among world\.families",
        ),
        (
            {"families": ["lookup"], "leave_out": "lookup"},
            r"world\.families names no family to train on\. Known: lookup, calculation, contradiction, promise",
        ),
        ({"families": []}, r"world\.families names no family to train on"),
        ({"n_tasks": 0}, r"world\.n_tasks is 0\. Expected a whole number from 1 to 10,000,000\.$"),
        ({"n_tasks": 10**30}, r"world\.n_tasks is 1,000,000,.* Expected a whole number from 1 to 10,000,000\.$"),
        ({"n_rollouts": 0}, r"world\.n_rollouts is 0"),
        ({"max_steps": 0}, r"world\.max_steps is 0"),
        ({"test_share": 0.9, "validation_share": 0.1}, r"world\.test_share=0\.9, .* leave -0\.08 for training"),
        ({"test_share": -0.1}, r"world\.test_share=-0\.1, .*Expected shares >= 0 below 1 in all"),
    ],
)
def test_settings_that_make_no_corpus_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        list(simulate(WorldSettings(**{"n_tasks": 8, **settings})))
