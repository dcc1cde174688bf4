"""Ten thousand hostile files: each is trajectories, quarantined rows or one named error, and nothing gets lost.

Every text of the sample rows carries a mark of its own. Whatever a mutation does to a file that is still JSON, each
mark that is left in it has to come out again, in a trajectory or in quarantine.
"""

import copy
import gzip
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from rmtrain.config.source import SourceSettings
from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import IngestCounts
from rmtrain.trajectories.importers.ingest import IMPORTERS, ingest
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, write

from .test_auto import ROWS
from .test_ingest import JUNK, ROW, mutated

SAMPLES: dict[str, Any] = {**ROWS, "openai": ROW}
TEXTS = {"content", "text", "thought", "thinking", "reasoning_content", "query", "question", "answer_text", "arguments"}
MARK = re.compile(r"mark[0-9]+x")
NO_FLOATS = ("1e999", "-Infinity", "NaN", "9" * 400)
SECONDS = 5.0  # most that one file of a few kilobytes may take


def test_there_is_a_sample_of_every_format():
    assert set(SAMPLES) == set(IMPORTERS)


def marked(value: Any, rng: random.Random, key: str | None = None) -> Any:
    """A copy with a mark at the end of each text."""
    if isinstance(value, dict):
        return {name: marked(part, rng, name) for name, part in value.items()}
    if isinstance(value, list):
        return [marked(part, rng, key) for part in value]
    if isinstance(value, str) and key in TEXTS and not value.startswith("{"):
        return f"{value} mark{rng.randrange(10**9)}x"
    return value


def nested(value: Any, rng: random.Random) -> Any:
    """One place of a value deep inside lists."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return value | {key: nested(value[key], rng)}
    for _ in range(rng.choice((3, 50, 400))):
        value = [value]
    return value


def as_text(rows: list[Any], rng: random.Random) -> str:
    """Rows as lines, sometimes with a key twice or a number that no float holds."""
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in rows]
    if rng.random() < 0.1:
        lines[0] = lines[0].replace("{", '{"role": "user", "role": "tool", ', 1)
    if rng.random() < 0.1:
        lines[0] = re.sub(
            r": (null|\d+)", lambda found: rng.choice((": 1e999", ": -Infinity", ": 9" + "9" * 400)), lines[0], count=1
        )
    return "\n".join(lines) + "\n"


def damaged(data: bytearray, rng: random.Random) -> bytearray:
    """Bytes changed, put in, taken out or cut off."""
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(4)
        if action == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif action == 1:
            data[at:at] = rng.choice((b"{", b"]", b'"', b"\\", b"\n", b"\xff", b"\x00", b"\xed\xa0\x80", b"NaN"))
        elif action == 2:
            del data[at : at + rng.randint(1, 40)]
        elif rng.random() < 0.2:
            del data[at:]
    return data


def packed(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    return pyarrow.compress(data, codec="zstd", asbytes=True) if suffix == ".zst" else data


def attempt(folder: Path, name: str, rng: random.Random, seen: Counter[str]) -> None:
    """Make one hostile file and read it, as its format or as whatever it looks like."""
    rows = [marked(copy.deepcopy(SAMPLES[name]), rng) for _ in range(rng.randint(1, 3))]
    share = rng.choice((0.0, 0.005, 0.03, 0.15))
    rows = [mutated(row, rng, share) for row in rows]
    if rng.random() < 0.1:
        rows.append(rng.choice(JUNK))
    if rng.random() < 0.1:
        rows[0] = nested(rows[0], rng)
    if rng.random() < 0.1:
        rows.append(rows[0])
    is_array = rng.random() < 0.3
    text = json.dumps(rows) if is_array else as_text(rows, rng)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    is_whole = rng.random() < 0.5
    suffix = rng.choice(("", "", ".gz", ".zst"))
    if not is_whole and rng.random() < 0.7:
        data = damaged(data, rng)
        data = bytearray(packed(bytes(data), suffix))
    else:
        data = bytearray(packed(bytes(data), suffix))
        data = data if is_whole else damaged(data, rng)
    path = folder / f"hostile.json{'' if is_array else 'l'}{suffix}"
    path.write_bytes(data)
    counts = IngestCounts()
    settings = SourceSettings(path=str(path), format=rng.choice((name, "auto")), quarantine_chars=10**6)
    started = time.monotonic()
    found = []
    try:
        for row in ingest(settings, counts):
            found.append(row)
    except DataError:
        seen["named error"] += 1
    assert time.monotonic() - started < SECONDS
    good = [row for row in found if isinstance(row, Trajectory)]
    bad = [row for row in found if not isinstance(row, Trajectory)]
    assert (counts.rows, counts.trajectories, counts.bad_rows) == (len(found), len(good), len(bad))
    assert not [row.reason for row in bad if "failed on it" in row.reason]
    seen["trajectories"] += len(good)
    seen["quarantined"] += len(bad)
    write(folder / "out.jsonl", good)
    assert list(read(folder / "out.jsonl", Trajectory)) == good
    if is_whole:
        out = "".join(row.model_dump_json() for row in found)
        lost = set(MARK.findall(text)) - set(MARK.findall(out))
        assert not lost, (lost, text, out)
        seen["marks"] += len(set(MARK.findall(text)))


def hunt(folder: Path, seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        name = list(SAMPLES)[seed % len(SAMPLES)]
        try:
            attempt(folder, name, rng, seen)
        except Exception as error:
            raise AssertionError(f"seed {seed}, a file of {name}") from error
    return seen


def test_hostile_files(tmp_path: Path):
    seen = hunt(tmp_path, range(300))
    assert min(seen[what] for what in ("trajectories", "quarantined", "named error", "marks")) > 50


@pytest.mark.slow
def test_ten_thousand_hostile_files(tmp_path: Path):
    seen = hunt(tmp_path, range(300, 10_000))
    assert min(seen.values()) > 1000


def big_line(path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "x" * 50_000_000}, {"role": "assistant", "content": "y"}]}
    path.write_text(json.dumps(row) + "\n")


def deep(path: Path) -> None:
    path.write_text("[" * 200_000 + "]" * 200_000 + "\n")


def bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"messages": [' + b" " * 200_000_000 + b"]}\n"))


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("empty.jsonl", Path.touch, "It is empty"),
        ("folder.jsonl", Path.mkdir, "It is empty"),
        ("long.jsonl", big_line, None),
        ("deep.jsonl", deep, "nested"),
        ("bomb.jsonl.gz", bomb, "is a line of"),
    ],
)
def test_odd_files(tmp_path: Path, name: str, make: Callable[[Path], None], expected: str | None):
    make(tmp_path / name)
    started = time.monotonic()
    if expected is None:
        (row,) = ingest(SourceSettings(path=str(tmp_path / name), format="openai"))
        assert isinstance(row, Trajectory)
        assert len(row.task.query) == 50_000_000
    else:
        with pytest.raises(DataError, match=expected):
            list(ingest(SourceSettings(path=str(tmp_path / name), format="auto")))
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/random"])
def test_a_device_is_not_read(device: str, tmp_path: Path):
    (tmp_path / "a.jsonl").symlink_to(device)
    for path in (device, tmp_path / "a.jsonl", tmp_path):
        with pytest.raises(DataError):
            list(ingest(SourceSettings(path=str(path), format="auto")))
