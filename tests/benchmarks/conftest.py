"""Benchmarks measure and write what they found to ``runs/benchmarks``; run them by hand, on an idle machine:

``pytest -m benchmark tests/benchmarks -s``
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def record() -> Callable[[str, Mapping[str, Any]], None]:
    """Keeps the figures of a benchmark as ``runs/benchmarks/<name>.json`` and prints them."""

    def keep(name: str, figures: Mapping[str, Any]) -> None:
        folder = ROOT / "runs" / "benchmarks"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(figures, indent=2)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"\n{name}: {text}")

    return keep


@pytest.fixture(scope="session")
def alone() -> Callable[[str], dict[str, Any]]:
    """Runs Python code in a process of its own, so that time and peak memory are its own; its last line is JSON."""

    def run(code: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    return run
