import gzip
from pathlib import Path

import pytest

from rmtrain.errors import DataError
from rmtrain.trajectories.importers.base import Raw
from rmtrain.trajectories.importers.rows import has_suffix, read_rows


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


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz"])
def test_a_damaged_gzip_file_is_a_bad_row(tmp_path: Path, name: str):
    data = gzip.compress(b"".join(b"[%d]\n" % number for number in range(5000)))
    assert "gzip file is damaged" in str(rows(tmp_path, name, data[:-100])[-1].error)
    assert "gzip file is damaged" in str(rows(tmp_path, name, b"no gzip")[-1].error)


def test_an_absent_file(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.jsonl: cannot be read \(No such file"):
        list(read_rows(tmp_path / "a.jsonl", "a.jsonl"))


def test_names():
    assert [
        name
        for name in ("a.json", "a.jsonl", "A.JSON.GZ", "a.jsonl.gz", "a.csv", "json", "a.gz")
        if has_suffix(Path(name))
    ] == [
        "a.json",
        "a.jsonl",
        "A.JSON.GZ",
        "a.jsonl.gz",
    ]
