"""What each job can be told: one dataclass per job, made of the sections in this folder.

A field without a default has to be given. Values that belong together live in conf/, not here.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rmtrain.config.crossvalidation import CandidateSettings, FoldSettings
from rmtrain.config.dataset import DatasetSettings, SplitSettings
from rmtrain.config.labels import AggregationSettings, LabelSourceSettings
from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings, TrainerSettings
from rmtrain.config.paths import PathSettings
from rmtrain.config.source import SourceSettings
from rmtrain.config.tracking import TrackingSettings
from rmtrain.config.verifiers import VerifierSettings
from rmtrain.config.world import WorldSettings


@dataclass(kw_only=True)
class JobSettings:
    """What every job is told."""

    job: str
    """Name of the job."""
    corpus: str = "main"
    """Name of the body of data that is worked on; its artefacts share the folder `paths.runs`/`corpus`."""
    paths: PathSettings = field(default_factory=PathSettings)
    """Folders."""

    def __post_init__(self) -> None:
        self._record: Mapping[str, Any] | None = None

    @property
    def record(self) -> Mapping[str, Any]:
        """The settings for reports: what came in by ``${oc.env:NAME}`` reads ``<env NAME>``."""
        return asdict(self) if self._record is None else self._record

    @record.setter
    def record(self, value: Mapping[str, Any]) -> None:
        self._record = value


@dataclass(kw_only=True)
class SimulateSettings(JobSettings):
    """Let scripted policies work in the simulated tool world."""

    world: WorldSettings
    """The world, its tasks and policies."""


@dataclass(kw_only=True)
class IngestSettings(JobSettings):
    """Turn a log into trajectories."""

    source: SourceSettings
    """The log."""


@dataclass(kw_only=True)
class VerifySettings(JobSettings):
    """Judge trajectories by rules."""

    trajectories: str | None = None
    """File of trajectories; None takes what job=ingest or job=simulate made last in this corpus."""
    verifiers: VerifierSettings
    """The rules."""


@dataclass(kw_only=True)
class ImportLabelsSettings(JobSettings):
    """Turn files of labels into annotations of the corpus's trajectories."""

    trajectories: str | None = None
    """File of trajectories; None takes what job=ingest or job=simulate made last in this corpus."""
    labels: LabelSourceSettings
    """The files."""


@dataclass(kw_only=True)
class BuildSettings(JobSettings):
    """Turn trajectories, verdicts and annotations into a dataset."""

    trajectories: str | None = None
    """File of trajectories; None takes what job=ingest or job=simulate made last in this corpus."""
    verdicts: str
    """File of verdicts that job=verify wrote."""
    annotations: str | None = None
    """File of annotations; None takes the corpus's, else `annotations.jsonl` beside the trajectories, else none."""
    labels: AggregationSettings
    """How several people's answers become one label."""
    splits: SplitSettings
    """Shares of the tasks."""
    heads: dict[str, HeadSettings]
    """The dimensions that get labels, by name."""
    encoder: EncoderSettings
    """How a trajectory reads; only `markers` matters here."""


@dataclass(kw_only=True)
class TrainSettings(JobSettings):
    """Train a reward model."""

    dataset: DatasetSettings
    """Where the examples come from."""
    backbone: BackboneSettings
    """The shared pretrained model."""
    encoder: EncoderSettings
    """How a trajectory becomes step vectors."""
    heads: dict[str, HeadSettings]
    """The output dimensions, by name."""
    schedule: ScheduleSettings
    """How loss weights move."""
    trainer: TrainerSettings
    """The training run."""
    tracking: TrackingSettings
    """Where the run is recorded."""
    baselines: bool = True
    """Also fit the simple models that every figure is compared with."""
    world: WorldSettings
    """The simulated world; used by the embedded corpus only."""
    verifiers: VerifierSettings
    """The rules that label the embedded corpus."""


@dataclass(kw_only=True)
class ScoreSettings(JobSettings):
    """Give rewards to trajectories."""

    model: str
    """The folder a training run printed."""
    input: str | None = None
    """File of trajectories; None takes what job=ingest or job=simulate made last, or reads `source`."""
    source: SourceSettings | None = None
    """A raw log to read in place of `input`."""
    output: str | None = None
    """File to write rewards to; None writes rewards.jsonl into the run folder."""


@dataclass(kw_only=True)
class CrossvalidateSettings(JobSettings):
    """Judge every labelled step by models of the other tasks, and compare ways to make such models."""

    head: str = "step_quality"
    """The head: an ordinal step head of `heads`."""
    folds: FoldSettings
    """How tasks are divided."""
    candidates: dict[str, CandidateSettings]
    """The ways to make a model, by name."""
    start: str | None = None
    """Folder of a reward model, for candidates that name it: ``model: ${start}``."""
    dataset: DatasetSettings
    """The examples, of all splits; made of `source` where that is given."""
    source: SourceSettings | None = None
    """The log that the dataset is made from."""
    labels: LabelSourceSettings
    """The files of labels that the dataset is made from; `labels.path`=null takes those beside the log."""
    annotations: str | None = None
    """File of annotations, for annotators' own figures; None takes the corpus's, else none."""
    verifiers: VerifierSettings
    """The rules that judge the log's trajectories."""
    backbone: BackboneSettings
    """The shared pretrained model of candidates without a `model`."""
    encoder: EncoderSettings
    """How a trajectory becomes step vectors, in candidates without a `model`."""
    heads: dict[str, HeadSettings]
    """The dimensions that get labels, by name."""
    schedule: ScheduleSettings
    """How loss weights move; one head has the same all the time."""
    trainer: TrainerSettings
    """How each model is trained; its epochs are chosen among `folds.epochs`."""
    tracking: TrackingSettings
    """Where the run is recorded."""


JOBS: dict[str, type[JobSettings]] = {
    "simulate": SimulateSettings,
    "ingest": IngestSettings,
    "verify": VerifySettings,
    "import_labels": ImportLabelsSettings,
    "build": BuildSettings,
    "train": TrainSettings,
    "score": ScoreSettings,
    "crossvalidate": CrossvalidateSettings,
}
