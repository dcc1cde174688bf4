"""A page is run and its report kept."""

import json
import sys
from types import ModuleType

from rmtrain.config.jobs import JobSettings
from rmtrain.jobs.page import run_page
from rmtrain.jobs.report import Report


def test_the_report_is_kept_and_says_what_it_was_made_with(tmp_path, monkeypatch):
    page = ModuleType("rmtrain.jobs.own")
    page.run = lambda settings, folder: Report(job=settings.job, counts={"rows": 3})
    monkeypatch.setitem(sys.modules, "rmtrain.jobs.own", page)
    report = run_page(JobSettings(job="own", corpus="c"), tmp_path / "own")
    kept = json.loads((tmp_path / "own" / "report.json").read_text())
    assert (kept["counts"], kept["settings"]["corpus"], kept["duration_s"]) == ({"rows": 3}, "c", report.duration_s)
