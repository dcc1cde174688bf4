"""What lies at a path is told without opening it, and a path that cannot be asked about is a sentence."""

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rmtrain.disk import kind_at, recover, remove_leftovers, replace_folder, unfinished
from rmtrain.errors import DataError


def test_each_kind_is_told_and_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        for kind in ("file", "folder", "pipe", "socket"):
            (tmp_path / f"link to {kind}").symlink_to(tmp_path / kind)
            assert kind_at(kind) == kind_at(tmp_path / f"link to {kind}") == kind
    assert kind_at("/dev/null") == "device"


def test_nothing_is_none(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("absent", "file/below", "dangling", "loop", "zero\0byte", "half \ud800"):
        assert kind_at(tmp_path / name) is None


def test_a_path_that_is_too_long_is_a_sentence():
    with pytest.raises(DataError, match=r"^x{200}…: cannot be looked at \(File name too long\)\. Name another path"):
        kind_at("x" * 5000)


def test_a_closed_folder_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def closed(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "stat", closed)
    with pytest.raises(DataError, match=r"closed/a: cannot be looked at \(Permission denied\)\. .* or open this one$"):
        kind_at(tmp_path / "closed/a")


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    kept = [f".a.{os.getpid()}.part", f".a.{os.getppid()}.x.part", ".a.mine.part", f".b.{ended.pid}.part", "a.part"]
    for name in [*kept, f".a.{ended.pid}.part", f".a.{ended.pid}.x.part"]:
        (tmp_path / name).write_text("x")
    (tmp_path / f".a.{ended.pid}.y.part").mkdir()
    (tmp_path / f".a.{ended.pid}.y.part" / "file").write_text("x")
    remove_leftovers(tmp_path, ".a.", ".part")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    remove_leftovers(tmp_path / "absent", ".a.", ".part")


def test_what_cannot_take_its_place_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("made", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if source == tmp_path / "made":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        replace_folder(tmp_path / "made", tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["kept"]
    assert {path.name for path in tmp_path.iterdir()} == {"made", "kept"}


@pytest.mark.parametrize("pid", ["²", "0", "", "9" * 400, "01"])
def test_what_is_no_process_number_is_left_alone(tmp_path: Path, pid: str):
    try:
        (tmp_path / f".a.{pid}.part").touch()
    except OSError:
        pytest.skip("no file can have such a name")
    remove_leftovers(tmp_path, ".a.", ".part")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_takes_the_place_of_another_or_of_none(tmp_path: Path):
    for text in ("old", "new"):
        made = tmp_path / "made"
        made.mkdir()
        (made / text).write_text(text)
        replace_folder(made, tmp_path / "kept")
        assert [path.name for path in (tmp_path / "kept").iterdir()] == [text]
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_a_killed_process_had_moved_away_comes_back(tmp_path: Path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    pid = int(dead.stdout)
    old = tmp_path / f".dataset.{pid}.abc.old"
    old.mkdir()
    (old / "data").touch()
    recover(tmp_path / "dataset")
    assert [path.name for path in (tmp_path / "dataset").iterdir()] == ["data"]
    for end in ("old", "partial"):
        (tmp_path / f".dataset.{pid}.abc.{end}").mkdir()
    assert unfinished(tmp_path / "dataset").parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


def test_only_a_folder_is_replaced_and_a_link_stays_one(tmp_path: Path):
    for name in ("made", "real"):
        (tmp_path / name).mkdir()
    (tmp_path / "made" / "new").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    replace_folder(tmp_path / "made", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["new"]
    (tmp_path / "made").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        replace_folder(tmp_path / "made", tmp_path / "file")
    assert (tmp_path / "made").is_dir()
