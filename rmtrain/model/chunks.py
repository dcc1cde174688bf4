"""Windows to backbone calls: sorted by length, so that little is padding, with masks that say what to pool.

Where to cut is chosen so that padded tokens plus a price per call are fewest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from rmtrain.model.windows import Specials, Window, Windows

CALL = 64  # what a further call costs, in tokens: full batches then pad less than 5 %
WIDTH = 16  # widths are multiples of it: the fewer shapes, the fewer kernels are made anew (a fifth of the time)


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
    items: Sequence[Windows], *, chunk_tokens: int, specials: Specials, is_causal: bool, causal: bool, longest: int = 0
) -> Chunks:
    """Cut the windows of some trajectories into backbone calls.

    Args:
        items: the windows of each trajectory.
        chunk_tokens: most tokens of one call, padding included; a lone window may exceed it.
        specials: for the padding id.
        is_causal: the backbone itself is causal: a segment is pooled at its last token, else by its mean.
        causal: no step may see a later one: a backbone that is not causal gets a block-wise mask.
        longest: most tokens that the backbone takes, up to which widths are rounded up to full multiples.
    """
    flat = [(number, window) for number, item in enumerate(items) for window in item.windows]
    flat.sort(key=lambda pair: -len(pair[1]))  # stable: equal lengths keep their order
    n_slots = 1 + max(item.n_steps for item in items)
    rows = np.full((len(items), n_slots), -1, dtype=np.int64)
    chunks: list[Chunk] = []
    n_rows = n_padded = 0
    for start, end, width in cut_chunks([len(window) for _, window in flat], chunk_tokens, longest):
        group = flat[start:end]
        segments = 1 + max(len(window.steps) for _, window in group)
        chunks.append(_chunk([window for _, window in group], width, segments, specials.pad, is_causal, causal))
        for offset, (number, window) in enumerate(group):
            row = n_rows + offset * segments
            if window.first_step == 0:
                rows[number, 0] = row
            slots = np.arange(len(window.steps))
            rows[number, 1 + window.first_step + slots] = row + 1 + slots
        n_rows += len(group) * segments
        n_padded += len(group) * width
    rows[rows < 0] = n_rows
    n_real = sum(len(window) for _, window in flat)
    return Chunks(chunks, torch.from_numpy(rows), n_real, n_padded)


def cut_chunks(lengths: Sequence[int], budget: int, longest: int) -> list[tuple[int, int, int]]:
    """Where to cut windows sorted by length into calls, at the least total cost of padded tokens and calls.

    Args:
        lengths: tokens of each window, longest first.
        budget: most tokens of one call, padding included; a lone window may exceed it.
        longest: most tokens that the backbone takes.

    Returns:
        (start, end, width) of each call, in order.
    """
    widths = [min(-(-length // WIDTH) * WIDTH, max(longest, length)) for length in lengths]
    cost, cut = [0], [0]
    for end in range(1, len(lengths) + 1):
        best, where = cost[end - 1] + widths[end - 1] + CALL, end - 1
        for start in range(end - 2, -1, -1):
            padded = widths[start] * (end - start)
            if padded > budget:
                break
            if cost[start] + padded + CALL < best:
                best, where = cost[start] + padded + CALL, start
        cost.append(best)
        cut.append(where)
    cuts: list[tuple[int, int, int]] = []
    end = len(lengths)
    while end:
        cuts.append((cut[end], end, widths[cut[end]]))
        end = cut[end]
    return cuts[::-1]


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
