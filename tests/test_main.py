"""The command as a user meets it: exit status, streams, speed, and what it leaves in the run folder."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from rmtrain.__main__ import main
from rmtrain.errors import DataError
from rmtrain.jobs.report import Report

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "lightning", "mlflow", "transformers", "datasets")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command in an empty folder with `page` as the page of job=verify; gives its exit status."""
    monkeypatch.chdir(tmp_path)

    def run(page, *arguments):
        module = ModuleType("rmtrain.jobs.verify")
        module.run = page
        monkeypatch.setitem(sys.modules, "rmtrain.jobs.verify", module)
        monkeypatch.setattr(sys, "argv", ["rmtrain", "job=verify", *arguments])
        return main()

    return run


def outside(*arguments, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "rmtrain", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_job_leaves_its_report_and_says_what_is_next(command, tmp_path, capsys):
    def page(settings, folder):
        return Report(job=settings.job, counts={"verdicts": 3}, next=["python -m rmtrain job=build"])

    assert command(page, "corpus=${oc.env:RMTRAIN_CORPUS,support}") == 0
    report = json.loads((tmp_path / "runs/support/verify/report.json").read_text())
    assert (report["job"], report["counts"]) == ("verify", {"verdicts": 3})
    assert report["settings"]["corpus"] == "<env RMTRAIN_CORPUS>"
    assert report["started"] <= report["finished"]
    out = capsys.readouterr().out
    assert out.startswith("verify: 3 verdicts (")
    assert out.endswith("next: python -m rmtrain job=build\n")


def test_nothing_is_said_to_be_done_before_the_report_is_safe(command, tmp_path, capsys):
    def page(settings, folder):
        (folder / "report.json").mkdir(parents=True)
        return Report(job=settings.job)

    assert command(page) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "report.json cannot be written" in told.err


def test_what_the_user_can_mend_is_one_sentence_and_status_2(command, tmp_path, capsys):
    def page(settings, folder):
        raise DataError("t.jsonl:3: no steps")

    assert command(page) == 2
    assert capsys.readouterr() == ("", "rmtrain: t.jsonl:3: no steps\n")
    assert not (tmp_path / "runs/main/verify").exists()


def test_a_failed_job_leaves_the_earlier_report(command, tmp_path):
    assert command(lambda settings, folder: Report(job="verify")) == 0
    before = (tmp_path / "runs/main/verify/report.json").read_bytes()

    def page(settings, folder):
        raise DataError("no")

    assert command(page) == 2
    assert (tmp_path / "runs/main/verify/report.json").read_bytes() == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_disk_is_no_bug_of_ours(command, capsys, number):
    def page(settings, folder):
        raise OSError(number, os.strerror(number), "runs/main/verify/verdicts.jsonl")

    assert command(page) == 2
    message = capsys.readouterr().err
    assert message.startswith("rmtrain: the machine refuses at runs/main/verify/verdicts.jsonl (")
    assert message.count("\n") == 1


def test_an_interruption_is_status_130(command, capsys):
    def page(settings, folder):
        raise KeyboardInterrupt

    assert command(page) == 130
    assert capsys.readouterr().err == "rmtrain: interrupted\n"


def test_a_bug_keeps_its_traceback(command):
    def page(settings, folder):
        raise ZeroDivisionError("ours")

    with pytest.raises(ZeroDivisionError, match="ours"):
        command(page)


def test_a_typo_from_outside(tmp_path):
    done = outside("+trainer.epohcs=3", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("rmtrain: unknown setting 'trainer.epohcs'")
    assert done.stderr.count("\n") == 1


def test_a_bug_from_outside_is_status_1_with_a_traceback(tmp_path):
    script = "import sys, rmtrain.__main__ as m, rmtrain.jobs.page as p; p.import_module = lambda name: 1 / 0; "
    script += "sys.exit(m.main())"
    done = subprocess.run(
        [sys.executable, "-c", script, "job=verify"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_nothing_heavy_is_imported_before_a_job_needs_it():
    script = f"import sys, rmtrain.__main__, rmtrain.config.compose; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_answers_at_once(tmp_path):
    def best_of_3(*arguments):
        def once():
            started = time.perf_counter()
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, check=True)
            return time.perf_counter() - started

        return min(once() for _ in range(3))

    assert best_of_3("-m", "rmtrain", "--help") <= 3 * best_of_3("-c", "import hydra")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell, tmp_path):
    done = outside("--shell-completion", f"install={shell}", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hydra" in done.stdout


def test_completion_knows_our_groups(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rmtrain", "--shell-completion", "query=bash"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "COMP_LINE": "rmtrain schedule=",
            "COMP_POINT": "17",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "schedule=phased" in done.stdout.split(), done
