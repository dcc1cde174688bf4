import gzip
import tracemalloc
from pathlib import Path

import pyarrow
import pytest

from rmtrain.errors import DataError
from rmtrain.trajectories.importers import rows as rows_module
from rmtrain.trajectories.importers.base import Raw
from rmtrain.trajectories.importers.rows import has_suffix, read_rows


def compress(data: bytes) -> bytes:
    return bytes(pyarrow.compress(data, codec="zstd", asbytes=True))


def rows(folder: Path, name: str, data: bytes | str, one: bool = False) -> list[Raw]:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(read_rows(path, name, is_message=lambda value: one and isinstance(value, dict) and "role" in value))


def brief(found: list[Raw]) -> list[tuple[int, int | None, object]]:
    return [(raw.line, raw.row, raw.payload if raw.error is None else raw.error.split(":")[0]) for raw in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ('{"a": 1}\n\n[2]\r\n"x"', [(1, None, {"a": 1}), (3, None, [2]), (4, None, "x")]),
        ("\ufeff[1]\n[2]\n", [(1, None, [1]), (2, None, [2])]),
        ("[1]\n{\n[3]\n", [(1, None, [1]), (2, None, "is not valid JSON"), (3, None, [3])]),
        ('["\u2028"]\n[2]', [(1, None, ["\u2028"]), (2, None, [2])]),
    ],
)
def test_json_lines(tmp_path: Path, text: str, expected: list[object]):
    assert brief(rows(tmp_path, "a.jsonl", text)) == expected
    assert brief(rows(tmp_path, "a.JSONL.GZ", gzip.compress(text.encode()))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("[]", []),
        ('{"a": 1}', [(1, 1, {"a": 1})]),
        ('\ufeff\n[\n{"a": 1},\n{"a":\n2}]\n', [(3, 1, {"a": 1}), (4, 2, {"a": 2})]),
        ("[[1], [2]]", [(1, 1, [1]), (1, 2, [2])]),
        ("{}\n{}\n", [(1, 1, {}), (2, 2, {})]),  # JSON Lines under another name
        ("[1, NaN, 3]", [(1, 1, 1), (1, 2, "holds NaN, which JSON does not have; an absent value is null"), (1, 3, 3)]),
        ("[1,\n2 3]", [(1, 1, 1), (2, 2, 2), (2, 3, "no comma stands before this row of the JSON array")]),
        ("[1,\ntru]", [(1, 1, 1), (2, 2, "is not valid JSON")]),
        ("[1\n", [(1, 1, 1), (2, 2, "the file ends inside its JSON array")]),
        ("[1,", [(1, 1, 1), (1, 2, "the file ends inside its JSON array")]),
        ("[1] x", [(1, 1, 1), (1, 2, "more follows the end of the JSON array")]),
        ("[", [(1, 1, "the file ends inside its JSON array")]),
        ("{", [(1, 1, "is not valid JSON")]),
        ("[1,]", [(1, 1, 1), (1, 2, "a comma stands before the end of the JSON array")]),
    ],
)
def test_json(tmp_path: Path, text: str, expected: list[object]):
    assert brief(rows(tmp_path, "a.json", text)) == expected
    assert brief(rows(tmp_path, "a.json.gz", gzip.compress(text.encode()))) == expected


def test_an_array_of_messages_is_one_row(tmp_path: Path):
    text = '[{"role": "user"}, {"role": "assistant"}]'
    assert brief(rows(tmp_path, "a.json", text, one=True)) == [(1, 1, [{"role": "user"}, {"role": "assistant"}])]
    assert len(rows(tmp_path, "a.json", text)) == 2
    assert len(rows(tmp_path, "a.json", '[{"messages": []}, {"role": "user"}]', one=True)) == 2


def test_the_text_of_a_row_is_kept(tmp_path: Path):
    assert [raw.text for raw in rows(tmp_path, "a.json", '[ {"a": 1} , {"a":  NaN}]')] == ['{"a": 1}', '{"a":  NaN}']
    assert [raw.text for raw in rows(tmp_path, "a.jsonl", ' {"a": 1} \n {')] == ['{"a": 1}', "{"]


def test_invalid_utf8_costs_its_row_only(tmp_path: Path):
    data = b'{"a": 1}\n{"a": "\xff"}\n{"a": 3}\n'
    for name, text in (
        ("a.jsonl", data),
        ("a.json", data),
        ("b.json", b"[" + data.strip().replace(b"\n", b",\n") + b"]"),
    ):
        assert [payload for _, _, payload in brief(rows(tmp_path, name, text))] == [
            {"a": 1},
            "is not valid UTF-8",
            {"a": 3},
        ]


def test_deep_nesting_costs_its_line_only(tmp_path: Path):
    found = brief(rows(tmp_path, "a.jsonl", "[1]\n" + "[" * 200_000 + "\n[3]\n"))
    assert found == [(1, None, [1]), (2, None, "is nested too deeply to be read"), (3, None, [3])]


def test_a_very_long_line(tmp_path: Path):
    (row,) = rows(tmp_path, "a.jsonl", '{"a": "' + "x" * 5_000_000 + '"}')
    assert len(row.payload["a"]) == 5_000_000


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_beyond_the_limit_is_a_bad_row_with_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: str
):
    for limit, size in (("LINE_BYTES", 20), ("_CHUNK", 7), ("_KEPT", 5)):
        monkeypatch.setattr(rows_module, limit, size)
    fits, long = '"' + "x" * 17 + '"\n', '"' + "y" * 100 + '"' + end
    text = fits + long + ("[3]\n" if end else "")
    found = rows(tmp_path, name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    assert (len(fits), found[0].payload) == (20, "x" * 17)
    assert (found[1].line, found[1].text) == (2, '"yyyy')
    assert found[1].error == f"is a line of {len(long)} bytes, and at most 20 are read"
    assert [(raw.line, raw.payload) for raw in found[2:]] == ([(3, [3])] if end else [])


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_json_file_beyond_the_limit_is_a_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    for limit, size in (("FILE_BYTES", 20), ("_CHUNK", 7), ("_KEPT", 5)):
        monkeypatch.setattr(rows_module, limit, size)
    fits, long = b'"' + b"x" * 18 + b'"', b'"' + b"x" * 19 + b'"'
    (row,) = rows(tmp_path, name, gzip.compress(fits) if name.endswith("gz") else fits)
    assert row.payload == "x" * 18
    (row,) = rows(tmp_path, name, gzip.compress(long) if name.endswith("gz") else long)
    assert row.text == '"xxxx'
    assert row.error == "holds more than 20 bytes, and a .json file is held whole. Write it as .jsonl, a row a line"


def test_what_a_small_file_unpacks_to_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rows_module, "LINE_BYTES", 1 << 20)
    data = gzip.compress(b"x" * (64 << 20))  # 64 kB that unpack to 64 MiB
    tracemalloc.start()
    (row,) = rows(tmp_path, "a.jsonl.gz", data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert row.error == f"is a line of {64 << 20:,} bytes, and at most {1 << 20:,} are read"
    assert peak < 16 << 20


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.json.zst", "A.JSON.ZST"])
def test_zstd_reads_as_what_it_holds(tmp_path: Path, name: str):
    text = b"".join(b'{"n": %d}\n' % number for number in range(20_000))
    if name == "a.jsonl.zst":
        halves = compress(text[: len(text) // 2]) + compress(text[len(text) // 2 :])  # zstd files may be joined
    else:
        halves = compress(text)
    assert [raw.payload["n"] for raw in rows(tmp_path, name, halves)] == list(range(20_000))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.jsonl.zst", "a.json.zst"])
def test_a_damaged_compressed_file_is_a_bad_row(tmp_path: Path, name: str):
    squeeze = gzip.compress if name.endswith("gz") else compress
    data = squeeze(b"".join(b"[%d]\n" % number for number in range(5000)))
    assert "compressed file is damaged" in str(rows(tmp_path, name, data[:-100])[-1].error)
    assert "compressed file is damaged" in str(rows(tmp_path, name, b"no gzip")[-1].error)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_the_sound_rows_before_the_damage_are_read(tmp_path: Path, name: str):
    squeeze = gzip.compress if name.endswith("gz") else compress
    sound = squeeze(b"".join(b'{"n": %d}\n' % number for number in range(3000)))
    *found, last = rows(tmp_path, name, sound + b"no more of it")
    assert [raw.payload["n"] for raw in found] == list(range(3000))
    assert (last.line, "damaged from here on" in str(last.error)) == (3001, True)


def test_an_absent_file(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.jsonl: cannot be read \(No such file"):
        list(read_rows(tmp_path / "a.jsonl", "a.jsonl"))


def test_names():
    assert [
        name
        for name in ("a.json", "a.jsonl", "A.JSON.GZ", "a.jsonl.gz", "a.json.zst", "a.csv", "json", "a.gz", "a.zst")
        if has_suffix(Path(name))
    ] == [
        "a.json",
        "a.jsonl",
        "A.JSON.GZ",
        "a.jsonl.gz",
        "a.json.zst",
    ]
