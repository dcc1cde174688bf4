"""One job run as a page: settings in, a report out and kept in the run folder."""

from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from rmtrain.config.jobs import JobSettings
from rmtrain.jobs.report import Report


def run_page(settings: JobSettings, folder: Path) -> Report:
    """Run the job that `settings` are of, and keep its report as ``folder/report.json``.

    Args:
        settings: the job's.
        folder: its run folder.
    """
    started = datetime.now(UTC)
    report: Report = import_module(f"rmtrain.jobs.{settings.job}").run(settings, folder)
    report.close(settings.record, started)
    report.save(folder)
    return report
