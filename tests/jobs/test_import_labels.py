"""job=import_labels as a page, and what job=build makes of its labels."""

import json
from pathlib import Path

import pytest

from rmtrain.config.compose import compose
from rmtrain.dataset.store import load
from rmtrain.jobs import build, import_labels, ingest, verify
from rmtrain.jobs.report import Report
from rmtrain.labels.schema import ANNOTATION
from rmtrain.trajectories.store import read

PAGES = {"ingest": ingest, "verify": verify, "build": build, "import_labels": import_labels}


def row(query: int, sample: int, first: int, second: int) -> dict[str, object]:
    return {
        "query_index": query,
        "sample_index": sample,
        "data_source": "hotpot",
        "messages": [
            {"role": "user", "content": f"question {query}"},
            {"role": "assistant", "content": "I think"},
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": f"answer {sample}"},
        ],
        "step_labels": {"1": first, "3": second},
        "final_label": second,
    }


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row(q, s, 1, -1 if s else 0)) + "\n" for q in range(12) for s in range(2)))
    ratings = [
        {**row(q, s, 1, s), "rater": rater, "record_id": f"hotpot:{q}:{s}"}
        for q in range(12)
        for s in range(2)
        for rater in ("one", "two")
    ]
    (tmp_path / "ratings.jsonl").write_text("".join(json.dumps(rating) + "\n" for rating in ratings))
    return path


def run(job: str, *overrides: str) -> Report:
    settings = compose([f"job={job}", "corpus=c", *overrides])
    return PAGES[job].run(settings, Path("runs") / "c" / job)  # type: ignore[attr-defined,no-any-return]


def test_from_files_to_a_dataset(log: Path) -> None:
    run("ingest", "source=auto", f"source.path={log}")
    run("verify")
    report = run("import_labels", f"labels.path={log}")
    assert report.counts == {"labels": 72, "new": 72, "changed": 0, "bad_rows": 0}
    assert report.figures["annotations"]["step_quality"]["annotators"] == {"people": 48}
    again = run("import_labels", f"labels.path={log}")
    assert again.counts == {"labels": 72, "new": 0, "changed": 0, "bad_rows": 0}
    assert run("import_labels", "labels.path=ratings.jsonl").counts["new"] == 144
    assert len(list(read(report.artefacts["annotations"], ANNOTATION))) == 216

    built = {
        method: load(run("build", f"labels.method={method}").artefacts["dataset"])
        for method in ("gold", "votes", "dawid_skene")
    }
    for dataset in built.values():  # gold goes before all others, so all three say the same here
        for split in dataset.splits.values():
            for example in split.examples:
                first, second = example.step_labels["step_quality"]
                assert first == (0.0, 0.0, 1.0)
                assert second in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
                assert example.trajectory_labels["correctness"] == {(0.0, 1.0, 0.0): 0.5, (1.0, 0.0, 0.0): 0.0}[second]


def test_labels_of_other_trajectories_are_said(log: Path, tmp_path: Path) -> None:
    run("ingest", "source=auto", f"source.path={log}")
    (tmp_path / "more.jsonl").write_text(json.dumps(row(99, 0, 1, 1)) + "\n" + json.dumps(row(1, 0, 1, 5)) + "\n{\n")
    report = run("import_labels", "labels.path=more.jsonl")
    assert report.warnings[0].startswith("1 of 3 rows could not be used and are in quarantine, the first: more.jsonl:3")
    assert report.warnings[1:] == [
        "1 of 3 rows are about trajectories that are not in this corpus and were left out",
        "2 labels are null or no legal value; they are kept as they were given",
    ]
    kept = list(read(report.artefacts["annotations"], ANNOTATION))
    assert [r.given for r in kept] == [None, 5, 5]


def test_labels_alone_need_no_trajectories(log: Path) -> None:
    report = run("import_labels", f"labels.path={log}", "labels.alone=true")
    assert report.counts["new"] == 72
    assert report.next == []
