"""Whether each head got where it could: the epoch at which it had made 95 % of its gain, and the curves."""

from collections.abc import Mapping, Sequence
from typing import Any

from rmtrain.config.model import HeadSettings
from rmtrain.model.module import Epoch
from rmtrain.model.objectives import OBJECTIVES

SHARE = 0.95


def converged_epochs(heads: Mapping[str, HeadSettings], history: Sequence[Epoch]) -> dict[str, int | None]:
    """For each head the first epoch, counted from 1, with at least 95 % of its best gain over the best constant.

    None where the head has no validation figure or never beat the constant.
    """
    found: dict[str, int | None] = {}
    for name, head in heads.items():
        floor = OBJECTIVES[head.objective].chance
        gains = [
            (epoch.epoch + 1, value - floor)
            for epoch in history
            if (value := curve_value(name, head, epoch)) is not None
        ]
        best = max((gain for _, gain in gains), default=0.0)
        found[name] = next((epoch for epoch, gain in gains if gain >= SHARE * best), None) if best > 0 else None
    return found


def curve_value(name: str, head: HeadSettings, epoch: Epoch) -> float | None:
    """A head's validation figure in one epoch, None where it has none."""
    return epoch.values.get(f"val_{OBJECTIVES[head.objective].key}/{name}")


def draw_convergence(heads: Mapping[str, HeadSettings], history: Sequence[Epoch]) -> Any:
    """One panel per head: its validation figure by epoch, its loss weight behind it, the 95 % epoch marked.

    Returns:
        A matplotlib figure.
    """
    from matplotlib.figure import Figure

    converged = converged_epochs(heads, history)
    n_rows = (len(heads) + 1) // 2
    drawn = Figure(figsize=(9, 3 * n_rows), layout="constrained")
    panels = drawn.subplots(n_rows, min(2, len(heads)), squeeze=False).flatten()
    for panel in panels[len(heads) :]:
        panel.remove()
    for panel, (name, head) in zip(panels, heads.items(), strict=False):
        points = [(e.epoch + 1, v) for e in history if (v := curve_value(name, head, e)) is not None]
        weights = [(e.epoch + 1, e.values[f"loss_weight/{name}"]) for e in history if f"loss_weight/{name}" in e.values]
        panel.set_title(name)
        panel.set_xlabel("epoch")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_ylabel(OBJECTIVES[head.objective].measure)
        panel.axhline(OBJECTIVES[head.objective].chance, color="0.7", linewidth=1, linestyle=":")
        if points:
            panel.plot(*zip(*points, strict=True), marker="o", color="tab:blue")
        epoch = converged[name]
        if epoch is not None:
            panel.axvline(epoch, color="tab:green", linestyle="--", linewidth=1)
            side = "right" if 2 * epoch > len(history) else "left"  # so that it stays inside its panel
            text = f" 95 % at {epoch} "
            panel.text(epoch, panel.get_ylim()[0], text, color="tab:green", ha=side, va="bottom", fontsize=8)
        if weights:
            behind = panel.twinx()
            behind.plot(*zip(*weights, strict=True), color="tab:orange", alpha=0.6, linewidth=1)
            behind.set_ylabel("loss weight", color="tab:orange", fontsize=8)
            behind.set_ylim(bottom=0)
    return drawn
