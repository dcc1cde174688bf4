"""Help names what exists, and nothing else."""

import re

import pytest

from rmtrain.config.folder import options
from rmtrain.config.help import OVERVIEW, help_text
from rmtrain.config.jobs import JOBS
from rmtrain.config.schema import hints, named_subsection, settings_of, subsection, type_of
from rmtrain.errors import ConfigError


def test_the_overview_names_every_job_once_and_fits_a_screen():
    listed = re.findall(r"^  (\w+)  +\w", OVERVIEW, flags=re.M)
    assert sorted(listed) == sorted(JOBS)
    assert len(OVERVIEW.splitlines()) <= 36
    assert max(map(len, OVERVIEW.splitlines())) <= 100


def test_the_overview_names_only_settings_and_options_that_exist():
    job = ""
    checked = 0
    for line in OVERVIEW.split("Examples:")[0].splitlines():
        if named := re.match(r"  (\w+)  +\w", line):
            job = named[1]
        elif job and line.startswith("   "):
            for word in line.split():
                key, _, values = word.partition("=")
                assert type_of(key, JOBS[job]) is not None, f"job={job} has no {key}"
                assert set(filter(None, values.split("|"))) <= set(options(key))
                checked += 1
    assert checked >= 12


@pytest.mark.parametrize("job", JOBS)
def test_a_job_lists_all_its_settings(job):
    text = help_text([f"job={job}", "--help"])
    leaves = [
        key.replace("*", "NAME")
        for key, hint in settings_of(JOBS[job])
        if not subsection(hint) and not named_subsection(hint) and key != "job"
    ]
    missing = [key for key in leaves if f"  {key} (" not in text]
    assert not missing
    for group in filter(options, hints(JOBS[job])):
        assert f"  {group}={'|'.join(options(group))}" in text or group == "job"


def test_an_unknown_job_is_refused():
    with pytest.raises(ConfigError, match=r"unknown job 'trian'. Known: build, .* Did you mean 'train'\?"):
        help_text(["job=trian"])
