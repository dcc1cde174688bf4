"""Tokenised steps to windows that the backbone can read, with the token span of every part.

Prefix and blocks are tokenised apart, so no token spans two steps. A window is the opening special
tokens, the task prefix, whole blocks in order and the closing special tokens; each step is owned by
exactly one window. What is too long is cut in its middle, where the least is lost, and counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int32
from numpy.typing import NDArray

from rmtrain.config.model import EncoderSettings
from rmtrain.dataset.examples import Example
from rmtrain.errors import ConfigError, DataError

Span = tuple[int, int]
AT_A_TIME = 500  # examples tokenised at a time: what a tokenizer notes of a text takes much more than its ids
Tokenise = Callable[[list[str]], list[list[int]]]


@dataclass(frozen=True)
class Specials:
    """Token ids that every window begins and ends with."""

    opening: tuple[int, ...]
    closing: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.opening) + len(self.closing)


@dataclass(frozen=True, eq=False)
class Window:
    """One backbone input.

    Attributes:
        token_ids: special tokens, prefix, blocks.
        prefix: tokens [start, end) of the prefix.
        steps: tokens [start, end) of each block.
        first_step: step index of the first block; the others follow.
    """

    token_ids: Int32[NDArray[Any], " tokens"]
    prefix: Span
    steps: tuple[Span, ...]
    first_step: int

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True)
class Cuts:
    """What was cut: tokens of the prefix, number of blocks, tokens of blocks."""

    prefix_tokens: int = 0
    blocks: int = 0
    block_tokens: int = 0

    def __add__(self, other: "Cuts") -> "Cuts":
        return Cuts(
            self.prefix_tokens + other.prefix_tokens,
            self.blocks + other.blocks,
            self.block_tokens + other.block_tokens,
        )


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one trajectory, in step order."""

    trajectory_id: str
    windows: tuple[Window, ...]
    n_steps: int
    cuts: Cuts

    @property
    def n_tokens(self) -> int:
        return sum(len(window) for window in self.windows)


def check_windows(settings: EncoderSettings, specials: Specials, max_tokens: int | None) -> None:
    """Refuse window settings that leave no room for a block or exceed the backbone.

    Args:
        settings: lengths, in tokens.
        specials: what every window begins and ends with.
        max_tokens: longest input of the backbone; None where it has no limit.

    Raises:
        ConfigError: a length is not positive, too long, or leaves no room.
    """
    for field, value in (("prefix_tokens", settings.prefix_tokens), ("block_tokens", settings.block_tokens)):
        if value < 1:
            raise ConfigError(f"encoder.{field} is {value}. Expected a number of tokens > 0.")
    if max_tokens is not None and settings.window_tokens > max_tokens:
        raise ConfigError(
            f"encoder.window_tokens is {settings.window_tokens}, but the backbone reads at most {max_tokens} tokens. "
            f"Set encoder.window_tokens={max_tokens} or less."
        )
    if settings.prefix_tokens + len(specials) >= settings.window_tokens:
        raise ConfigError(
            f"encoder.prefix_tokens {settings.prefix_tokens} and {len(specials)} special tokens leave no room for a "
            f"step in encoder.window_tokens {settings.window_tokens}. Lower the first or raise the last."
        )


def make_windows(
    examples: Sequence[Example], tokenise: Tokenise, settings: EncoderSettings, specials: Specials
) -> list[Windows]:
    """Tokenise examples and pack each into windows.

    Args:
        examples: rendered trajectories.
        tokenise: texts to token ids, without special tokens.
        settings: lengths, in tokens, already checked by `check_windows`.
        specials: what every window begins and ends with.

    Returns:
        The windows of each example, in the order given.

    Raises:
        DataError: an example has no steps, or a part of it has no tokens.
    """
    found: list[Windows] = []
    for start in range(0, len(examples), AT_A_TIME):
        held = examples[start : start + AT_A_TIME]
        ids = iter(tokenise([text for example in held for text in (example.prefix, *example.blocks)]))
        found += [pack(e.trajectory_id, next(ids), [next(ids) for _ in e.blocks], settings, specials) for e in held]
    return found


def pack(
    trajectory_id: str,
    prefix: Sequence[int],
    blocks: Sequence[Sequence[int]],
    settings: EncoderSettings,
    specials: Specials,
) -> Windows:
    """Pack the token ids of one trajectory into windows.

    A block may take what the prefix leaves of a window, at most `settings.block_tokens`.

    Raises:
        DataError: there are no blocks, or the prefix or a block is empty.
    """
    if not blocks:
        raise DataError(f"trajectory '{trajectory_id}' has no steps, so there is nothing to judge. Leave it out.")
    if not prefix:
        raise DataError(f"trajectory '{trajectory_id}' has a task prefix without a token. Give its task a query.")
    kept_prefix = cut_middle(prefix, settings.prefix_tokens)
    room = settings.window_tokens - len(specials) - len(kept_prefix)
    limit = min(settings.block_tokens, room)
    windows: list[Window] = []
    held: list[Sequence[int]] = []
    used = first = n_cut = cut_tokens = 0
    for index, block in enumerate(blocks):
        if not block:
            raise DataError(f"step {index} of trajectory '{trajectory_id}' has a text without a token. Render it anew.")
        kept = cut_middle(block, limit)
        n_cut += len(kept) < len(block)
        cut_tokens += len(block) - len(kept)
        if held and used + len(kept) > room:
            windows.append(_window(kept_prefix, held, first, specials))
            held, used, first = [], 0, index
        held.append(kept)
        used += len(kept)
    windows.append(_window(kept_prefix, held, first, specials))
    cuts = Cuts(len(prefix) - len(kept_prefix), n_cut, cut_tokens)
    return Windows(trajectory_id, tuple(windows), len(blocks), cuts)


def cut_middle(ids: Sequence[int], limit: int) -> Sequence[int]:
    """The first and last tokens of `ids`, `limit` in all; the first half is the longer one."""
    if len(ids) <= limit:
        return ids
    tail = limit // 2
    return [*ids[: limit - tail], *ids[len(ids) - tail :]]


def _window(prefix: Sequence[int], blocks: Sequence[Sequence[int]], first: int, specials: Specials) -> Window:
    ids = [*specials.opening, *prefix]
    prefix_span = (len(specials.opening), len(ids))
    spans: list[Span] = []
    for block in blocks:
        spans.append((len(ids), len(ids) + len(block)))
        ids += block
    ids += specials.closing
    return Window(np.asarray(ids, dtype=np.int32), prefix_span, tuple(spans), first)
