"""A job finds what an earlier one left, or says what to run."""

import os

import pytest

from rmtrain.errors import DataError
from rmtrain.jobs.inputs import existing, trajectories_of


def leave(corpus, maker, mtime):
    path = corpus / maker / "trajectories.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    os.utime(path, (mtime, mtime))
    return path


def test_the_newest_is_read(tmp_path):
    ingested = leave(tmp_path, "ingest", 1_000)
    assert trajectories_of(tmp_path, None) == ingested
    simulated = leave(tmp_path, "simulate", 2_000)
    assert trajectories_of(tmp_path, None) == simulated
    os.utime(ingested, (3_000, 3_000))
    assert trajectories_of(tmp_path, None) == ingested


def test_a_given_file_wins(tmp_path):
    leave(tmp_path, "ingest", 1_000)
    own = tmp_path / "own.jsonl"
    own.write_text("{}\n")
    assert trajectories_of(tmp_path, str(own)) == own


def test_nothing_there_names_both_places_and_the_remedy(tmp_path):
    corpus = tmp_path / "support"
    with pytest.raises(
        DataError,
        match=r"no trajectories in .*support/ingest/trajectories\.jsonl or .*support/simulate/trajectories\.jsonl\. "
        r"Make some: python -m rmtrain job=ingest source\.path=FILE corpus=support, or .* job=simulate corpus=support",
    ):
        trajectories_of(corpus, None)


def test_a_given_file_has_to_exist(tmp_path):
    with pytest.raises(DataError, match=r"^trajectories=.*none\.jsonl does not exist\. Make it: .*trajectories=PATH$"):
        trajectories_of(tmp_path, str(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match=r"^verdicts=nowhere does not exist\. Make it: python -m rmtrain job=verify"):
        existing("nowhere", "verdicts", "python -m rmtrain job=verify")
