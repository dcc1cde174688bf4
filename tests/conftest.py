"""Shared by all tests: shapes are checked at run time, the network is off, real data is found or skipped."""

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

install_import_hook("rmtrain", "beartype.beartype")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public data that some tests read; where it is absent they skip."""
    folder = Path(os.environ.get("RMTRAIN_REAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data is absent ({folder}); set RMTRAIN_REAL_DATA to its folder")
    return folder
