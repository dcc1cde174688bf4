from pathlib import Path

from rmtrain.config.labels import AggregationSettings, LabelSourceSettings
from rmtrain.labels.aggregate import METHODS
from rmtrain.labels.importers.importing import IMPORTERS


def test_every_choice_is_told() -> None:
    text = (Path(__file__).resolve().parents[2] / "rmtrain" / "config" / "labels.py").read_text(encoding="utf-8")
    for name in (*METHODS, *IMPORTERS, "auto"):
        assert name in text
    assert AggregationSettings().method in METHODS
    assert LabelSourceSettings().format == "auto"
