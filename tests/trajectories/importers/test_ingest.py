import gzip
import json
import os
import random
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rmtrain.config.source import FieldSettings, SourceSettings
from rmtrain.errors import ConfigError, DataError
from rmtrain.trajectories.importers.base import BadRow, IngestCounts
from rmtrain.trajectories.importers.ingest import IMPORTERS, ingest
from rmtrain.trajectories.importers.openai import OpenAIChat
from rmtrain.trajectories.schema import Trajectory
from rmtrain.trajectories.store import read, write

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": "t",
        "reasoning_content": "r",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": {"y": [1, None]}}},
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": "1"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "2"}]},
    {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "image_url", "image_url": {"url": "z"}}]},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "bye"},
]
ROW: dict[str, Any] = {
    "messages": CHAT,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "task_id": "t1",
    "reward": 0.5,
    "metadata": {"k": [1, {"z": None}]},
}


def run(path: Path, **settings: Any) -> tuple[list[Trajectory], list[BadRow], IngestCounts]:
    counts = IngestCounts()
    rows = list(ingest(SourceSettings(path=str(path), **settings), counts))
    good = [row for row in rows if isinstance(row, Trajectory)]
    bad = [row for row in rows if isinstance(row, BadRow)]
    assert (counts.rows, counts.trajectories, counts.bad_rows) == (len(rows), len(good), len(bad))
    return good, bad, counts


def lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def test_one_file(tmp_path: Path):
    good, bad, counts = run(lines(tmp_path / "raw.jsonl", CHAT, "tru", ROW, {"messages": [{"role": "tol"}]}))
    assert [row.source.line for row in good] == [1, 3]
    assert [str(row) for row in bad] == [
        "raw.jsonl:2: is not valid JSON: expecting value, but 'tru' at character 0",
        "raw.jsonl:4: message 0 has role 'tol'. Expected one of: system, developer, user, assistant, tool, function",
    ]
    assert counts.messages == {"task": 4, "step": 4, "context": 2, "observation": 4, "extra": 2}
    assert (counts.files, counts.skipped) == (1, [])


def test_a_row_of_an_array_is_named_by_its_position(tmp_path: Path):
    (tmp_path / "raw.json").write_text(f"[{json.dumps(ROW)}, {{}}]")
    good, (bad,), _ = run(tmp_path / "raw.json")
    assert (good[0].source.line, good[0].source.row) == (1, 1)
    assert str(bad) == "raw.json:1: row 2: it has no list of messages. It has: nothing"


def test_a_folder(tmp_path: Path):
    lines(tmp_path / "b.jsonl", ROW)
    lines(tmp_path / "a" / "z.jsonl.gz", ROW, ROW)
    lines(tmp_path / "tools.json", *ROW["tools"])
    lines(tmp_path / "empty.jsonl")
    lines(tmp_path / "note.txt", "hello")
    lines(tmp_path / ".hidden.jsonl", ROW)
    lines(tmp_path / "header.jsonl", {"version": 1}, ROW)
    lines(tmp_path / "broken.jsonl", "{")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    good, bad, counts = run(tmp_path)
    assert [(row.source.file, row.source.line) for row in good] == [
        ("a/z.jsonl.gz", 1),
        ("a/z.jsonl.gz", 2),
        ("b.jsonl", 1),
        ("header.jsonl", 2),
    ]
    assert [(row.file, row.line) for row in bad] == [("broken.jsonl", 1), ("header.jsonl", 1)]
    assert counts.files == 4
    assert sorted(str(skip) for skip in counts.skipped) == [
        "empty.jsonl: empty",
        "link: a link to a folder",
        "note.txt: its name ends in none of .json, .jsonl, .json.gz, .jsonl.gz, .json.zst, .jsonl.zst",
        "tools.json: no row of format 'openai' among 1",
    ]


def test_a_foreign_file_beside_a_log_of_other_names_is_passed_over(tmp_path: Path):
    lines(tmp_path / "a.jsonl", {"version": 1}, {"messages": CHAT})
    lines(tmp_path / "b.jsonl", {"conv": CHAT}, {"x": 1})
    good, bad, counts = run(tmp_path, fields=FieldSettings(messages="conv"))
    assert [(row.source.file, row.source.line) for row in good] == [("b.jsonl", 1)]
    assert [str(row) for row in bad] == ["b.jsonl:2: it has no field 'conv' (source.fields.messages). It has: x"]
    assert [str(skip) for skip in counts.skipped] == ["a.jsonl: no row of format 'openai' among 2"]


def test_what_is_no_regular_file_is_passed_over_by_name(tmp_path: Path):
    lines(tmp_path / "good.jsonl", ROW)
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    (tmp_path / "dangling.json").symlink_to(tmp_path / "absent")
    good, bad, counts = run(tmp_path)
    assert (len(good), bad, counts.files) == (1, [], 1)
    assert sorted(str(skip) for skip in counts.skipped) == [
        "dangling.json: a link to nothing",
        "endless.jsonl: a device, no regular file",
        "pipe.jsonl: a pipe, no regular file",
    ]


@pytest.mark.parametrize(("name", "kind"), [("pipe.jsonl", "pipe"), ("endless.jsonl", "device")])
def test_a_log_that_may_never_end_is_refused(tmp_path: Path, name: str, kind: str):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=rf"{name}: is a {kind}, which may never end\. Save what it gives to a file"):
        run(tmp_path / name)


def test_a_path_that_cannot_be_looked_at_is_a_sentence(tmp_path: Path):
    with pytest.raises(DataError, match=r"…: cannot be looked at \(File name too long\)"):
        run(tmp_path / ("x" * 5000))


FOREIGN = {"x": "y" * 5000}  # 2 kB of it would stand in quarantine


@pytest.mark.parametrize(
    ("rows", "n_bad"),
    [([FOREIGN] * 1000, 0), ([FOREIGN] * 1000 + [ROW], 1000), (["{"] + [FOREIGN] * 1000, 1001)],
    ids=["foreign", "late", "damaged"],
)
def test_a_large_file_is_not_held_while_its_format_is_unknown(tmp_path: Path, rows: list[Any], n_bad: int):
    lines(tmp_path / "a.jsonl", *rows)
    lines(tmp_path / "b.jsonl", ROW)
    found = ingest(SourceSettings(path=str(tmp_path)))
    tracemalloc.start()
    assert sum(isinstance(row, BadRow) for row in found) == n_bad
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_equal_rows_are_kept_with_ids_of_their_own(tmp_path: Path):
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        lines(tmp_path / "in" / name, ROW, ROW)
    good, _, _ = run(tmp_path / "in")
    assert len({row.trajectory_id for row in good}) == 6
    assert write(tmp_path / "out.jsonl", good) == 6
    again, _, _ = run(tmp_path / "in")
    assert again == good
    alone, _, _ = run(tmp_path / "in" / "a.jsonl")
    assert [row.trajectory_id for row in alone] == [row.trajectory_id for row in good[:2]]


def test_stop_at_the_first_bad_row(tmp_path: Path):
    path = lines(tmp_path / "raw.jsonl", ROW, "{", ROW)
    rows = ingest(SourceSettings(path=str(path), on_bad_row="stop"))
    assert isinstance(next(rows), Trajectory)
    with pytest.raises(DataError, match=r"^raw\.jsonl:2: is not valid JSON.*source\.on_bad_row=skip$"):
        next(rows)


def test_limits(tmp_path: Path):
    path = lines(tmp_path / "raw.jsonl", ROW, "{" + "x" * 100, ROW)
    good, (bad,), _ = run(path, max_rows=2, quarantine_chars=10)
    assert (len(good), bad.raw) == (1, "{" + "x" * 9)


def test_quarantine_can_be_stored(tmp_path: Path):
    path = tmp_path / "raw.jsonl"
    path.write_bytes(json.dumps(ROW).encode() + b'\n{"\xff": "\\ud800"}\n["\\ud800"]\n')
    _, bad, _ = run(path)
    assert [row.reason for row in bad] == [
        "is not valid UTF-8",
        "holds half of a surrogate pair (\\ud800 to \\udfff), which is no character",
    ]
    write(tmp_path / "quarantine.jsonl", bad)
    assert list(read(tmp_path / "quarantine.jsonl", BadRow)) == bad


def test_a_bug_of_an_importer_costs_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    convert = OpenAIChat.convert

    def fail(self: OpenAIChat, raw: Any) -> Any:
        return convert(self, raw) if raw.line == 1 else {}["x"]

    monkeypatch.setattr(OpenAIChat, "convert", fail)
    good, (bad,), _ = run(lines(tmp_path / "raw.jsonl", ROW, ROW))
    assert (len(good), bad.reason) == (1, "the importer 'openai' failed on it (KeyError: 'x')")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": None}, r"source\.path is not set"),
        ({"format": "tau-bench"}, r"source\.format: unknown source format 'tau-bench'\. .* Did you mean 'tau_bench'\?"),
        (
            {"on_bad_row": "skp"},
            r"source\.on_bad_row: unknown choice 'skp'\. .* Did you mean 'skip'\?",
        ),
        ({"max_rows": 0}, r"source\.max_rows is 0\. It must be at least 1"),
        ({"quarantine_chars": -1}, r"source\.quarantine_chars is -1"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_read(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        ingest(SourceSettings(**{"path": "absent", **settings}))


def test_nothing_to_read(tmp_path: Path):
    cases = {
        "absent": "absent: no such file or folder",
        "a.csv": r"a\.csv: unknown kind of file\. Its name must end in one of: \.json",
        "empty.jsonl": r"holds no trajectory of format 'openai'\. It is empty",
        "bad.jsonl": r"bad\.jsonl: holds no .* All 2 rows are bad, the first: bad\.jsonl:1: it has no list of messages",
        "folder": r"holds no trajectory .*Skipped 1 files, the first: t\.json: no row of format 'openai' among 1",
        "nothing": r"holds no trajectory of format 'openai'\. It is empty",
    }
    lines(tmp_path / "a.csv", "x")
    lines(tmp_path / "empty.jsonl")
    lines(tmp_path / "bad.jsonl", {}, {})
    lines(tmp_path / "folder" / "t.json", {"name": "f"})
    (tmp_path / "nothing").mkdir()
    for name, message in cases.items():
        with pytest.raises(DataError, match=message):
            list(ingest(SourceSettings(path=str(tmp_path / name))))


def test_every_format_has_a_file_of_settings():
    names = {path.stem for path in (Path(__file__).resolve().parents[3] / "conf" / "source").glob("*.yaml")}
    assert names >= set(IMPORTERS)


JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, "", "x", "[", "NaN", "\x00", "\ud800", [], [[]], {}, {"role": "user"}, ["x", 1],
    {"type": "text"}, {"type": "tool_use"}, {"function": {}}, "assistant", "tool", "function", float("nan"), 1e308,
)  # fmt: skip


def mutated(value: Any, rng: random.Random, share: float) -> Any:
    """A copy in which some values are junk, and some entries are gone, doubled or moved."""
    if rng.random() < share:
        return rng.choice(JUNK)
    if isinstance(value, dict):
        items = [(key, mutated(part, rng, share)) for key, part in value.items() if rng.random() > share / 2]
        if rng.random() < share:
            items.append((rng.choice(["role", "content", "tool_calls", "id", "name", "extra"]), rng.choice(JUNK)))
        return dict(items)
    if isinstance(value, list):
        parts = [mutated(part, rng, share) for part in value if rng.random() > share / 2]
        if parts and rng.random() < share:
            parts.append(rng.choice(parts))
        if rng.random() < share / 2:
            rng.shuffle(parts)
        return parts
    return value


def n_messages(row: Any) -> int:
    return len(row if isinstance(row, list) else row["messages"])


@pytest.mark.parametrize("seed", range(40))
def test_mutated_rows_are_trajectories_or_bad_rows_and_no_message_is_lost(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    rows = [mutated(rng.choice([ROW, CHAT]), rng, rng.choice([0.005, 0.02, 0.1])) for _ in range(20)]
    good, bad, counts = run(lines(tmp_path / "a.jsonl", ROW, *map(json.dumps, rows)))
    assert len(good) + len(bad) == 21
    taken = [([ROW, *rows])[row.source.line - 1] for row in good if row.source.line]
    assert sum(counts.messages.values()) == sum(map(n_messages, taken))
    assert not [row.reason for row in bad if "failed on it" in row.reason]
    write(tmp_path / "out.jsonl", good)
    assert list(read(tmp_path / "out.jsonl", Trajectory)) == good


def test_mutations_are_neither_all_good_nor_all_bad(tmp_path: Path):
    rng = random.Random(0)
    good, bad, _ = run(lines(tmp_path / "a.jsonl", *(json.dumps(mutated(ROW, rng, 0.01)) for _ in range(100))))
    assert len(good) > 20
    assert len(bad) > 20


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz"])
@pytest.mark.parametrize("seed", range(40))
def test_mutated_bytes_never_raise_anything_else(tmp_path: Path, name: str, seed: int):
    rng = random.Random(seed)
    rows = [json.dumps(ROW) for _ in range(5)]
    data = bytearray(("[" + ",\n".join(rows) + "]" if name == "a.json" else "\n".join(rows)).encode())
    if name.endswith("gz"):
        data = bytearray(gzip.compress(data))
    for _ in range(rng.randint(1, 20)):
        at = rng.randrange(len(data))
        action = rng.randrange(4)
        if action == 0:
            data[at] = rng.randrange(256)
        elif action == 1:
            data.insert(at, rng.choice(b'{}[]",:\\\n\xff\x00'))
        elif action == 2:
            del data[at : at + rng.randint(1, 30)]
        else:
            data[at:at] = data[at : at + rng.randint(1, 200)]
    (tmp_path / name).write_bytes(bytes(data))
    counts = IngestCounts()
    found: list[Trajectory | BadRow] = []
    with suppress(DataError):  # where nothing is left of the file
        found += ingest(SourceSettings(path=str(tmp_path / name)), counts)
    assert counts.rows == counts.trajectories + counts.bad_rows > 0
    assert counts.trajectories == 0 or found
    assert not [row.reason for row in found if isinstance(row, BadRow) and "failed on it" in row.reason]


def marked(value: Any, marks: list[str], key: str = "") -> Any:
    """A copy in which every text that is free to vary, and an unknown field of every object, holds a mark."""
    if isinstance(value, dict):
        copy = {inner: marked(part, marks, inner) for inner, part in value.items()}
        marks.append(f"§{len(marks)}§")
        return {**copy, "unknown": [marks[-1]]}
    if isinstance(value, list):
        return [marked(part, marks) for part in value]
    if isinstance(value, str) and key in ("content", "text", "reasoning_content", "url", "task_id"):
        marks.append(f"§{len(marks)}§")
        return marks[-1]
    if key == "arguments" and isinstance(value, str):
        return json.dumps(marked(json.loads(value), marks))
    return value


def test_nothing_that_a_row_says_is_lost(tmp_path: Path):
    marks: list[str] = []
    row = marked(ROW, marks)
    (made,), _, _ = run(lines(tmp_path / "a.jsonl", row))
    kept = json.dumps(made.model_dump(), ensure_ascii=False)
    assert len(marks) > 30
    assert [mark for mark in marks if mark not in kept] == []


def test_names_that_are_no_utf8_are_written_out(tmp_path: Path):
    lines(tmp_path / "good.jsonl", ROW)
    for name in (b"odd\xff.jsonl", b"note\xff.txt"):
        (tmp_path / os.fsdecode(name)).write_bytes((tmp_path / "good.jsonl").read_bytes())
    good, _, counts = run(tmp_path)
    assert [row.source.file for row in good] == ["good.jsonl", "odd\\udcff.jsonl"]
    assert [skip.file for skip in counts.skipped] == ["note\\udcff.txt"]
    write(tmp_path / "out.jsonl.x", good)


def test_a_limit_beyond_all_rows_is_no_limit(tmp_path: Path):
    good, _, _ = run(lines(tmp_path / "a.jsonl", ROW, ROW), max_rows=10**30)
    assert len(good) == 2


def test_tools_are_given_to_those_that_bring_none(tmp_path: Path):
    without = {key: value for key, value in ROW.items() if key != "tools"}
    (tmp_path / "tools").mkdir()
    schemas = lines(tmp_path / "tools" / "t.json", [{"name": "other", "parameters": {"type": "object"}}])
    good, _, _ = run(lines(tmp_path / "a.jsonl", ROW, without), tools=str(schemas))
    assert [[tool.name for tool in row.task.tools] for row in good] == [["f"], ["other"]]
    for name, why in (("absent.json", "there is no such file"), ("tools", "it is a folder"), ("a.jsonl", "tools")):
        with pytest.raises(DataError, match=rf"source\.tools=.*{name}: no list of tool schemas \(.*{why}"):
            run(tmp_path / "a.jsonl", tools=str(tmp_path / name))
