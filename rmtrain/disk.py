"""Paths: what lies at one, what a killed process left there, one folder put in the place of another."""

import errno
import os
import re
import shutil
import stat
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Literal

from rmtrain.errors import DataError

Kind = Literal["file", "folder", "pipe", "socket", "device"]

_PID = re.compile(r"[1-9][0-9]{0,8}")
_SHOWN = 200  # characters of a path in a message


def remove_leftovers(folder: Path, start: str, end: str) -> None:
    """Remove what a process that was killed left half-made: files and folders named ``<start><pid>[.…]<end>``.

    What cannot be removed stays; what belongs to a process that runs is left alone.
    """
    with suppress(OSError):
        for path in list(folder.iterdir()):
            pid = path.name.removeprefix(start).split(".", 1)[0]
            if path.name.startswith(start) and path.name.endswith(end) and _PID.fullmatch(pid) and not _runs(int(pid)):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def kind_at(path: Path | str) -> Kind | None:
    """What lies at a path, links followed, asked before it is read: a pipe or a device never ends.

    Returns:
        None where nothing does, which includes a link to nothing.

    Raises:
        DataError: it cannot be told, because a folder on the way is closed or the path is too long.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no file can have such a name
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself
            return None
        text = str(path)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        why = error.strerror or error
        raise DataError(f"{shown}: cannot be looked at ({why}). Name another path, or open this one") from error
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISFIFO(mode):
        return "pipe"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def unfinished(target: Path) -> Path:
    """Where to make what will take the place of `target`: beside it, under a name of this process.

    What killed processes left there is removed, and a folder that one of them had moved away is put back.
    """
    recover(target)
    for end in (".partial", ".old"):
        remove_leftovers(target.parent, f".{target.name}.", end)
    return target.parent / f".{target.name}.{os.getpid()}.{uuid.uuid4().hex}.partial"


def recover(target: Path) -> None:
    """Put back what a process that was killed had moved away to make room, where nothing took its place."""
    with suppress(OSError):
        if os.path.lexists(target):
            return
        for path in list(target.parent.iterdir()):
            pid = path.name.removeprefix(f".{target.name}.").split(".", 1)[0]
            is_old = path.name.startswith(f".{target.name}.") and path.name.endswith(".old")
            if is_old and _PID.fullmatch(pid) and not _runs(int(pid)):
                os.replace(path, target)
                return


def replace_folder(made: Path, folder: Path) -> None:
    """Put a folder that is complete in the place of another, which is kept until then and deleted after.

    Args:
        made: the new folder, on the same disk.
        folder: where it belongs; it need not exist. Of a link to a folder, that folder is replaced.

    Raises:
        OSError: something other than a folder is there, or the disk refuses; what was there is there still.
    """
    folder = Path(os.path.realpath(folder))
    if kind_at(folder) not in ("folder", None):
        raise NotADirectoryError(errno.ENOTDIR, "it is no folder", str(folder))
    if folder.exists():
        old = folder.parent / f".{folder.name}.{os.getpid()}.{uuid.uuid4().hex}.old"
        os.replace(folder, old)
        try:
            os.replace(made, folder)
        except OSError:
            os.replace(old, folder)
            raise
        shutil.rmtree(old, ignore_errors=True)  # what stays is removed by the next process
    else:
        os.replace(made, folder)
