"""Our own rows come back as they were, ids included; what is damaged is named."""

from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.config.world import WorldSettings
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import IngestCounts, Raw
from rmtrain.trajectories.importers.ingest import ingest
from rmtrain.trajectories.importers.own import Own
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import write
from rmtrain.world.simulate import simulate

from .test_auto import OURS


def test_what_a_job_wrote_is_read_again(tmp_path: Path):
    made = [row for record in simulate(WorldSettings(n_tasks=3)) for row in record.trajectories]
    write(tmp_path / "trajectories.jsonl", made)
    counts = IngestCounts()
    assert list(ingest(SourceSettings(format="jsonl", path=str(tmp_path)), counts)) == made
    assert counts.messages["step"] == sum(len(row.steps) for row in made)


def test_a_row_twice_gets_two_ids(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("".join(Trajectory.model_validate(OURS).model_dump_json() + "\n" for _ in "ab"))
    one, two = ingest(SourceSettings(format="jsonl", path=str(tmp_path)))
    assert isinstance(one, Trajectory)
    assert isinstance(two, Trajectory)
    assert one.trajectory_id == OURS["trajectory_id"] != two.trajectory_id


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"schema_version": "rmtrain.trajectory/9"}, "schema_version 'rmtrain.trajectory/9' is not known. Expected"),
        ({"schema_version": "x"}, "it is no trajectory of ours: it lacks schema_version 'rmtrain.trajectory/1'"),
        ({"steps": 5}, "field 'steps' is 5"),
        ({"extra_field": 5}, "field 'extra_field' is not known"),
        ({"task": {"query": "q"}}, "field 'task.task_id' is missing"),
    ],
)
def test_a_damaged_row_is_named(changed: dict[str, Any], match: str):
    with pytest.raises(DataError, match=match):
        Own().convert(Raw("a.jsonl", 1, None, "", payload={**OURS, **changed}))
