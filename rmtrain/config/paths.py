"""Where jobs write."""

from dataclasses import dataclass


@dataclass
class PathSettings:
    """Folders."""

    runs: str = "runs"
    """Folder of everything that jobs write; a relative one lies where the command is run."""
