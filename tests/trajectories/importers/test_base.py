import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.trajectories.importers.base import PLACES, BadRow, Importer, IngestCounts, SkippedFile
from rmtrain.trajectories.importers.ingest import IMPORTERS


def test_a_bad_row_reads_as_file_line_and_reason():
    assert str(BadRow(file="raw.jsonl", line=412, reason="is empty", raw="")) == "raw.jsonl:412: is empty"
    assert str(BadRow(file="raw.json", line=1, row=9, reason="is empty", raw="")) == "raw.json:1: row 9: is empty"


def test_a_skipped_file_reads_as_file_and_reason():
    assert str(SkippedFile("a.csv", "a table")) == "a.csv: a table"


def test_reasons_are_counted_by_kind():
    counts = IngestCounts()
    for number in range(3):
        reason = f"message {number} has role 'r{number}'. Expected one of: user"
        counts.note(BadRow(file="a", line=number, reason=reason, raw=""))
    counts.note(BadRow(file="a", line=9, reason="is empty", raw=""))
    assert counts.reasons == {"message … has role …. Expected one of: user": 3, "is empty": 1}
    assert (counts.bad_rows, counts.first_bad) == (4, "a:0: message 0 has role 'r0'. Expected one of: user")


def test_hostile_reasons_take_bounded_space():
    counts = IngestCounts()
    for number in range(500):
        counts.note(BadRow(file="a", line=1, reason="x" * number * 10 + chr(97 + number % 26) * (number % 90), raw=""))
    assert len(counts.reasons) <= 51
    assert max(map(len, counts.reasons)) <= 200
    assert sum(counts.reasons.values()) == 500


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
