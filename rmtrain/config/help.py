"""What ``--help`` says: the jobs on one screen, or with ``job=NAME`` every setting of that job.

Written from the dataclasses and conf/ without Hydra, so that it answers at once.
"""

from collections.abc import Sequence
from textwrap import fill

from rmtrain.config.folder import options
from rmtrain.config.jobs import JOBS
from rmtrain.config.schema import docs, hints, in_words, named_subsection, subsection
from rmtrain.errors import ConfigError, unknown

OVERVIEW = """\
Usage: python -m rmtrain job=NAME [key=value ...]

Jobs, each with the settings to look at first:
  train          train a reward model (the default; without settings, on an embedded corpus)
                 dataset=embedded|folder  trainer=quick|long|heads  backbone.tune  trainer.epochs
  ingest         a log of an agent -> trajectories
                 source.path  source.format
  simulate       scripted policies in a simulated tool world -> trajectories
                 world.n_tasks  world.seed
  verify         trajectories -> verdicts of rules
                 trajectories
  import_labels  files of labels -> annotations
                 labels.path
  build          trajectories, verdicts, annotations -> dataset
                 annotations  labels.method  splits.seed
  score          a reward model and trajectories -> rewards
                 model  input
  crossvalidate  labelled steps -> how well models of the other tasks judge them
                 dataset.path  folds.seeds  folds.epochs

Examples:
  python -m rmtrain
  python -m rmtrain job=ingest source.path=logs.jsonl
  python -m rmtrain dataset=folder trainer.epochs=20
  python -m rmtrain --multirun trainer.seed=0,1,2

More:
  python -m rmtrain job=NAME --help         every setting of a job and what it means
  python -m rmtrain job=NAME --cfg job      every setting of a job and its value
  python -m rmtrain --config-dir DIR ...    configurations of your own beside the built-in ones
  python -m rmtrain --hydra-help            flags of Hydra, shell completion"""


def help_text(arguments: Sequence[str] = ()) -> str:
    """The help for a command line: about the job it names, otherwise the overview.

    Raises:
        ConfigError: it names a job that does not exist.
    """
    job = next((text.removeprefix("job=") for text in reversed(arguments) if text.startswith("job=")), None)
    if job is None:
        return OVERVIEW
    if job not in JOBS:
        raise ConfigError(unknown("job", job, JOBS))
    groups = [f"  {name}={'|'.join(options(name))}" for name in hints(JOBS[job]) if options(name)]
    parts = [f"job={job}: {(JOBS[job].__doc__ or '').strip()}"]
    if groups:
        parts += ["", "Ready-made values, chosen with group=option:", *groups]
    return "\n".join([*parts, "", "Settings:", *_settings(JOBS[job])])


def _settings(section: type, prefix: str = "") -> list[str]:
    lines = []
    for name, hint in hints(section).items():
        if prefix == "" and name == "job":
            continue
        meaning = " ".join(docs(section)[name].split())
        if inner := subsection(hint):
            lines += _settings(inner, f"{prefix}{name}.")
        elif named := named_subsection(hint):
            lines += _settings(named, f"{prefix}{name}.NAME.")
        else:
            lines.append(f"  {prefix}{name} ({in_words(hint)})")
            lines.append(fill(meaning, width=100, initial_indent="      ", subsequent_indent="      "))
    return lines
