"""A job finds what an earlier one left, or says what to run."""

import os

import pytest

from rmtrain.config.jobs import JobSettings
from rmtrain.config.paths import PathSettings
from rmtrain.errors import DataError
from rmtrain.jobs.inputs import existing, trajectories_of


@pytest.fixture
def settings(tmp_path):
    return JobSettings(job="verify", corpus="support", paths=PathSettings(runs=str(tmp_path)))


def leave(runs, maker, mtime):
    path = runs / "support" / maker / "trajectories.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    os.utime(path, (mtime, mtime))
    return path


def test_the_newest_is_read(settings, tmp_path):
    ingested = leave(tmp_path, "ingest", 1_000)
    assert trajectories_of(settings, None) == ingested
    simulated = leave(tmp_path, "simulate", 2_000)
    assert trajectories_of(settings, None) == simulated
    os.utime(ingested, (3_000, 3_000))
    assert trajectories_of(settings, None) == ingested


def test_a_given_file_wins(settings, tmp_path):
    leave(tmp_path, "ingest", 1_000)
    own = tmp_path / "own.jsonl"
    own.write_text("{}\n")
    assert trajectories_of(settings, str(own)) == own


def test_nothing_there_names_both_places_and_the_remedy(settings, tmp_path):
    with pytest.raises(
        DataError,
        match=r"no trajectories in .*support/ingest/trajectories\.jsonl or .*support/simulate/trajectories\.jsonl\. "
        r"Make some: python -m rmtrain job=ingest source\.path=FILE corpus=support, or .* job=simulate corpus=support",
    ):
        trajectories_of(settings, None)


def test_a_given_file_has_to_exist(settings, tmp_path):
    with pytest.raises(DataError, match=r"^trajectories=.*none\.jsonl does not exist\. Make it: .*trajectories=PATH$"):
        trajectories_of(settings, str(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match=r"^verdicts=nowhere does not exist\. Make it: python -m rmtrain job=verify"):
        existing("nowhere", "verdicts", "python -m rmtrain job=verify")
