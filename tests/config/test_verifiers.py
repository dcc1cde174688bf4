from dataclasses import asdict
from pathlib import Path

import yaml

from rmtrain.config.verifiers import VerifierSettings
from rmtrain.verifiers.suite import RULES

DEFAULT = Path(__file__).resolve().parents[2] / "conf" / "verifiers" / "default.yaml"


def test_the_file_and_the_dataclass_say_the_same():
    assert yaml.safe_load(DEFAULT.read_text()) == asdict(VerifierSettings())


def test_every_rule_runs_by_default():
    assert sorted(VerifierSettings().rules) == sorted(RULES)
