"""The dataset folder: Arrow tables of examples and pairs per split, `dataset.json`, and a card to read.

`dataset.json` holds the digest of the contents, the heads and the render hash: a model refuses a dataset
that reads otherwise than what it was trained on.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.build import Built, SplitData
from rmtrain.dataset.examples import Example, Pair, Value
from rmtrain.disk import replace_folder, unfinished
from rmtrain.errors import DataError, first_line
from rmtrain.trajectories.render import RenderOptions, render_hash
from rmtrain.trajectories.schema import SPLITS, Split, digest

FORMAT = "rmtrain.dataset/2"
HEAD = {"level": str, "objective": str, "classes": int}
"""What `dataset.json` says of a head."""


@dataclass(frozen=True)
class Dataset:
    """A dataset folder in memory.

    Attributes:
        splits: examples and pairs per split.
        digest: identity of the contents, 16 hexadecimal digits.
        render_hash: identity of the text's form.
        markers: whether the text shows facts that need no reference.
        heads: level, objective and number of classes of each labelled dimension.
        folder: where it lies.
    """

    splits: dict[Split, SplitData]
    digest: str
    render_hash: str
    markers: bool
    heads: dict[str, dict[str, Any]]
    folder: Path


def save(built: Built, heads: Mapping[str, HeadSettings], options: RenderOptions, folder: Path) -> dict[str, Any]:
    """Write a dataset folder in one move; an older one at the same place is replaced.

    Returns:
        What `dataset.json` holds.

    Raises:
        DataError: it cannot be written; what was there before is unchanged.
    """
    from datasets import Dataset as Table
    from datasets import DatasetDict, disable_progress_bars

    disable_progress_bars()
    meta: dict[str, Any] = {
        "format": FORMAT,
        "digest": _digest(built.splits, heads),
        "render_hash": render_hash(options),
        "markers": options.markers,
        "heads": {n: {"level": h.level, "objective": h.objective, "classes": h.classes} for n, h in heads.items()},
        "splits": {name: _counts(data) for name, data in built.splits.items()},
        "dropped": dict(sorted(built.dropped.items())),
    }
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "dataset.json").is_file():
        raise DataError(
            f"{folder} holds something other than a dataset, which would be lost. Write elsewhere: hydra.run.dir=FOLDER"
        )
    scratch = unfinished(folder)
    try:
        scratch.mkdir(parents=True)
        for name, features in (("examples", _features(heads)), ("pairs", _pair_features())):
            tables = {}
            for split, data in built.splits.items():
                rows = [_pair_row(p) for p in data.pairs] if name == "pairs" else _example_rows(data, heads)
                columns = {key: [row[key] for row in rows] for key in features}  # a list of no rows has no columns
                tables[split] = Table.from_dict(columns, features=features)
            n_files = {split: None if len(table) else 1 for split, table in tables.items()}  # none could not be read
            DatasetDict(tables).save_to_disk(str(scratch / name), num_shards=n_files)
        (scratch / "dataset.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (scratch / "README.md").write_text(card(meta), encoding="utf-8")
        replace_folder(scratch, folder)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written ({error.strerror or error}). "
            "Free some space or mend its rights; what was there before is unchanged."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return meta


def load(folder: Path) -> Dataset:
    """Read a dataset folder.

    Raises:
        DataError: the folder is absent, is no dataset, does not read, is damaged, or was written by another version.
    """
    meta = _description(folder)
    from pyarrow import ArrowException

    try:
        heads = {name: HeadSettings(**head) for name, head in meta["heads"].items()}
        examples, pairs = _tables(folder / "examples", _features(heads)), _tables(folder / "pairs", _pair_features())
        splits = {
            name: SplitData(
                examples=[_row_example(row, meta["heads"]) for row in examples[name]],
                pairs=[Pair(**row) for row in pairs[name]],
            )
            for name in SPLITS
        }
        received = _digest(splits, heads)
    except PermissionError as error:
        raise DataError(f"{error.filename or folder} cannot be read ({error.strerror}). Mend its rights.") from error
    except (ArrowException, AttributeError, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        raise DataError(f"{folder} is damaged ({first_line(error)}). Build it again: job=build") from error
    if received != meta["digest"]:
        raise DataError(
            f"{folder} is damaged: its contents have digest {received}, but dataset.json says {meta['digest']}. "
            "Build it again: job=build"
        )
    return Dataset(
        splits=splits,
        digest=meta["digest"],
        render_hash=meta["render_hash"],
        markers=meta["markers"],
        heads=meta["heads"],
        folder=folder,
    )


def _description(folder: Path) -> dict[str, Any]:
    """What `dataset.json` holds, checked."""
    path = folder / "dataset.json"
    try:
        if not path.is_file():
            raise DataError(
                f"{folder} is not a dataset: it holds no dataset.json. Make one: python -m rmtrain job=build"
            )
        meta = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Mend its rights.") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}). Build it again: job=build") from error
    if not isinstance(meta, dict):
        raise DataError(f"{path} holds no mapping. Build it again: job=build")
    if meta.get("format") != FORMAT:
        raise DataError(f"{path}: format '{meta.get('format')}', expected '{FORMAT}'. Build it again: job=build")
    for key, kind in (("digest", str), ("render_hash", str), ("markers", bool), ("heads", dict)):
        if not isinstance(meta.get(key), kind):
            raise DataError(f"{path}: {key} is {meta.get(key)!r}, not as it was written. Build it again: job=build")
    for name, head in meta["heads"].items():
        if not isinstance(head, dict) or {key: type(value) for key, value in head.items()} != HEAD:
            raise DataError(f"{path}: head '{name}' is {head!r}, not as it was written. Build it again: job=build")
    return meta


def _tables(folder: Path, features: Any) -> Any:
    """The Arrow tables of every split, checked for their columns and for offsets that lie outside."""
    from datasets import load_from_disk

    tables = load_from_disk(str(folder))
    for name in SPLITS:
        if set(tables[name].column_names) != set(features):
            raise ValueError(f"{folder.name} of {name} have columns {', '.join(tables[name].column_names)}")
        tables[name].data.validate(full=True)
    return tables


def card(meta: Mapping[str, Any]) -> str:
    """The dataset's README: what is in it, per split and head, and what was left out."""
    lines = [
        f"# Dataset {meta['digest']}",
        "",
        "Trajectories of LLM agents as text, with a label per head. A missing label is null and never 0.",
        "Tasks are split by `task_id`; no task is in two splits.",
        "",
        f"Format `{meta['format']}`, render hash `{meta['render_hash']}`, markers `{meta['markers']}`.",
        "",
        "| split | tasks | trajectories | steps | pairs | " + " | ".join(meta["heads"]) + " |",
        "|---|---|---|---|---|" + "---|" * len(meta["heads"]),
    ]
    for split, counts in meta["splits"].items():
        cells = [counts[key] for key in ("tasks", "trajectories", "steps", "pairs")]
        cells += [counts["labels"].get(name, 0) for name in meta["heads"]]
        lines.append(f"| {split} | " + " | ".join(str(cell) for cell in cells) + " |")
    lines += ["", "Columns named after a head count its labels."]
    if meta["dropped"]:
        lines += ["", "Left out:", ""] + [f"- {count} x {reason}" for reason, count in meta["dropped"].items()]
    return "\n".join(lines) + "\n"


def _counts(data: SplitData) -> dict[str, Any]:
    labels: dict[str, int] = {}
    for example in data.examples:
        for name, value in example.trajectory_labels.items():
            labels[name] = labels.get(name, 0) + (value is not None)
        for name, values in example.step_labels.items():
            labels[name] = labels.get(name, 0) + sum(value is not None for value in values)
    for pair in data.pairs:
        labels[pair.head] = labels.get(pair.head, 0) + 1
    return {
        "tasks": len({example.task_id for example in data.examples}),
        "trajectories": len(data.examples),
        "steps": sum(len(example.blocks) for example in data.examples),
        "pairs": len(data.pairs),
        "labels": labels,
    }


def _features(heads: Mapping[str, HeadSettings]) -> Any:
    from datasets import Features, List
    from datasets import Value as Scalar

    columns: dict[str, Any] = {
        "trajectory_id": Scalar("string"),
        "task_id": Scalar("string"),
        "task_family": Scalar("string"),
        "policy": Scalar("string"),
        "prefix": Scalar("string"),
        "blocks": List(Scalar("string")),
    }
    for name, head in heads.items():
        if head.objective != "bradley_terry":
            value = List(Scalar("float64")) if head.objective == "ordinal" else Scalar("float64")
            columns[f"label/{name}"] = List(value) if head.level == "step" else value
        columns[f"truth/{name}"] = List(Scalar("float64")) if head.level == "step" else Scalar("float64")
    return Features(columns)


def _pair_features() -> Any:
    from datasets import Features
    from datasets import Value as Scalar

    text, number = Scalar("string"), Scalar("float64")
    return Features({"head": text, "trajectory_a": text, "trajectory_b": text, "target": number, "pair_weight": number})


def _example_row(example: Example, heads: Mapping[str, HeadSettings]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "trajectory_id": example.trajectory_id,
        "task_id": example.task_id,
        "task_family": example.task_family,
        "policy": example.policy,
        "prefix": example.prefix,
        "blocks": list(example.blocks),
    }
    for name, head in heads.items():
        if head.level == "step":
            row[f"label/{name}"] = [_plain(value) for value in example.step_labels.get(name, ())]
            row[f"truth/{name}"] = _plain(example.step_truth.get(name))
        else:
            if head.objective != "bradley_terry":
                row[f"label/{name}"] = _plain(example.trajectory_labels.get(name))
            row[f"truth/{name}"] = _plain(example.truth.get(name))
    return row


def _example_rows(data: SplitData, heads: Mapping[str, HeadSettings]) -> list[dict[str, Any]]:
    return [_example_row(example, heads) for example in data.examples]


def _digest(splits: Mapping[Split, SplitData], heads: Mapping[str, HeadSettings]) -> str:
    """Identity of the contents: what is written, as plain data, a row at a time."""
    found = hashlib.sha256()
    for name, data in splits.items():
        for example in data.examples:
            found.update(f"example {name} {digest(_example_row(example, heads))}\n".encode())
        for pair in data.pairs:
            found.update(f"pair {name} {digest(_pair_row(pair))}\n".encode())
    return found.hexdigest()[:16]


def _pair_row(pair: Pair) -> dict[str, Any]:
    return {**vars(pair), "target": float(pair.target), "pair_weight": float(pair.pair_weight)}


def _plain(value: float | int | tuple[float | int | None, ...] | None) -> Any:
    """A value as Arrow gives it back, so that the digest is the same before and after: 1 and 1.0 are one number."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return None if value is None else float(value)


def _row_example(row: Mapping[str, Any], heads: Mapping[str, Mapping[str, Any]]) -> Example:
    whole, stepwise, truth, step_truth = {}, {}, {}, {}
    for name, head in heads.items():
        if head["level"] == "step":
            stepwise[name] = tuple(_value(value) for value in row[f"label/{name}"] or ())
            if row[f"truth/{name}"] is not None:
                step_truth[name] = tuple(row[f"truth/{name}"])
        else:
            if head["objective"] != "bradley_terry":
                whole[name] = _value(row[f"label/{name}"])
            if row[f"truth/{name}"] is not None:
                truth[name] = row[f"truth/{name}"]
    return Example(
        trajectory_id=row["trajectory_id"],
        task_id=row["task_id"],
        prefix=row["prefix"],
        blocks=tuple(row["blocks"]),
        trajectory_labels=whole,
        step_labels=stepwise,
        truth=truth,
        step_truth=step_truth,
        task_family=row["task_family"],
        policy=row["policy"],
    )


def _value(value: Any) -> Value:
    return tuple(value) if isinstance(value, list) else value
