"""Runs of AgentRx's tau-bench part: as tau-bench writes them, with the position of each message, from 1, under `index`.

The failure labels lie in a file of their own and come in by `rmtrain.labels.importers`.
"""

from typing import Any

from rmtrain.trajectories.importers.tau_bench import TauBench


class AgentRx(TauBench):
    """Importer of AgentRx's ``trajectories.json``."""

    name = "agentrx"
    file_names_policy = False

    expected = "an object with 'task_id' and 'traj', whose messages have an 'index'"

    def signs(self, payload: Any) -> str | None:
        if super().signs(payload) is None or not isinstance(payload["traj"], list):
            return None
        indexed = any(isinstance(message, dict) and "index" in message for message in payload["traj"])
        return "'task_id' and 'traj' with an 'index' in its messages" if indexed else None
