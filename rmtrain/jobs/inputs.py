"""Which file a job reads when it was not told: what an earlier job of the same corpus left."""

from pathlib import Path

from rmtrain.config.jobs import JobSettings
from rmtrain.errors import DataError

MAKERS = ("ingest", "simulate")


def corpus_folder(settings: JobSettings) -> Path:
    """The folder that all artefacts of a corpus share."""
    return Path(settings.paths.runs) / settings.corpus


def trajectories_of(settings: JobSettings, given: str | None, setting: str = "trajectories") -> Path:
    """The file of trajectories to read.

    Args:
        settings: the job's; they say which corpus.
        given: the file as set; None for the newest of what job=ingest and job=simulate left in the corpus.
        setting: the setting that names it.

    Raises:
        DataError: the file does not exist, or none was given and neither job has left one.
    """
    if given is not None:
        return existing(given, setting, "python -m rmtrain job=ingest source.path=FILE")
    places = [corpus_folder(settings) / maker / "trajectories.jsonl" for maker in MAKERS]
    made = [place for place in places if place.is_file()]
    if not made:
        raise DataError(
            f"no trajectories in {places[0]} or {places[1]}. Make some: python -m rmtrain job=ingest "
            f"source.path=FILE corpus={settings.corpus}, or python -m rmtrain job=simulate corpus={settings.corpus}; "
            f"or name a file: {setting}=FILE"
        )
    return max(made, key=lambda place: place.stat().st_mtime_ns)


def existing(path: str | Path, setting: str, remedy: str) -> Path:
    """`path`, which has to exist.

    Args:
        path: file or folder to read.
        setting: the setting that names it.
        remedy: the command that makes it.

    Raises:
        DataError: it does not exist.
    """
    if not Path(path).exists():
        raise DataError(f"{setting}={path} does not exist. Make it: {remedy}; or name another: {setting}=PATH")
    return Path(path)
