from dataclasses import asdict
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.trajectories.importers.openai import FIELDS

FOLDER = Path(__file__).resolve().parents[2] / "conf" / "source"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_file_of_settings_says_every_setting_and_changes_the_format_only(path: Path):
    raw = OmegaConf.to_container(OmegaConf.load(path))
    expected = asdict(SourceSettings(format=path.stem))
    if path.stem not in ("openai", "anthropic"):  # which name their fields themselves
        expected["fields"] = {}
    assert raw == expected


def test_every_field_of_ours_can_be_named_and_the_usual_names_are_told():
    assert list(asdict(FieldSettings())) == list(FIELDS)
    text = (Path(__file__).resolve().parents[2] / "rmtrain" / "config" / "source.py").read_text(encoding="utf-8")
    for ours, (_, usual) in FIELDS.items():
        meaning = text.split(f"    {ours}: str | None = None\n")[1].split('"""')[1]
        assert not [name for name in usual if name not in meaning], ours
