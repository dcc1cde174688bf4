"""The store grows and never forgets: nothing is doubled, a changed answer is one more, a torn line is mended."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rmtrain.errors import DataError
from rmtrain.labels.schema import ANNOTATION, StepLabel
from rmtrain.labels.store import Appended, append
from rmtrain.trajectories.store import read


def step(number: int, value: int | None = 2) -> StepLabel:
    return StepLabel(
        annotation_id=f"a{number}",
        annotator="ann",
        dimension="step_quality",
        trajectory_id="t",
        step_index=number,
        value=value,
    )


def test_what_is_there_is_not_doubled_and_what_changed_is_one_more(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    assert append(path, [step(0), step(1), step(0)]) == Appended(new=2, same=1)
    before = path.read_bytes()
    assert append(path, [step(1), step(0)]) == Appended(same=2)
    assert path.read_bytes() == before
    assert append(path, [step(1, 0), step(2, None)]) == Appended(new=1, changed=1)
    assert path.read_bytes().startswith(before)
    assert [(row.annotation_id, row.value) for row in read(path, ANNOTATION)] == [  # type: ignore[union-attr]
        ("a0", 2),
        ("a1", 2),
        ("a1", 0),
        ("a2", None),
    ]
    # the later answer is the one that stands
    assert append(path, [step(1, 0)]) == Appended(same=1)


@pytest.mark.parametrize("torn", [b'{"half', b"x" * 200_000])
def test_a_line_that_a_crash_cut_short_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "a.jsonl"
    append(path, [step(0)])
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert append(path, [step(0), step(1)]) == Appended(new=1, same=1, mended=len(torn))
    assert path.read_bytes().startswith(whole)
    assert len(list(read(path, ANNOTATION))) == 2


def test_a_last_line_that_is_whole_only_lacks_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append(path, [step(0), step(1)])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert append(path, [step(1), step(2)]) == Appended(new=1, same=1)
    assert len(list(read(path, ANNOTATION))) == 3


def test_two_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rmtrain.labels.schema import StepLabel; "
        "from rmtrain.labels.store import append\n"
        "for n in range(40):\n"
        "    append(Path(sys.argv[1]), [StepLabel(annotation_id=f'{sys.argv[2]}{n}-{k}', annotator='x', "
        "dimension='d', trajectory_id='t', step_index=k, value=1) for k in range(20)])\n"
    )
    path = tmp_path / "a.jsonl"
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    assert len({row.annotation_id for row in read(path, ANNOTATION)}) == 1600


def test_a_store_of_one_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"kind"')
    assert append(path, [step(0)]) == Appended(new=1, mended=7)


def test_a_damaged_store_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"kind": "step"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:1: field"):
        append(path, [step(0)])
    assert path.read_text() == '{"kind": "step"}\n'


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, full_disk: Callable[..., object]) -> None:
    path = tmp_path / "a.jsonl"
    append(path, [step(0)])
    before = path.read_bytes()
    with full_disk(len(before) + 20), pytest.raises(DataError, match=r"cannot be written \(File too large\)\. Free"):  # type: ignore[attr-defined]
        append(path, [step(number) for number in range(1, 50)])
    assert path.read_bytes() == before


def test_nothing_to_add_makes_no_file(tmp_path: Path) -> None:
    assert append(tmp_path / "a.jsonl", []) == Appended()
    assert not (tmp_path / "a.jsonl").exists()
