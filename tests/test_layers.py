"""The shape of the source: imports go one way, tests mirror modules, third parties have one door each."""

import ast
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rmtrain"

# Modules without a test file of their own, each with what covers it.
COVERED_ELSEWHERE = {
    "config/crossvalidation.py": "tests/config/test_jobs.py",
    "config/dataset.py": "tests/config/test_jobs.py",
    "config/paths.py": "tests/config/test_jobs.py",
    "config/tracking.py": "tests/config/test_jobs.py",
    "config/model.py": "tests/config/test_jobs.py",
    "config/verifiers.py": "tests/config/test_jobs.py",
    "config/world.py": "tests/config/test_jobs.py",
    "__main__.py": "tests/test_main.py",
}

# Third-party modules that only one place imports.
DOORS = {
    "hydra": "config/compose.py",
    "omegaconf": "config/compose.py",
    "mlflow": "tracking/",
    "label_studio_sdk": "labels/studio.py",
    "trl": "rl/",
}

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def test_imports_go_one_way(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == 0, capsys.readouterr().out


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_its_test(module):
    path = Path(module)
    mirror = ROOT / "tests" / path.parent / f"test_{path.name}"
    if module in COVERED_ELSEWHERE:
        assert (ROOT / COVERED_ELSEWHERE[module]).is_file()
        assert not mirror.is_file(), f"{module} has a test of its own: take it off the list"
    else:
        assert mirror.is_file(), f"{mirror.relative_to(ROOT)} is missing"


def test_the_list_of_exceptions_names_modules_that_exist():
    assert set(COVERED_ELSEWHERE) <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_third_parties_have_one_door(module):
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.split(".")[0])
    wrong = {name for name in imported if name in DOORS and not module.startswith(DOORS[name])}
    assert not wrong, f"{module} imports {wrong}, which belong to {[DOORS[name] for name in wrong]}"
