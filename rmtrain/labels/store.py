"""The annotations of a corpus in one file that only grows: what was said once stays, and a changed answer is one more.

Every line is on disk before the next job can see it. A line that a crash cut short was never complete: it is cut
off, and what it held is appended again by whatever brought it.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from rmtrain.errors import DataError
from rmtrain.labels.schema import ANNOTATION, Annotation
from rmtrain.trajectories.store import read


@dataclass
class Appended:
    """What became of the annotations that were offered.

    Attributes:
        new: answers that were not there.
        changed: answers that differ from what was there under their id; both stay, the later one counts.
        same: answers that were there already.
        mended: bytes of a half-written line that were cut off.
    """

    new: int = 0
    changed: int = 0
    same: int = 0
    mended: int = 0


def append(path: Path, annotations: Iterable[Annotation]) -> Appended:
    """Add annotations to a store; those that are there already are not doubled.

    Args:
        path: the file; it need not exist.
        annotations: read to their end before anything is written.

    Raises:
        DataError: the store is damaged, or cannot be written; what it held is unchanged.
    """
    with _alone(path):
        return _append(path, annotations)


def _append(path: Path, annotations: Iterable[Annotation]) -> Appended:
    done = Appended(mended=_mend(path))
    held = {row.annotation_id: row for row in read(path, ANNOTATION)} if path.is_file() else {}
    lines: list[str] = []
    for annotation in annotations:
        before = held.get(annotation.annotation_id)
        if before == annotation:
            done.same += 1
            continue
        done.changed += before is not None
        done.new += before is None
        held[annotation.annotation_id] = annotation
        lines.append(annotation.model_dump_json() + "\n")
    if not lines:
        return done
    size = path.stat().st_size if path.is_file() else 0
    try:
        with path.open("ab") as stream:
            try:
                stream.write("".join(lines).encode())
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(path, size)
                raise
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror}). Free some space or mend its rights; what was there is "
            "unchanged."
        ) from error
    return done


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Inside, no other process adds to the store: one that comes meanwhile waits."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise DataError(f"{path.parent} cannot be opened ({error.strerror}). Mend its rights.") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _mend(path: Path) -> int:
    """Cut off a last line that was not written to its end, and end one that was; returns the bytes cut off."""
    if not path.is_file():
        return 0
    try:
        with path.open("rb+") as stream:
            size = end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - 65536)
                stream.seek(start)
                at = stream.read(end - start).rfind(b"\n")
                if at >= 0:
                    end = start + at + 1
                    break
                end = start
            stream.seek(end)
            if end == size:
                return 0
            if _is_whole(stream.read()):
                stream.write(b"\n")
                return 0
            stream.truncate(end)
            return size - end
    except OSError as error:
        raise DataError(f"{path} cannot be opened for writing ({error.strerror}). Mend its rights.") from error


def _is_whole(line: bytes) -> bool:
    try:
        ANNOTATION.validate_json(line)
    except ValidationError:
        return False
    return True
