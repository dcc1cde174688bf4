"""Windows laid end to end for the backbone, so that hardly anything is padded, with what keeps them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from rmtrain.dataset.batching import fill
from rmtrain.model.windows import Window, Windows


@dataclass
class Chunk:
    """Windows that the backbone reads together, in one call where it can and one by one where it cannot.

    Not frozen, because Lightning moves it to a device field by field.

    Attributes:
        token_ids: the windows, end to end.
        positions: place of each token in its window, from 0.
        lengths: tokens of each window.
        sees: for each window, which token (column) each token (row) may attend to; None leaves it to the backbone.
        pools: for each window and segment of it (0 its prefix, then its steps) the weight of each token.
    """

    token_ids: Int[Tensor, " tokens"]
    positions: Int[Tensor, " tokens"]
    lengths: list[int]
    sees: list[Bool[Tensor, "_ _"]] | None
    pools: list[Float[Tensor, "_ _"]]


@dataclass
class Chunks:
    """The windows of several trajectories.

    Attributes:
        chunks: what the backbone reads together.
        rows: for each trajectory and slot (0 the prefix, then the steps) its row among all pooled
            segments, in order of window and segment; one past the last where there is no step.
        n_tokens: tokens of all windows.
    """

    chunks: list[Chunk]
    rows: Int[Tensor, "batch slots"]
    n_tokens: int


def make_chunks(items: Sequence[Windows], *, chunk_tokens: int, is_causal: bool, causal: bool) -> Chunks:
    """Lay the windows of some trajectories end to end.

    Args:
        items: the windows of each trajectory.
        chunk_tokens: most tokens of one chunk; a lone window may exceed it.
        is_causal: the backbone itself is causal: a segment is pooled at its last token, else by its mean.
        causal: no step may see a later one: a backbone that is not causal gets a block-wise mask.
    """
    rows = np.full((len(items), 1 + max(item.n_steps for item in items)), -1, dtype=np.int64)
    n_rows = 0
    for number, item in enumerate(items):
        for window in item.windows:
            if window.first_step == 0:
                rows[number, 0] = n_rows
            slots = np.arange(len(window.steps))
            rows[number, 1 + window.first_step + slots] = n_rows + 1 + slots
            n_rows += 1 + len(window.steps)
    rows[rows < 0] = n_rows
    windows = [window for item in items for window in item.windows]
    groups = [[windows[index] for index in stretch] for stretch in fill([len(w) for w in windows], chunk_tokens)]
    chunks = [_chunk(group, is_causal, masked=causal and not is_causal) for group in groups]
    return Chunks(chunks, torch.from_numpy(rows), sum(item.n_tokens for item in items))


def _chunk(windows: Sequence[Window], is_causal: bool, masked: bool) -> Chunk:
    return Chunk(
        token_ids=torch.from_numpy(np.concatenate([window.token_ids for window in windows]).astype(np.int64)),
        positions=torch.cat([torch.arange(len(window)) for window in windows]),
        lengths=[len(window) for window in windows],
        sees=[_sees(window) for window in windows] if masked else None,
        pools=[_pool(window, is_causal) for window in windows],
    )


def _pool(window: Window, is_causal: bool) -> Tensor:
    pool = torch.zeros(1 + len(window.steps), len(window))
    for segment, (start, end) in enumerate((window.prefix, *window.steps)):
        if is_causal:
            pool[segment, end - 1] = 1.0
        else:
            pool[segment, start:end] = 1.0 / (end - start)
    return pool


def _sees(window: Window) -> Tensor:
    # a token sees parts up to its own: the opening tokens and prefix are part 0, the steps follow, and the
    # closing tokens come last, where no step sees them
    part = torch.full((len(window),), 1 + len(window.steps))
    part[: window.prefix[1]] = 0
    for number, (start, end) in enumerate(window.steps):
        part[start:end] = 1 + number
    return part[None, :] <= part[:, None]
