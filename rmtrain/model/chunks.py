"""Windows to backbone calls: sorted by length, so that little is padding, with masks that say what to pool.

A chunk is closed when one more window would exceed the token budget or raise its padding above 5 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from rmtrain.model.windows import Specials, Window, Windows

MAX_PADDING = 0.05


@dataclass
class Chunk:
    """One backbone call.

    Attributes:
        token_ids: padded on the right.
        attention: True where a token may be attended to; four axes where that depends on the asking token.
        pool: row s gives, for segment s of a window (0 its prefix, then its steps), the weight of each token.
    """

    token_ids: Int[Tensor, "windows tokens"]
    attention: Bool[Tensor, "windows tokens"] | Bool[Tensor, "windows 1 tokens tokens"]
    pool: Float[Tensor, "windows segments tokens"]


@dataclass
class Chunks:
    """The windows of several trajectories.

    Attributes:
        chunks: backbone calls.
        rows: for each trajectory and slot (0 the prefix, then the steps) its row among all pooled
            segments, in order of chunk, window, segment; one past the last where there is no step.
        n_real: tokens that are not padding.
        n_padded: tokens including padding.
    """

    chunks: list[Chunk]
    rows: Int[Tensor, "batch slots"]
    n_real: int
    n_padded: int


def make_chunks(
    items: Sequence[Windows], *, chunk_tokens: int, specials: Specials, is_causal: bool, causal: bool
) -> Chunks:
    """Cut the windows of some trajectories into backbone calls.

    Args:
        items: the windows of each trajectory.
        chunk_tokens: most tokens of one call, padding included; a lone window may exceed it.
        specials: for the padding id.
        is_causal: the backbone itself is causal: a segment is pooled at its last token, else by its mean.
        causal: no step may see a later one: a backbone that is not causal gets a block-wise mask.
    """
    flat = [(number, window) for number, item in enumerate(items) for window in item.windows]
    flat.sort(key=lambda pair: -len(pair[1]))  # stable: equal lengths keep their order
    n_slots = 1 + max(item.n_steps for item in items)
    rows = np.full((len(items), n_slots), -1, dtype=np.int64)
    chunks: list[Chunk] = []
    start = n_rows = n_padded = 0
    while start < len(flat):
        end = _chunk_end(flat, start, chunk_tokens)
        group = flat[start:end]
        width, segments = len(group[0][1]), 1 + max(len(window.steps) for _, window in group)
        chunks.append(_chunk([window for _, window in group], width, segments, specials.pad, is_causal, causal))
        for offset, (number, window) in enumerate(group):
            row = n_rows + offset * segments
            if window.first_step == 0:
                rows[number, 0] = row
            slots = np.arange(len(window.steps))
            rows[number, 1 + window.first_step + slots] = row + 1 + slots
        n_rows += len(group) * segments
        n_padded += len(group) * width
        start = end
    rows[rows < 0] = n_rows
    n_real = sum(len(window) for _, window in flat)
    return Chunks(chunks, torch.from_numpy(rows), n_real, n_padded)


def _chunk_end(flat: Sequence[tuple[int, Window]], start: int, chunk_tokens: int) -> int:
    width = len(flat[start][1])
    real, end = width, start + 1
    while end < len(flat):
        padded = width * (end - start + 1)
        real += len(flat[end][1])
        if padded > chunk_tokens or padded - real > MAX_PADDING * padded:
            break
        end += 1
    return end


def _chunk(windows: Sequence[Window], width: int, segments: int, pad: int, is_causal: bool, causal: bool) -> Chunk:
    ids = np.full((len(windows), width), pad, dtype=np.int64)
    valid = np.zeros((len(windows), width), dtype=bool)
    pool = np.zeros((len(windows), segments, width), dtype=np.float32)
    # what a token may see: parts up to its own. The opening tokens and prefix are part 0, the steps
    # follow, and the closing tokens and padding come last, where no step sees them.
    part = np.full((len(windows), width), segments, dtype=np.int64)
    for i, window in enumerate(windows):
        ids[i, : len(window)] = window.token_ids
        valid[i, : len(window)] = True
        part[i, : window.prefix[1]] = 0
        for s, (a, b) in enumerate((window.prefix, *window.steps)):
            if is_causal:
                pool[i, s, b - 1] = 1.0
            else:
                pool[i, s, a:b] = 1.0 / (b - a)
            if s:
                part[i, a:b] = s
    attention = valid
    if causal and not is_causal:
        attention = ((part[:, None, :] <= part[:, :, None]) & valid[:, None, :])[:, None]
    return Chunk(torch.from_numpy(ids), torch.from_numpy(attention), torch.from_numpy(pool))
