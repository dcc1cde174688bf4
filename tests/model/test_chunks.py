from random import Random

import torch

from rmtrain.config.model import EncoderSettings
from rmtrain.model.chunks import Chunks, make_chunks
from rmtrain.model.windows import Specials, Windows, pack

SPECIALS = Specials(opening=(1,), closing=(2,))


def items(n: int, seed: int = 0) -> list[Windows]:
    random = Random(seed)
    settings = EncoderSettings(window_tokens=512, prefix_tokens=128, block_tokens=256)
    return [
        pack(
            f"t{i}",
            [3] * random.randint(20, 100),
            [[4] * min(max(int(random.lognormvariate(4.4, 0.75)), 5), 300) for _ in range(random.randint(1, 25))],
            settings,
            SPECIALS,
        )
        for i in range(n)
    ]


def pooled(found: Chunks) -> list[list[float]]:
    """Token ids as hidden vectors: the mean over a segment's own tokens is known by hand."""
    parts = [
        pool @ window.float()
        for chunk in found.chunks
        for pool, window in zip(chunk.pools, chunk.token_ids.split(chunk.lengths), strict=True)
    ]
    rows: list[list[float]] = torch.cat([*parts, torch.zeros(1)])[found.rows].tolist()
    return rows


def small() -> list[Windows]:
    settings = EncoderSettings(window_tokens=10, prefix_tokens=2, block_tokens=4)
    return [
        pack("a", [10, 11], [[20, 21, 22], [23, 24], [25]], settings, SPECIALS),
        pack("b", [12], [[26]], settings, SPECIALS),
    ]


def test_every_token_is_there_once_and_nothing_else() -> None:
    made = items(20)
    found = make_chunks(made, chunk_tokens=4096, is_causal=False, causal=False)
    assert len(found.chunks) > 1
    windows = [window for item in made for window in item.windows]
    assert torch.cat([chunk.token_ids for chunk in found.chunks]).tolist() == [
        token for window in windows for token in window.token_ids.tolist()
    ]
    assert [n for chunk in found.chunks for n in chunk.lengths] == [len(window) for window in windows]
    assert found.n_tokens == sum(map(len, windows))
    for chunk in found.chunks:
        assert len(chunk.token_ids) == len(chunk.positions) == sum(chunk.lengths) <= 4096
        assert chunk.positions.tolist() == [place for n in chunk.lengths for place in range(n)]


def test_a_window_over_the_budget_goes_alone() -> None:
    made = items(3)
    found = make_chunks(made, chunk_tokens=1, is_causal=False, causal=False)
    assert [chunk.lengths for chunk in found.chunks] == [[len(window)] for item in made for window in item.windows]


def test_every_slot_finds_its_own_segment_however_windows_are_dealt_out() -> None:
    for budget in (1, 12, 100):
        found = make_chunks(small(), chunk_tokens=budget, is_causal=False, causal=False)
        assert pooled(found) == [[10.5, 21.0, 23.5, 25.0], [12.0, 26.0, 0.0, 0.0]]


def test_a_causal_backbone_is_pooled_at_last_tokens() -> None:
    found = make_chunks(small(), chunk_tokens=100, is_causal=True, causal=True)
    assert pooled(found) == [[11.0, 22.0, 24.0, 25.0], [12.0, 26.0, 0.0, 0.0]]
    assert all(chunk.sees is None for chunk in found.chunks)


def test_block_wise_mask_shows_the_prefix_and_steps_so_far() -> None:
    settings = EncoderSettings(window_tokens=10, prefix_tokens=1, block_tokens=4)
    one = [pack("a", [10], [[20, 21], [22]], settings, SPECIALS)]
    (mask,) = make_chunks(one, chunk_tokens=100, is_causal=False, causal=True).chunks[0].sees or []
    # opening, prefix | step 0 twice | step 1 | closing
    assert mask.int().tolist() == [
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
    ]
