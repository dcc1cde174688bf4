"""The dataset folder: what goes in comes out, absent stays absent, and it is there whole or not at all."""

import json
import resource
import shutil
from collections import Counter
from pathlib import Path

import pytest
from datasets import DatasetDict, load_from_disk

import rmtrain.dataset.store as store
from rmtrain.config.model import HeadSettings
from rmtrain.dataset.build import Built, SplitData
from rmtrain.dataset.examples import Example, Pair
from rmtrain.dataset.store import card, load, save
from rmtrain.errors import DataError
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.schema import SPLITS


def example(name, **changes):
    fields = {
        "trajectory_id": name,
        "task_id": f"k-{name}",
        "prefix": "Task: ä\n",
        "blocks": ("one\n", "two\n"),
        "trajectory_labels": {"correctness": 0.1},
        "step_labels": {"step_quality": ((0.25, 0.25, 0.5), None)},
        "truth": {"correctness": 0.0, "consistency": -1.5},
        "step_truth": {"step_quality": (2.0, 0.0)},
        "task_family": "f",
        "policy": "p",
    }
    return Example(**{**fields, **changes})


NOTHING_SAID = {
    "trajectory_labels": {"correctness": None},
    "step_labels": {"step_quality": (None, None)},
    "truth": {},
    "step_truth": {},
    "task_family": None,
    "policy": None,
}


def built(train=None, pairs=(), **dropped):
    splits = {name: SplitData() for name in SPLITS}
    examples = [example("t"), example("u"), example("v", **NOTHING_SAID)] if train is None else train
    splits["train"] = SplitData(examples, list(pairs))
    made = Built(splits, Counter(dropped))
    made.splits["test"] = SplitData([example("w")], [])
    return made


PAIRS = [Pair("consistency", "t", "u", 0.75, 1 / 3), Pair("consistency", "u", "v", 0.0)]


def test_what_goes_in_comes_out(tmp_path, heads):
    made = built(pairs=PAIRS)
    meta = save(made, heads, RenderOptions(markers=True), tmp_path / "d")
    found = load(tmp_path / "d")
    assert found.splits == made.splits
    assert (found.digest, found.markers) == (meta["digest"], True)
    assert found.render_hash == render_hash(RenderOptions(markers=True))
    assert found.folder == tmp_path / "d"


def test_missing_is_never_zero(tmp_path, heads):
    save(built(), heads, RenderOptions(), tmp_path / "d")
    absent = load(tmp_path / "d").splits["train"].examples[2]
    assert absent.trajectory_labels["correctness"] is None
    assert absent.step_labels["step_quality"] == (None, None)
    assert absent.truth == absent.step_truth == {}
    assert absent.policy is None


def test_empty_splits_and_no_pairs_at_all(tmp_path, heads):
    save(built(), heads, RenderOptions(), tmp_path / "d")
    found = load(tmp_path / "d")
    assert found.splits["calibration"] == SplitData()
    assert all(not data.pairs for data in found.splits.values())


def test_the_digest_is_of_contents_and_their_order(tmp_path, heads):
    def digest(name, made):
        return save(made, heads, RenderOptions(), tmp_path / name)["digest"]

    one = digest("a", built(pairs=PAIRS))
    assert digest("b", built(pairs=PAIRS)) == one
    assert digest("c", built(pairs=PAIRS[::-1])) != one
    assert digest("d", built([example("u"), example("t")], pairs=PAIRS)) != digest(
        "e", built([example("t"), example("u")], pairs=PAIRS)
    )
    assert len(one) == 16


def test_a_fifth_head_needs_no_code(tmp_path, heads):
    heads |= {
        "safety": HeadSettings(level="step"),
        "tone": HeadSettings(level="trajectory", objective="ordinal", classes=4),
    }
    one = example(
        "t",
        trajectory_labels={"correctness": None, "tone": (0.0, 0.0, 0.5, 0.5)},
        step_labels={"step_quality": (None, None), "safety": (None, 0.5)},
    )
    meta = save(built([one]), heads, RenderOptions(), tmp_path / "d")
    found = load(tmp_path / "d")
    assert found.splits["train"].examples == [one]
    assert found.heads["tone"] == {"level": "trajectory", "objective": "ordinal", "classes": 4}
    assert meta["splits"]["train"]["labels"] == {"correctness": 0, "tone": 1, "step_quality": 0, "safety": 1}


def test_counts_and_card(tmp_path, heads):
    meta = save(built(pairs=PAIRS, **{"pairs that nobody could judge": 3}), heads, RenderOptions(), tmp_path / "d")
    assert meta["splits"]["train"] == {
        "tasks": 3,
        "trajectories": 3,
        "steps": 6,
        "pairs": 2,
        "labels": {"correctness": 2, "step_quality": 2, "consistency": 2},  # None is no label
    }
    text = (tmp_path / "d" / "README.md").read_text()
    assert text == card(meta)
    assert "| split | tasks | trajectories | steps | pairs | correctness | step_quality | consistency |" in text
    assert "| train | 3 | 3 | 6 | 2 | 2 | 2 | 2 |" in text
    assert "| calibration | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "- 3 x pairs that nobody could judge" in text
    assert json.loads((tmp_path / "d" / "dataset.json").read_text()) == meta


def test_a_folder_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path, heads):
    save(built(pairs=PAIRS), heads, RenderOptions(), tmp_path / "d")
    (tmp_path / "d" / "stray").touch()
    save(built([example("only")]), heads, RenderOptions(), tmp_path / "d")
    assert [one.trajectory_id for one in load(tmp_path / "d").splits["train"].examples] == ["only"]
    assert not (tmp_path / "d" / "stray").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    (tmp_path / "usual").mkdir()
    assert (tmp_path / "d").stat().st_mode == (tmp_path / "usual").stat().st_mode  # others may read it


def test_a_failure_leaves_what_was_there(tmp_path, heads, monkeypatch):
    save(built(), heads, RenderOptions(), tmp_path / "d")
    before = load(tmp_path / "d")

    def fail(meta):
        raise OSError("disk full")

    monkeypatch.setattr(store, "card", fail)
    with pytest.raises(DataError, match=r"/d cannot be written \(disk full\)\. .*what was there before is unchanged"):
        save(built([example("x")]), heads, RenderOptions(), tmp_path / "d")
    assert load(tmp_path / "d") == before
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_folder_that_is_no_dataset(tmp_path):
    with pytest.raises(DataError, match=r"nothing is not a dataset: it holds no dataset\.json\. Make one: .*job=build"):
        load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"dataset\.json is not JSON \(.*\)\. Build it again: job=build"),
        ('{"format": "rmtrain.dataset/9"}', r"format 'rmtrain\.dataset/9', expected 'rmtrain\.dataset/2'"),
        ("{}", r"format 'None', expected"),
        ("[]", r"dataset\.json holds no mapping\. Build it again: job=build"),
        ("7", r"dataset\.json holds no mapping"),
    ],
)
def test_a_damaged_or_foreign_description(content, message, tmp_path, heads):
    save(built(), heads, RenderOptions(), tmp_path / "d")
    (tmp_path / "d" / "dataset.json").write_text(content)
    with pytest.raises(DataError, match=message):
        load(tmp_path / "d")


@pytest.mark.parametrize("how", ["cut", "absent split", "absent table"])
def test_damaged_tables(how, tmp_path, heads):
    save(built(), heads, RenderOptions(), tmp_path / "d")
    folder = tmp_path / "d" / "examples"
    if how == "cut":
        for path in (folder / "train").glob("*.arrow"):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        shutil.rmtree(folder / "test" if how == "absent split" else folder)
    with pytest.raises(DataError, match=r"/d is damaged \(.+\)\. Build it again: job=build"):
        load(tmp_path / "d")


@pytest.mark.parametrize("size", [0, 1500])  # at the first byte, and after some tables
def test_a_full_disk_is_a_sentence_and_leaves_no_part(size, tmp_path, heads):
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        with pytest.raises(DataError, match=r"/d cannot be written \(.+\)\. Free some space or mend its rights"):
            save(built([example(f"t{i}") for i in range(50)]), heads, RenderOptions(), tmp_path / "d")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_no_folder(tmp_path, heads):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/d cannot be written \(Not a directory\)"):
        save(built(), heads, RenderOptions(), tmp_path / "file" / "d")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"digest": None}, r"dataset\.json: digest is None, not as it was written\. Build it again: job=build"),
        ({"render_hash": 3}, r"render_hash is 3"),
        ({"markers": "yes"}, r"markers is 'yes'"),
        ({"heads": []}, r"heads is \[\]"),
        ({"heads": {"correctness": None}}, r"head 'correctness' is None"),
        ({"heads": {"correctness": {"level": "step"}}}, r"head 'correctness' is \{'level': 'step'\}"),
        (
            {"heads": {"correctness": {"level": "trajectory", "objective": "bce", "classes": "3"}}},
            r"head 'correctness' is \{.*'classes': '3'\}",
        ),
        ({"heads": {}}, r"/d is damaged \(examples of train have columns .*label/correctness"),
        ({"digest": "0" * 16}, r"/d is damaged: its contents have digest \w{16}, but dataset\.json says 0{16}\. Build"),
    ],
)
def test_an_edited_description(change, message, tmp_path, heads):
    meta = save(built(), heads, RenderOptions(), tmp_path / "d")
    (tmp_path / "d" / "dataset.json").write_text(json.dumps({**meta, **change}))
    with pytest.raises(DataError, match=message):
        load(tmp_path / "d")
    for key in change:
        (tmp_path / "d" / "dataset.json").write_text(json.dumps({k: v for k, v in meta.items() if k != key}))
        with pytest.raises(DataError, match=rf"dataset\.json: {key} is None"):
            load(tmp_path / "d")


def edited(folder, table, edit):
    """Writes a table of train anew, with `edit(rows)` in place of its rows."""
    whole = load_from_disk(str(folder / table))
    tables = dict(whole)
    tables["train"] = edit(tables["train"])
    DatasetDict(tables).save_to_disk(str(folder.parent / "edited"), num_shards=dict.fromkeys(tables, 1))
    shutil.rmtree(folder / table)
    (folder.parent / "edited").rename(folder / table)


@pytest.mark.parametrize(
    ("table", "edit", "message"),
    [
        ("examples", lambda t: t.map(lambda row: {"label/correctness": 0.2}), r"contents have digest"),
        ("examples", lambda t: t.map(lambda row: {"prefix": row["prefix"] + " "}), r"contents have digest"),
        ("examples", lambda t: t.select([1, 0, 2]), r"contents have digest"),
        ("examples", lambda t: t.map(lambda row: {"blocks": None}), r"is damaged \(.+\)\. Build it again"),
        ("examples", lambda t: t.map(lambda row: {"blocks": [None, "two\n"]}), r"is damaged"),
        ("examples", lambda t: t.map(lambda row: {"more": 1}), r"damaged \(examples of train have columns .*, more\)"),
        ("examples", lambda t: t.remove_columns("policy"), r"damaged \(examples of train have columns"),
        ("pairs", lambda t: t.map(lambda row: {"more": 1}), r"damaged \(pairs of train have columns .*, more\)"),
        ("pairs", lambda t: t.map(lambda row: {"target": 0.5}), r"contents have digest"),
        ("pairs", lambda t: t.map(lambda row: {"target": None}), r"is damaged"),
    ],
)
def test_edited_tables(table, edit, message, tmp_path, heads):
    save(built(pairs=PAIRS), heads, RenderOptions(), tmp_path / "d")
    edited(tmp_path / "d", table, edit)
    with pytest.raises(DataError, match=message):
        load(tmp_path / "d")


def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path, heads):
    save(built(pairs=PAIRS), heads, RenderOptions(), tmp_path / "d")
    expected = load(tmp_path / "d")
    (file,) = (tmp_path / "d" / "examples" / "train").glob("*.arrow")
    whole = file.read_bytes()
    text = whole.index(b"one\n")

    def flip(place):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        file.write_bytes(damaged)

    flip(text)
    with pytest.raises(DataError, match="contents have digest"):
        load(tmp_path / "d")
    for place in range(text - 600, text + 64, 16):  # texts, offsets and padding
        flip(place)
        try:
            assert load(tmp_path / "d").splits == expected.splits
        except DataError:
            continue


def test_a_whole_number_is_the_number_it_is(tmp_path, heads):
    one = example("t")
    one.trajectory_labels["correctness"] = 1  # Arrow gives 1.0 back
    one.truth["correctness"] = 0
    save(built([one]), heads, RenderOptions(), tmp_path / "d")
    assert load(tmp_path / "d").splits["train"].examples[0].trajectory_labels == {"correctness": 1.0}


def test_what_may_not_be_read_is_a_sentence(tmp_path, heads, monkeypatch):
    save(built(), heads, RenderOptions(), tmp_path / "d")

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", "the/file")

    with monkeypatch.context() as patch:
        patch.setattr("datasets.load_from_disk", closed)
        with pytest.raises(DataError, match=r"^the/file cannot be read \(Permission denied\)\. Mend its rights"):
            load(tmp_path / "d")
    monkeypatch.setattr(Path, "read_text", closed)
    with pytest.raises(DataError, match=r"dataset\.json cannot be read \(Permission denied\)\. Mend its rights"):
        load(tmp_path / "d")
