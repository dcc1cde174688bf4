"""Where the built-in configurations lie."""

from pathlib import Path


def conf_folder() -> Path:
    """The folder of configurations: inside the package when it was installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise FileNotFoundError(f"no conf/config.yaml inside or beside {package}")


def options(group: str) -> list[str]:
    """Names of the built-in configurations of a group, e.g. ``["heads", "long", "quick"]`` for trainer."""
    return sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))
