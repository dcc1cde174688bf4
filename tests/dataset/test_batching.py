import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtrain.dataset.batching import Batch, BatchPlan, Loader, fill, make_atoms
from rmtrain.errors import DataError


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]], int]:
    tokens = draw(st.lists(st.integers(1, 50), min_size=1, max_size=25))
    side = st.integers(0, len(tokens) - 1)
    pairs = draw(st.lists(st.tuples(side, side).filter(lambda pair: pair[0] != pair[1]), max_size=40))
    return tokens, pairs, draw(st.integers(10, 200))


@given(problem=problems(), seed=st.integers(0, 3), parts=st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_every_label_and_pair_counts_once_a_pass(
    problem: tuple[list[int], list[tuple[int, int]], int], seed: int, parts: int
) -> None:
    tokens, pairs, budget = problem
    try:
        plan = BatchPlan(tokens, pairs, budget=budget, seed=seed, epochs=3 * parts, epochs_per_pass=parts)
    except DataError:
        assert parts > 1
        whole = BatchPlan(tokens, pairs, budget=budget, seed=seed, epochs=3)
        assert -(-len(whole) // parts) * parts > len(whole.atoms)  # more batches than there are parts to fill them
        return
    for number in range(3):
        epochs = [plan.epoch(number * parts + part) for part in range(parts)]
        assert [len(epoch) for epoch in epochs] == [len(plan)] * parts
        batches = [batch for epoch in epochs for batch in epoch]
        labels: Counter[int] = Counter()
        held: Counter[int] = Counter()
        for batch in batches:
            assert batch.examples
            assert len(set(batch.examples)) == len(batch.examples)
            labels.update(e for e, counts in zip(batch.examples, batch.label_mask, strict=True) if counts)
            for pair, a, b in batch.pairs:
                held[pair] += 1
                assert (batch.examples[a], batch.examples[b]) == pairs[pair]
            lone = len(batch.examples) == 1 or len(batch.pairs) == 1
            assert sum(tokens[e] for e in batch.examples) <= budget or lone
        assert labels == Counter(range(len(tokens)))
        assert held == Counter(range(len(pairs)))


def test_connected_trajectories_travel_together() -> None:
    # 0-1-2 are connected through 1, 3 is alone
    atoms = make_atoms([5, 5, 5, 5], [(0, 1), (1, 2)], budget=100)
    assert [atom.examples for atom in atoms] == [(0, 1, 2), (3,)]
    assert [atom.n_tokens for atom in atoms] == [15, 5]


def test_a_component_over_the_budget_is_broken_up_by_pairs() -> None:
    # all three pairs of three examples of 10 tokens; two examples fit
    atoms = make_atoms([10, 10, 10], [(0, 1), (0, 2), (1, 2)], budget=20)
    assert [(atom.examples, atom.pairs) for atom in atoms] == [((0, 1), (0,)), ((0, 2), (1,)), ((1, 2), (2,))]
    assert [sorted(atom.labelled) for atom in atoms] == [[0, 1], [2], []]


def test_order_depends_on_seed_and_epoch_only() -> None:
    def order(seed: int, epoch: int) -> list[Batch]:
        return BatchPlan([7] * 30, [], budget=21, seed=seed, epochs=3).epoch(epoch)

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 1)
    assert order(1, 2) != order(2, 2)


def test_order_is_kept_without_shuffling() -> None:
    plan = BatchPlan([7] * 5, [], budget=14, shuffle=False)
    assert [batch.examples for batch in plan.epoch(0)] == [(0, 1), (2, 3), (4,)]


def test_a_loader_goes_on_where_it_was() -> None:
    plan = BatchPlan([1] * 20, [], budget=3, epochs=2)
    loader: Loader[Batch] = Loader(plan, lambda batch: batch)
    loader.sampler.set_epoch(1)
    whole = list(loader)
    iterator = iter(loader)
    first = [next(iterator) for _ in range(3)]
    state = loader.state_dict()
    assert state == {"index": 3, "epoch": 1}
    resumed: Loader[Batch] = Loader(plan, lambda batch: batch)
    resumed.load_state_dict(state)
    resumed.sampler.set_epoch(1)
    assert first + list(resumed) == whole
    assert list(resumed) == whole  # only the first pass is partial


def test_a_state_at_the_end_of_an_epoch_starts_the_next_one_whole() -> None:
    loader: Loader[Batch] = Loader(BatchPlan([1] * 4, [], budget=2), lambda batch: batch)
    loader.load_state_dict({"index": 2, "epoch": 0})
    assert len(list(loader)) == 2


def test_validation_repeats_one_epoch() -> None:
    loader: Loader[Batch] = Loader(BatchPlan([1] * 4, [], budget=2, shuffle=False), lambda batch: batch, moves=False)
    loader.set_epoch(7)
    assert [batch.examples for batch in loader] == [(0, 1), (2, 3)]


def test_no_examples_are_refused() -> None:
    with pytest.raises(DataError, match="no examples to make batches of"):
        BatchPlan([], [], budget=10)


def test_batching_needs_no_torch() -> None:
    code = "import sys, rmtrain.dataset.batching, rmtrain.schedule; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(sizes=st.lists(st.integers(1, 50), max_size=25), budget=st.integers(1, 120))
def test_stretches_are_in_order_within_the_budget_and_as_long_as_they_get(sizes: list[int], budget: int) -> None:
    stretches = fill(sizes, budget)
    assert [index for stretch in stretches for index in stretch] == list(range(len(sizes)))
    for stretch in stretches:
        total = sum(sizes[index] for index in stretch)
        assert len(stretch) == 1 or total <= budget
        assert stretch.stop == len(sizes) or total + sizes[stretch.stop] > budget
