"""Every YAML under conf/ composes, alone among its alternatives, into the settings of each job that can take it."""

from pathlib import Path

import pytest
import yaml

from rmtrain.config.compose import compose
from rmtrain.config.folder import conf_folder, options
from rmtrain.config.jobs import JOBS
from rmtrain.config.schema import hints

GROUPS = sorted(path.name for path in conf_folder().iterdir() if path.is_dir())
REQUIRED = {"score": ["model=FOLDER"], "folder": ["backbone.name=FOLDER"], "hotpotqa": ["start=FOLDER"]}
JOB_OF_EXPERIMENT = {"hotpotqa": "crossvalidate"}


def cases():
    yield from ((job, None, None) for job in JOBS)
    for group in GROUPS:
        for option in options(group):
            if group in ("job", "experiment"):
                continue
            yield from ((job, group, option) for job in JOBS if group in hints(JOBS[job]))
    yield from ((JOB_OF_EXPERIMENT.get(option, "train"), "experiment", option) for option in options("experiment"))


@pytest.mark.parametrize(("job", "group", "option"), list(cases()))
def test_composes(job, group, option):
    choice = [f"{group}={option}"] if group else []
    needed = REQUIRED.get(job, []) + (REQUIRED["folder"] if (group, option) == ("backbone", "folder") else [])
    needed += REQUIRED.get(option, []) if group == "experiment" else []
    settings = compose([*([] if group == "experiment" else [f"job={job}"]), *choice, *needed])
    assert type(settings) is JOBS[job]
    assert settings.job == job


def test_every_file_is_covered():
    covered = {f"{group}/{option}.yaml" for _, group, option in cases() if group}
    covered |= {f"job/{job}.yaml" for job in JOBS} | {"config.yaml"}
    present = {path.relative_to(conf_folder()).as_posix() for path in conf_folder().rglob("*") if path.is_file()}
    assert present == covered


@pytest.mark.parametrize("group", [group for group in GROUPS if group not in ("job", "experiment", "dataset", "heads")])
def test_alternatives_set_the_same_keys(group):
    def keys(option: str) -> set[str]:
        """Those of the file, and of the one of its group that it begins from."""
        content = yaml.safe_load((Path(conf_folder()) / group / f"{option}.yaml").read_text())
        begins = [entry for entry in content.get("defaults", []) if isinstance(entry, str)]
        return (set(content) - {"defaults"}).union(*(keys(entry) for entry in begins))

    sets = {option: keys(option) for option in options(group)}
    assert len({frozenset(one) for one in sets.values()}) == 1, sets
