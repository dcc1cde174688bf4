"""The corpus: equal by seed, split by task, and without a word of test in train."""

import re

import pytest

from rmtrain.config.world import WorldSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.render import render
from rmtrain.trajectories.store import write
from rmtrain.world.families.contradiction import SOURCES
from rmtrain.world.families.draft import THEMES
from rmtrain.world.families.promise import KINDS, SLOTS
from rmtrain.world.phrases import PHRASES
from rmtrain.world.simulate import make_task, simulate
from rmtrain.world.vocabulary import GIVEN, VALUES, WORDS, Vocabulary


def trajectories(**settings):
    return [t for record in simulate(WorldSettings(**settings)) for t in record.trajectories]


def test_a_seed_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name, trajectories(n_tasks=12, seed=3))
    write(tmp_path / "other", trajectories(n_tasks=12, seed=4))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


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
        ({"n_tasks": 0}, r"world\.n_tasks is 0\. Expected a whole number > 0"),
        ({"n_rollouts": 0}, r"world\.n_rollouts is 0"),
        ({"max_steps": 0}, r"world\.max_steps is 0"),
        ({"test_share": 0.9, "validation_share": 0.1}, r"world\.test_share=0\.9, .* leave -0\.08 for training"),
        ({"test_share": -0.1}, r"world\.test_share=-0\.1, .*Expected shares >= 0 below 1 in all"),
    ],
)
def test_settings_that_make_no_corpus_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        list(simulate(WorldSettings(**{"n_tasks": 8, **settings})))
