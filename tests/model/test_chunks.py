from itertools import pairwise, product
from random import Random

import torch

from rmtrain.config.model import EncoderSettings
from rmtrain.model.chunks import CALL, WIDTH, Chunks, cut_chunks, make_chunks
from rmtrain.model.windows import Specials, Windows, pack

SPECIALS = Specials(opening=(1,), closing=(2,), pad=0)


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


def chunks(found: list[Windows], *, is_causal: bool = False, causal: bool = False, budget: int = 4096) -> Chunks:
    return make_chunks(found, chunk_tokens=budget, specials=SPECIALS, is_causal=is_causal, causal=causal)


def test_at_most_five_percent_of_full_batches_is_padding() -> None:
    real = padded = 0
    for seed in range(20):
        made = items(20, seed)
        found = chunks(made)
        assert found.n_real == sum(item.n_tokens for item in made)
        assert found.n_padded == sum(chunk.token_ids.numel() for chunk in found.chunks)
        assert all(chunk.token_ids.numel() <= 4096 for chunk in found.chunks)
        assert all((chunk.token_ids == 1).sum() == len(chunk.token_ids) for chunk in found.chunks)
        real, padded = real + found.n_real, padded + found.n_padded
    assert padded - real <= 0.05 * padded


def test_cuts_cost_as_little_as_any_other() -> None:
    def cost(cuts: list[tuple[int, int, int]]) -> int:
        return sum(CALL + width * (end - start) for start, end, width in cuts)

    random = Random(0)
    for _ in range(50):
        lengths = sorted((random.randint(1, 200) for _ in range(random.randint(1, 8))), reverse=True)
        found = cut_chunks(lengths, 600, 128)
        assert [start for start, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]
        assert found[-1][1] == len(lengths)
        for choice in product((False, True), repeat=len(lengths) - 1):
            edges = [0, *(i + 1 for i, cuts_here in enumerate(choice) if cuts_here), len(lengths)]
            ranges = list(pairwise(edges))
            widths = [min(-(-lengths[a] // WIDTH) * WIDTH, max(128, lengths[a])) for a, _ in ranges]
            other = [(a, b, width) for (a, b), width in zip(ranges, widths, strict=True)]
            if all(width * (b - a) <= 600 or b - a == 1 for a, b, width in other):
                assert cost(found) <= cost(other)


def small() -> list[Windows]:
    settings = EncoderSettings(window_tokens=10, prefix_tokens=2, block_tokens=4)
    return [
        pack("a", [10, 11], [[20, 21, 22], [23, 24], [25]], settings, SPECIALS),
        pack("b", [12], [[26]], settings, SPECIALS),
    ]


def test_every_slot_finds_its_own_segment() -> None:
    found = chunks(small(), budget=100)
    # ids as hidden vectors: the mean over a segment's own tokens is known by hand
    pooled = [torch.bmm(c.pool, c.token_ids[..., None].float()).flatten() for c in found.chunks]
    rows = torch.cat([*pooled, torch.zeros(1)])[found.rows]
    assert rows.tolist() == [[10.5, 21.0, 23.5, 25.0], [12.0, 26.0, 0.0, 0.0]]


def test_a_causal_backbone_is_pooled_at_last_tokens() -> None:
    found = chunks(small(), is_causal=True, budget=100)
    pooled = [torch.bmm(c.pool, c.token_ids[..., None].float()).flatten() for c in found.chunks]
    rows = torch.cat([*pooled, torch.zeros(1)])[found.rows]
    assert rows.tolist() == [[11.0, 22.0, 24.0, 25.0], [12.0, 26.0, 0.0, 0.0]]
    assert all(chunk.attention.ndim == 2 for chunk in found.chunks)


def test_block_wise_mask_shows_the_prefix_and_steps_so_far() -> None:
    settings = EncoderSettings(window_tokens=10, prefix_tokens=1, block_tokens=4)
    found = chunks([pack("a", [10], [[20, 21], [22]], settings, SPECIALS)], causal=True)
    # opening, prefix | step 0 twice | step 1 | closing
    assert found.chunks[0].attention.int().tolist() == [
        [
            [
                [1, 1, 0, 0, 0, 0],
                [1, 1, 0, 0, 0, 0],
                [1, 1, 1, 1, 0, 0],
                [1, 1, 1, 1, 0, 0],
                [1, 1, 1, 1, 1, 0],
                [1, 1, 1, 1, 1, 1],
            ]
        ]
    ]
