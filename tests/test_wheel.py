"""The installed package works from anywhere: its configurations travel inside it."""

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from rmtrain.config.folder import conf_folder
from rmtrain.config.jobs import JOBS

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-isolation"] if find_spec("hatchling") else []
    command = [sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", str(folder), str(wheel)], check=True, capture_output=True)
    return folder


def outside(installed: Path, folder: Path, *arguments: str) -> str:
    # -P keeps the working folder off the path, PYTHONPATH puts the installed copy before any checkout
    command = [sys.executable, "-P", "-m", "rmtrain", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_holds_every_configuration_and_only_our_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {name for name in names if name.startswith("rmtrain/conf/")}
    assert shipped == {
        f"rmtrain/conf/{path.relative_to(conf_folder()).as_posix()}" for path in conf_folder().rglob("*.yaml")
    }
    assert {name.split("/")[0].split("-")[0] for name in names} == {"rmtrain"}


def test_help_from_another_folder(installed, tmp_path):
    assert outside(installed, tmp_path, "--help").startswith("Usage: python -m rmtrain")


@pytest.mark.parametrize("job", JOBS)
def test_every_job_composes_from_another_folder(installed, tmp_path, job):
    shown = outside(installed, tmp_path, f"job={job}", "--cfg", "job")
    assert f"job: {job}" in shown
    sources = outside(installed, tmp_path, f"job={job}", "--info", "searchpath")
    assert str(installed / "rmtrain" / "conf") in sources
    assert not any(tmp_path.iterdir())
