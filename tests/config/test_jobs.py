"""Every job's settings: documented, reachable, and with a record that keeps secrets out."""

import pytest

from rmtrain.config.jobs import JOBS, JobSettings
from rmtrain.config.schema import docs, hints, named_subsection, subsection


def sections(root: type) -> set[type]:
    found = {root}
    for hint in hints(root).values():
        inner = subsection(hint) or named_subsection(hint)
        if inner:
            found |= sections(inner)
    return found


ALL_SECTIONS = sorted({section for root in JOBS.values() for section in sections(root)}, key=lambda one: one.__name__)


@pytest.mark.parametrize("section", ALL_SECTIONS, ids=lambda one: one.__name__)
def test_every_setting_says_what_it_means(section):
    assert section.__doc__
    assert not section.__doc__.startswith(f"{section.__name__}("), "dataclass wrote this docstring, not a person"
    undocumented = [name for name in hints(section) if len(docs(section).get(name, "")) < 5]
    assert not undocumented


def test_the_record_is_the_settings_until_another_is_given():
    settings = JobSettings(job="train")
    assert settings.record == {"job": "train", "corpus": "main", "paths": {"runs": "runs"}}
    settings.record = {"job": "train", "corpus": "<env CORPUS>"}
    assert settings.record == {"job": "train", "corpus": "<env CORPUS>"}
