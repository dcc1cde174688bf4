"""Every format is known by its own rows, file by file, and what is known by none says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.errors import ConfigError
from rmtrain.trajectories.importers.base import BadRow, IngestCounts
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.schema import Source, Step, Task, Trajectory, make_trajectory

from .test_agentprocessbench import ROW as BENCH
from .test_anthropic import MESSAGES as BLOCKS
from .test_openai import MESSAGES as CHAT
from .test_tau_bench import RUN as TAU

OURS = make_trajectory(
    task=Task(task_id="t", query="q"), steps=(Step(step_index=0, thought="x"),), source=Source(format="openai")
).model_dump(mode="json")
NUMBERED = {**TAU, "traj": [{**message, "index": number} for number, message in enumerate(TAU["traj"], start=1)]}
ROWS: dict[str, Any] = {
    "jsonl": OURS,
    "agentprocessbench": BENCH,
    "agentrx": NUMBERED,
    "tau_bench": TAU,
    "anthropic": {"messages": BLOCKS},
    "openai": {"messages": CHAT},
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_each_file_of_a_folder_is_read_as_what_it_is(tmp_path: Path):
    for name, row in ROWS.items():
        write(tmp_path / f"{name}.jsonl", row, row)
    write(tmp_path / "foreign.jsonl", {"x": 1})
    counts = IngestCounts()
    made = list(ingest(SourceSettings(format="auto", path=str(tmp_path)), counts))
    assert all(isinstance(row, Trajectory) for row in made)
    assert {file: said.split(", by ")[0] for file, said in counts.formats.items()} == {
        f"{name}.jsonl": name for name in ROWS
    }
    assert (counts.trajectories, counts.files) == (12, 6)
    assert [str(skip) for skip in counts.skipped] == ["foreign.jsonl: no row of format 'auto' among 1"]
    assert len({row.trajectory_id for row in made if isinstance(row, Trajectory)}) == 12


@pytest.mark.parametrize("name", ROWS)
def test_what_was_found_out_is_what_naming_it_gives(tmp_path: Path, name: str):
    path = write(tmp_path / "log.jsonl", {"header": 1}, ROWS[name])
    found = list(ingest(SourceSettings(format="auto", path=str(path))))
    assert found == list(ingest(SourceSettings(format=name, path=str(path))))
    assert isinstance(found[0], BadRow)
    assert isinstance(found[1], Trajectory)


def test_an_array_of_messages_in_a_json_file_is_one_row(tmp_path: Path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(CHAT))
    (made,) = ingest(SourceSettings(format="auto", path=str(path)))
    assert isinstance(made, Trajectory)
    assert len(made.steps) == 2


def test_a_row_that_nobody_knows_says_what_it_has_and_how_to_go_on(tmp_path: Path):
    path = write(tmp_path / "log.jsonl", {"conv": CHAT, "id": 1}, [], 5)
    counts = IngestCounts()
    rows = ingest(SourceSettings(format="auto", path=str(path)), counts)
    first = next(rows)
    assert isinstance(first, BadRow)
    assert first.reason == (
        "it is an object with conv, id, which is no row of a known format (jsonl, agentprocessbench, agentrx, "
        "tau_bench, anthropic, openai). Where it holds chat messages, name their field: source=openai "
        "source.fields.messages=NAME"
    )
    assert counts.formats == {"log.jsonl": "unknown"}


def test_fields_need_a_named_format():
    with pytest.raises(ConfigError, match="auto has fixed fields"):
        ingest(SourceSettings(format="auto", path="x", fields=FieldSettings(reward="x")))
