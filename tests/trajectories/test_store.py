import errno
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, TypeAdapter

from rmtrain.errors import DataError
from rmtrain.trajectories.schema import Record, Source, Step, Task, Trajectory, make_trajectory
from rmtrain.trajectories.store import read, write, writing


class Cat(Record):
    schema_version: Literal["cat/1"] = "cat/1"
    kind: Literal["cat"] = "cat"
    name: str
    size: float | None = None
    extra: dict[str, object] = Field(default_factory=dict)


class Dog(Record):
    schema_version: Literal["dog/1"] = "dog/1"
    kind: Literal["dog"] = "dog"
    name: str


ANIMAL: TypeAdapter[Cat | Dog] = TypeAdapter(Annotated[Cat | Dog, Field(discriminator="kind")])


def trajectories(n: int) -> list[Trajectory]:
    return [
        make_trajectory(
            task=Task(task_id="t", query="é\u2028 \x00 q"),
            steps=(Step(step_index=0, thought="x"),),
            source=Source(format="x", line=line),
        )
        for line in range(1, n + 1)
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "sub/folder/a.jsonl.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str):
    rows = trajectories(3)
    assert write(tmp_path / name, rows) == 3
    assert list(read(tmp_path / name, Trajectory)) == rows
    assert [path.name for path in (tmp_path / name).parent.iterdir() if path.is_file()] == [Path(name).name]


def test_a_gz_name_is_compressed_and_equal_rows_give_equal_bytes(tmp_path: Path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write(tmp_path / name, trajectories(2))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).count(b"\n") == 2


def test_a_union_of_records(tmp_path: Path):
    rows = [Cat(name="a", extra={"big": 10**30, "deep": [[{}]]}), Dog(name="b")]
    write(tmp_path / "a.jsonl", rows)
    assert list(read(tmp_path / "a.jsonl", ANIMAL)) == rows


def test_no_rows(tmp_path: Path):
    assert write(tmp_path / "a.jsonl", []) == 0
    assert list(read(tmp_path / "a.jsonl", Cat)) == []


def test_rows_may_come_from_the_file_that_is_replaced(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    write(path, trajectories(3))
    assert write(path, (row for row in read(path, Trajectory) if row.source.line != 2)) == 2
    assert [row.source.line for row in read(path, Trajectory)] == [1, 3]


def test_a_link_keeps_pointing_at_the_file(tmp_path: Path):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write(tmp_path / "link.jsonl", [Cat(name="a")])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert list(read(tmp_path / "real.jsonl", Cat)) == [Cat(name="a")]


def test_a_file_is_readable_as_the_umask_says(tmp_path: Path):
    old = os.umask(0o022)
    try:
        write(tmp_path / "a.jsonl", [Cat(name="a")])
    finally:
        os.umask(old)
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / name
    write(path, [Cat(name="old")])

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"a\.jsonl.*cannot be written \(No space left on device\).*unchanged"):
        write(path, [Cat(name="new")])
    assert list(read(path, Cat)) == [Cat(name="old")]
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_disk_that_fills_up_while_rows_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int
):
    path = tmp_path / name
    write(path, [Cat(name="old")])
    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda self, mode: opened(Path("/dev/full") if mode == "wb" else self, mode))
        with pytest.raises(DataError, match="No space left on device"):
            write(path, (Cat(name="x" * size) for _ in range(10)))
    assert list(read(path, Cat)) == [Cat(name="old")]


def test_an_error_of_the_rows_is_theirs_and_leaves_the_old_file(tmp_path: Path):
    def rows() -> Iterator[Cat]:
        yield Cat(name="new")
        raise OSError("from the rows")

    path = tmp_path / "a.jsonl"
    write(path, [Cat(name="old")])
    with pytest.raises(OSError, match="from the rows"):
        write(path, rows())
    assert list(read(path, Cat)) == [Cat(name="old")]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_cannot_be_replaced(tmp_path: Path):
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(DataError, match="is a folder, so nothing can be written there"):
        write(tmp_path / "a.jsonl", [Cat(name="a")])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", [{"x": float("-inf")}]])
def test_what_json_does_not_have_is_refused_when_written(tmp_path: Path, value: object):
    with pytest.raises(DataError, match=r"a\.jsonl: row 2: it cannot be stored as JSON"):
        write(tmp_path / "a.jsonl", [Cat(name="a"), Cat(name="b", extra={"x": value})])
    assert not list(tmp_path.iterdir())


def test_two_trajectories_of_one_id_are_refused(tmp_path: Path):
    (row,) = trajectories(1)
    with pytest.raises(DataError, match=rf"row 2: trajectory_id '{row.trajectory_id}' is already in it"):
        write(tmp_path / "a.jsonl", [row, row])
    (tmp_path / "a.jsonl").write_text((row.model_dump_json() + "\n") * 2)
    with pytest.raises(DataError, match=rf"a\.jsonl:2: trajectory_id '{row.trajectory_id}' is already in line 1"):
        list(read(tmp_path / "a.jsonl", Trajectory))


def test_a_field_can_be_asked_to_be_unique(tmp_path: Path):
    write(tmp_path / "a.jsonl", [Cat(name="a"), Dog(name="b"), Cat(name="b")])
    assert len(list(read(tmp_path / "a.jsonl", ANIMAL))) == 3
    with pytest.raises(DataError, match=r":3: name 'b' is already in line 2"):
        list(read(tmp_path / "a.jsonl", ANIMAL, unique="name"))


HEAD = b'{"schema_version":"cat/1","kind":"cat","name":"a"'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not valid JSON"),
        (b'{"name": "a', "not valid JSON"),
        (b'{"name": "\xff"}', "not valid JSON"),
        (b"[]", "Input should be an object"),
        (b'{"schema_version":"cat/1"}', "field 'name' is missing"),
        (b'{"schema_version":"cat/2","name":"a"}', r"schema_version 'cat/2' is not known\. Expected: 'cat/1'"),
        (b'{"name":"a"}', r"it has no schema_version\. Expected: 'cat/1'"),
        (HEAD + b',"nam":1}', "field 'nam' is not known"),
        (HEAD + b',"size":"big"}', "field 'size' is 'big': Input should be a valid number"),
        (HEAD + b',"size":NaN}', "NaN is no value; an absent one is null"),
        (HEAD + b',"extra":{"x":-Infinity}}', "-Infinity is no value; an absent one is null"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, message: str):
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEAD + b"}\n\n" + line + b"\n")
    rows = read(path, Cat)
    assert next(rows) == Cat(name="a")
    with pytest.raises(DataError, match=rf"^{path}:3: .*{message}"):
        next(rows)


def test_the_word_nan_in_a_text_is_fine(tmp_path: Path):
    write(tmp_path / "a.jsonl", [Cat(name="NaN and Infinity")])
    assert next(read(tmp_path / "a.jsonl", Cat)).name == "NaN and Infinity"


def test_an_absent_file(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.jsonl: no such file"):
        list(read(tmp_path / "a.jsonl", Cat))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-10], lambda data: b"no gzip", lambda data: data[:30] + b"\0" * 40]
)
def test_a_damaged_gzip_file(tmp_path: Path, damage: Callable[[bytes], bytes]):
    path = tmp_path / "a.jsonl.gz"
    write(path, [Cat(name=str(number) * 50) for number in range(50)])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"a\.jsonl\.gz:\d+: "):
        list(read(path, Cat))


def test_rows_are_read_one_at_a_time(tmp_path: Path):
    write(tmp_path / "a.jsonl", (Cat(name=str(number)) for number in range(1000)))
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"broken")
    rows = read(tmp_path / "a.jsonl", Cat)
    assert [next(rows).name for _ in range(1000)] == [str(number) for number in range(1000)]
    with pytest.raises(DataError, match=":1001: not valid JSON"):
        next(rows)


def test_files_take_their_places_together(tmp_path: Path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with writing(*paths) as (a, b):
        for number in range(3):
            (a if number else b).add(Cat(name=str(number)))
        assert list(tmp_path.glob("[ab]*")) == []
    assert (a.count, b.count) == (2, 1)
    assert [[cat.name for cat in read(path, Cat)] for path in paths] == [["1", "2"], ["0"]]


@pytest.mark.parametrize("when", ["record", "block", "end"])
def test_where_one_fails_all_are_as_they_were(tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for path in paths:
        write(path, [Cat(name="old")])
    synced = []

    def second_is_full(handle: int) -> None:
        synced.append(handle)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if when == "end":
        monkeypatch.setattr(os, "fsync", second_is_full)

    def write_both() -> None:
        with writing(*paths) as (a, b):
            a.add(Cat(name="new"))
            b.add(Cat(name="new", extra={"size": float("nan")} if when == "record" else {}))
            if when == "block":
                raise KeyError

    with pytest.raises(DataError if when != "block" else KeyError):
        write_both()
    assert [[cat.name for cat in read(path, Cat)] for path in paths] == [["old"], ["old"]]
    assert {entry.name for entry in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl.gz"}


def test_where_no_file_can_be_nothing_is_written(tmp_path: Path):
    write(tmp_path / "a.jsonl", [Cat(name="old")])
    (tmp_path / "b.jsonl").mkdir()
    with (
        pytest.raises(DataError, match=r"b\.jsonl: is a folder, so nothing can be written there\. Name a file"),
        writing(tmp_path / "a.jsonl", tmp_path / "b.jsonl"),
    ):
        pass
    assert [cat.name for cat in read(tmp_path / "a.jsonl", Cat)] == ["old"]


def test_one_file_cannot_be_two(tmp_path: Path):
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    with (
        pytest.raises(DataError, match="is named for two files at once"),
        writing(tmp_path / "a.jsonl", tmp_path / "b.jsonl"),
    ):
        pass


def test_an_error_of_the_block_is_not_taken_for_one_of_the_disk(tmp_path: Path):
    with pytest.raises(OSError, match="elsewhere"), writing(tmp_path / "a.jsonl"):
        raise OSError("elsewhere")
    assert list(tmp_path.iterdir()) == []
