"""Where runs are recorded."""

from dataclasses import dataclass


@dataclass
class TrackingSettings:
    """The MLflow store. Credentials never stand here: MLflow reads MLFLOW_TRACKING_TOKEN and its like itself."""

    uri: str | None = None
    """sqlite:///FILE, http://HOST:PORT or https://HOST; None records nothing."""
    artifacts: str | None = None
    """Folder of logged files; None takes ``mlartifacts`` beside an sqlite file, and is the choice of a server."""
    experiment: str = "train"
    """Experiment that the run belongs to."""
    run_name: str | None = None
    """Name of the run; None takes the name of the run folder."""
