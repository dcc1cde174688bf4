import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtrain.model.windows as windows
from rmtrain.config.model import EncoderSettings
from rmtrain.dataset.examples import Example
from rmtrain.errors import ConfigError, DataError
from rmtrain.model.windows import Cuts, Specials, check_windows, cut_middle, make_windows, pack

SPECIALS = Specials(opening=(1,), closing=(2,))


def settings(window: int = 12, prefix: int = 3, block: int = 5) -> EncoderSettings:
    return EncoderSettings(window_tokens=window, prefix_tokens=prefix, block_tokens=block)


def test_steps_fill_windows_in_order_and_each_repeats_the_prefix() -> None:
    # 12 tokens hold 2 specials, 2 of prefix, so 8 of blocks: steps 0 and 1 (4 + 4), then 2
    found = pack("t", [10, 11], [[20] * 4, [21] * 4, [22]], settings(), SPECIALS)
    assert [w.token_ids.tolist() for w in found.windows] == [
        [1, 10, 11, 20, 20, 20, 20, 21, 21, 21, 21, 2],
        [1, 10, 11, 22, 2],
    ]
    assert [w.prefix for w in found.windows] == [(1, 3), (1, 3)]
    assert [w.steps for w in found.windows] == [((3, 7), (7, 11)), ((3, 4),)]
    assert [w.first_step for w in found.windows] == [0, 2]
    assert found.n_steps == 3
    assert found.n_tokens == 17
    assert found.cuts == Cuts()


def test_a_long_block_and_prefix_are_cut_in_their_middle_and_counted() -> None:
    found = pack("t", [10, 11, 12, 13, 14], [[20, 21, 22, 23, 24, 25, 26]], settings(), SPECIALS)
    # prefix: 3 of 5 kept (2 first, 1 last); block: 5 of 7 (3 first, 2 last)
    assert found.windows[0].token_ids.tolist() == [1, 10, 11, 14, 20, 21, 22, 25, 26, 2]
    assert found.cuts == Cuts(prefix_tokens=2, blocks=1, block_tokens=2)


def test_a_block_never_exceeds_what_the_prefix_leaves() -> None:
    # 12 - 2 specials - 3 of prefix leave 7, fewer than block_tokens
    found = pack("t", [10] * 3, [[20] * 100], settings(block=50), SPECIALS)
    assert len(found.windows[0]) == 12
    assert found.cuts == Cuts(0, 1, 93)


@given(
    prefix=st.lists(st.integers(10, 99), min_size=1, max_size=9),
    blocks=st.lists(st.lists(st.integers(10, 99), min_size=1, max_size=12), min_size=1, max_size=9),
)
def test_each_step_is_owned_by_one_window_and_specials_occur_once(prefix: list[int], blocks: list[list[int]]) -> None:
    found = pack("t", prefix, blocks, settings(), SPECIALS)
    owners = [w.first_step + i for w in found.windows for i in range(len(w.steps))]
    assert owners == list(range(len(blocks)))
    kept = 0
    for window in found.windows:
        ids = window.token_ids.tolist()
        assert len(ids) <= 12
        assert (ids[0], ids[-1]) == (1, 2)
        assert ids.count(1) == ids.count(2) == 1
        assert ids[slice(*window.prefix)] == list(cut_middle(prefix, 3))
        for i, span in enumerate(window.steps):
            assert ids[slice(*span)] == list(cut_middle(blocks[window.first_step + i], 5))
            kept += span[1] - span[0]
    assert kept + found.cuts.block_tokens == sum(map(len, blocks))


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_examples_are_tokenised_part_by_part(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "AT_A_TIME", at_a_time)
    seen: list[list[str]] = []

    def tokenise(texts: list[str]) -> list[list[int]]:
        seen.append(texts)
        return [[len(text)] for text in texts]

    examples = [Example("a", "x", "pp", ("b", "bb")), Example("c", "x", "p", ("ccc",))]
    found = make_windows(examples, tokenise, settings(), SPECIALS)
    assert seen == ([["pp", "b", "bb", "p", "ccc"]] if at_a_time == 2 else [["pp", "b", "bb"], ["p", "ccc"]])
    assert [w.windows[0].token_ids.tolist() for w in found] == [[1, 2, 1, 2, 2], [1, 1, 3, 2]]


@pytest.mark.parametrize(
    ("prefix", "blocks", "match"),
    [
        ([5], [], "trajectory 'swe-7' has no steps"),
        ([], [[5]], "trajectory 'swe-7' has a task prefix without a token"),
        ([5], [[5], []], "step 1 of trajectory 'swe-7' has a text without a token"),
    ],
)
def test_what_has_nothing_to_judge_is_named(prefix: list[int], blocks: list[list[int]], match: str) -> None:
    with pytest.raises(DataError, match=match):
        pack("swe-7", prefix, blocks, settings(), SPECIALS)


@pytest.mark.parametrize(
    ("given_settings", "match"),
    [
        (settings(window=600), "window_tokens is 600, but the backbone reads at most 512 tokens"),
        (settings(window=5, prefix=3), "prefix_tokens 3 and 2 special tokens leave no room .*window_tokens 5"),
        (settings(prefix=0), "encoder.prefix_tokens is 0"),
        (settings(block=0), "encoder.block_tokens is 0"),
    ],
)
def test_settings_without_room_are_refused(given_settings: EncoderSettings, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        check_windows(given_settings, SPECIALS, 512)


def test_a_backbone_without_a_limit_takes_any_window() -> None:
    check_windows(settings(window=100_000), SPECIALS, None)
