import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.trajectories.importers.base import PLACES, BadRow, Importer, IngestCounts, SkippedFile
from rmtrain.trajectories.importers.ingest import IMPORTERS


def test_a_bad_row_reads_as_file_line_and_reason():
    assert str(BadRow(file="raw.jsonl", line=412, reason="is empty", raw="")) == "raw.jsonl:412: is empty"
    assert str(BadRow(file="raw.json", line=1, row=9, reason="is empty", raw="")) == "raw.json:1: row 9: is empty"


def test_a_skipped_file_reads_as_file_and_reason():
    assert str(SkippedFile("a.csv", "a table")) == "a.csv: a table"


def test_two_counts_share_nothing():
    one, two = IngestCounts(), IngestCounts()
    one.messages["step"] += 1
    one.skipped.append(SkippedFile("a", "b"))
    assert two == IngestCounts(messages=dict.fromkeys(PLACES, 0))


@pytest.mark.parametrize("name", IMPORTERS)
def test_every_importer_is_one_and_carries_its_name(name: str):
    importer = IMPORTERS[name](SourceSettings(format=name))
    assert isinstance(importer, Importer)
    assert importer.name == name
