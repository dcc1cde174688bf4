from dataclasses import asdict
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from rmtrain.config.source import SourceSettings

FOLDER = Path(__file__).resolve().parents[2] / "conf" / "source"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_file_of_settings_says_every_setting_and_changes_the_format_only(path: Path):
    raw = OmegaConf.to_container(OmegaConf.load(path))
    assert raw == asdict(SourceSettings(format=path.stem))
