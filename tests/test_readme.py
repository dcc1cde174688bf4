"""Every command that the README shows exists: make targets, jobs with their settings, Python."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from rmtrain.config.compose import compose
from rmtrain.config.folder import options
from rmtrain.config.jobs import JOBS

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted({match.strip().rstrip("`") for match in re.findall(r"python -m rmtrain[^`\n#]*", TEXT)})
TARGETS = sorted({match for match in re.findall(r"\bmake ([a-z]+)", TEXT) if match != "everything"})


@pytest.mark.parametrize("command", COMMANDS)
def test_command_composes(command: str) -> None:
    words = shlex.split(command)[3:]
    if {"--help", "--multirun", "--config-dir"} & set(words):
        words = [word for word in words if "=" in word and "NAME" not in word and "0,1" not in word]
    settings = compose(words)
    assert settings.job in JOBS


@pytest.mark.parametrize(("group", "names"), re.findall(r"`([a-z]+)=([a-z_]+(?:\|[a-z_]+)+)`", TEXT))
def test_group_has_the_options_named(group: str, names: str) -> None:
    assert set(names.split("|")) == set(options(group))


@pytest.mark.parametrize("target", TARGETS)
def test_target_exists(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_job_and_file_of_the_tree_is_there() -> None:
    for job in JOBS:
        assert f"`{job}`" in TEXT
    for name in re.findall(r"^  ([a-z_]+)/ ", TEXT, flags=re.MULTILINE):
        assert (ROOT / "rmtrain" / name).is_dir()


def test_python_example_is_valid() -> None:
    block = re.search(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert block is not None
    compile(block.group(1), "README.md", "exec")
    imports = "\n".join(line for line in block.group(1).splitlines() if line.startswith(("from", "import")))
    exec(imports, {})
