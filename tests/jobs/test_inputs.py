"""A job finds what an earlier one left, or says what to run."""

import os
import shlex

import pytest

from rmtrain.config.compose import compose
from rmtrain.config.jobs import JobSettings
from rmtrain.config.paths import PathSettings
from rmtrain.errors import DataError
from rmtrain.jobs.inputs import assignment, command, existing, refuse_replacing, trajectories_of


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
    own.touch()
    assert trajectories_of(settings, str(own)) == own


def test_nothing_there_names_both_places_and_the_remedy(settings, tmp_path):
    with pytest.raises(
        DataError,
        match=r"no trajectories in .*support/ingest/trajectories\.jsonl or .*support/simulate/trajectories\.jsonl\. "
        r"Make some: python -m rmtrain job=ingest corpus=support .*source\.path=FILE, or .*job=simulate corpus=support",
    ):
        trajectories_of(settings, None)


def test_a_given_file_has_to_exist(settings, tmp_path):
    with pytest.raises(DataError, match=r"^trajectories=.*none\.jsonl does not exist\. Make it: .*trajectories=PATH$"):
        trajectories_of(settings, str(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match=r"^verdicts=nowhere does not exist\. Make it: python -m rmtrain job=verify"):
        existing("nowhere", "verdicts", "python -m rmtrain job=verify")


def test_a_path_that_cannot_be_looked_at_is_a_sentence(settings):
    with pytest.raises(DataError, match=r"…: cannot be looked at \(File name too long\)"):
        existing("x" * 5000, "verdicts", "python -m rmtrain job=verify")
    settings.paths.runs = "x" * 5000
    with pytest.raises(DataError, match=r"…: cannot be looked at \(File name too long\)"):
        trajectories_of(settings, None)


def test_only_another_name_of_the_file_that_is_read_is_refused(tmp_path):
    given, link, other = (tmp_path / name for name in ("given", "link", "other"))
    given.write_text("x")
    other.write_text("x")
    link.symlink_to(given)
    refuse_replacing(given, [other, tmp_path / "absent"])
    refuse_replacing(tmp_path / "absent", [other])
    refuse_replacing(tmp_path, [tmp_path])  # a folder is not replaced by a file
    with pytest.raises(
        DataError, match=r"link is read by this job and would be replaced by it\. Write elsewhere: output="
    ):
        refuse_replacing(given, [other, link], "output=FILE")


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("main", "corpus=main"),
        ("/x/y-1/model.jsonl", "corpus=/x/y-1/model.jsonl"),
        ("my logs", "'corpus=\"my logs\"'"),
        ("/x/My (1)/model", "'corpus=\"/x/My (1)/model\"'"),
    ],
)
def test_a_value_is_quoted_for_hydra_and_for_the_shell(value, typed):
    assert assignment("corpus", value) == typed


VALUES = ["main", "my logs", "/x/My (1)/model", "../a+b@c.d", "a,b", "[1]", "{a: 1}", "it's", '"quoted"', "é", "a=b"]
VALUES += ["~/x", "null", "True", "1_000", "1e5", "007", ".5", "-", "$HOME", "*", "?", "#", ";", "&", " a ", "a\tb\nc"]
VALUES += [
    "back\\slash",
    "end\\",
    "end\\\\",
    'a\\"',
    "a'b\"c\\",
    "a\\\n",
    "${job}",
    "\\${job}",
    "\\\\${job}",
    "C:\\dir\\",
]


@pytest.mark.parametrize("value", VALUES)
def test_what_is_printed_is_read_back_by_shell_and_hydra(value):
    (word,) = shlex.split(assignment("trajectories", value))
    assert compose(["job=verify", word]).trajectories == value


def test_a_command_names_corpus_and_runs_as_they_are_typed(settings):
    settings.corpus, settings.paths.runs = "my logs", "/x/My (1)"
    typed = command(settings, "build")
    assert typed == "python -m rmtrain job=build 'corpus=\"my logs\"' 'paths.runs=\"/x/My (1)\"'"
    again = compose(shlex.split(typed)[3:])
    assert (again.job, again.corpus, again.paths.runs) == ("build", "my logs", "/x/My (1)")
