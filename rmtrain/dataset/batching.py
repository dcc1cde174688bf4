"""Examples and pairs to batches, as a pure function of (seed, epoch, index), by token budget.

Trajectories that some pair connects travel together, so that each is encoded once a pass and both its
labels and its pairs are used there. What connects too much for one batch is broken up by pairs: every
pair still occurs exactly once a pass, and the labels of a trajectory count where it first appears.
An epoch is a whole pass, or an equal share of one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from rmtrain.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """One batch of examples, by index.

    Attributes:
        examples: indices of its examples; each occurs once.
        label_mask: True where the example's labels count in this batch.
        pairs: (index of the pair, position of side A in `examples`, position of side B).
    """

    examples: tuple[int, ...]
    label_mask: tuple[bool, ...]
    pairs: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Atom:
    """What is never split: examples, which of them are labelled here, and pairs among them, all by index."""

    examples: tuple[int, ...]
    labelled: frozenset[int]
    pairs: tuple[int, ...]
    n_tokens: int


class BatchPlan:
    """The batches of every epoch.

    Every epoch has the same number of batches: the most that any pass needs, shared out; the others split their
    largest. So the number of optimizer steps is known before training and a resumed run agrees on it.

    Args:
        tokens: tokens of each example, > 0.
        pairs: (example index of side A, of side B) of each pair.
        budget: most tokens in one batch; a lone atom may exceed it.
        seed: seed of the order.
        epochs: number of epochs that will be asked for, > 0.
        epochs_per_pass: epochs that see everything once between them, > 0.
        shuffle: False keeps the order of the examples.

    Raises:
        DataError: there are no examples, or too few for a batch in each epoch of a pass.
    """

    def __init__(
        self,
        tokens: Sequence[int],
        pairs: Sequence[tuple[int, int]],
        *,
        budget: int,
        seed: int = 0,
        epochs: int = 1,
        epochs_per_pass: int = 1,
        shuffle: bool = True,
    ) -> None:
        if not tokens:
            raise DataError("no examples to make batches of. Build a dataset with at least one trajectory per split.")
        self._pair_sides = list(pairs)
        self._budget = budget
        self._seed = seed
        self._epochs = epochs
        self._parts = epochs_per_pass
        self._shuffle = shuffle
        self.atoms = make_atoms(tokens, self._pair_sides, budget)
        passes = range(-(-epochs // epochs_per_pass))
        self._n_batches = -(-max(len(self._fill(self._order(number))) for number in passes) // epochs_per_pass)
        if self._n_batches * epochs_per_pass > len(self.atoms):
            raise DataError(
                f"trainer.epochs_per_pass is {epochs_per_pass}, but the {len(tokens)} trajectories in training "
                f"({len(self.atoms)} where those that pairs connect count as one) are too few to spread over that many "
                "epochs. Set trainer.epochs_per_pass=1."
            )

    def __len__(self) -> int:
        return self._n_batches

    def epoch(self, epoch: int) -> list[Batch]:
        """The batches of one epoch, always `len(self)` of them."""
        if not 0 <= epoch < self._epochs:
            raise ValueError(f"epoch {epoch} of a plan for {self._epochs}")
        number, part = divmod(epoch, self._parts)
        groups = self._fill(self._order(number))
        while len(groups) < self._n_batches * self._parts:
            sizes = [sum(self.atoms[i].n_tokens for i in group) if len(group) > 1 else -1 for group in groups]
            at = max(range(len(groups)), key=sizes.__getitem__)
            groups[at : at + 1] = _halves(groups[at], self.atoms)
        own = groups[part * self._n_batches : (part + 1) * self._n_batches]
        return [self._batch(group) for group in own]

    def _order(self, number: int) -> list[int]:
        order = list(range(len(self.atoms)))
        if self._shuffle:
            Random(f"{self._seed}/{number}").shuffle(order)
        return order

    def _fill(self, order: Sequence[int]) -> list[list[int]]:
        groups: list[list[int]] = []
        held: set[int] = set()
        room = -1
        for index in order:
            atom = self.atoms[index]
            if not groups or atom.n_tokens > room or held.intersection(atom.examples):
                groups.append([])
                held = set()
                room = self._budget
            groups[-1].append(index)
            held.update(atom.examples)
            room -= atom.n_tokens
        return groups

    def _batch(self, group: Sequence[int]) -> Batch:
        examples: list[int] = []
        labelled: set[int] = set()
        pairs: list[int] = []
        for index in group:
            atom = self.atoms[index]
            examples += atom.examples
            labelled |= atom.labelled
            pairs += atom.pairs
        at = {example: position for position, example in enumerate(examples)}
        sides = ((pair, *self._pair_sides[pair]) for pair in pairs)
        return Batch(
            examples=tuple(examples),
            label_mask=tuple(example in labelled for example in examples),
            pairs=tuple((pair, at[a], at[b]) for pair, a, b in sides),
        )


def fill(sizes: Sequence[int], budget: int) -> list[range]:
    """Cut a sequence into stretches of at most `budget`, each as long as it gets; a lone item may exceed it.

    Args:
        sizes: size of each item, e.g. in tokens.
        budget: most of one stretch, in the same unit.

    Returns:
        Indices of each stretch, in order; none of them is empty.
    """
    stretches: list[range] = []
    start = used = 0
    for index, size in enumerate(sizes):
        if index > start and used + size > budget:
            stretches.append(range(start, index))
            start, used = index, 0
        used += size
    return [*stretches, range(start, len(sizes))] if sizes else []


def make_atoms(tokens: Sequence[int], pairs: Sequence[tuple[int, int]], budget: int) -> list[Atom]:
    """Connected components of the pair graph, those over the budget broken up by pairs.

    Args:
        tokens: tokens of each example.
        pairs: (example index of side A, of side B) of each pair.
        budget: most tokens in one atom; a single pair or example may exceed it.

    Returns:
        Atoms in the order of their first example: every pair in exactly one, every example labelled in
        exactly one.
    """
    root = list(range(len(tokens)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        root[high] = low
    members: dict[int, list[int]] = {}
    for index in range(len(tokens)):
        members.setdefault(find(index), []).append(index)
    inside: dict[int, list[int]] = {}
    for number, (a, _) in enumerate(pairs):
        inside.setdefault(find(a), []).append(number)
    atoms: list[Atom] = []
    for component, examples in members.items():
        own = inside.get(component, [])
        n_tokens = sum(tokens[example] for example in examples)
        if n_tokens <= budget or not own:
            atoms.append(Atom(tuple(examples), frozenset(examples), tuple(own), n_tokens))
        else:
            atoms += _break_up(own, tokens, pairs, budget)
    return atoms


def _break_up(own: list[int], tokens: Sequence[int], pairs: Sequence[tuple[int, int]], budget: int) -> list[Atom]:
    # pairs of one trajectory come together, so that few trajectories are encoded twice
    order = sorted(own, key=lambda number: (min(pairs[number]), max(pairs[number]), number))
    atoms: list[Atom] = []
    seen: set[int] = set()
    examples: dict[int, None] = {}
    held: list[int] = []

    def close() -> None:
        fresh = frozenset(examples) - seen
        seen.update(fresh)
        atoms.append(Atom(tuple(examples), fresh, tuple(held), sum(tokens[example] for example in examples)))

    for number in order:
        wanted = {**examples, **dict.fromkeys(pairs[number])}
        if held and sum(tokens[example] for example in wanted) > budget:
            close()
            examples, held = {}, []
            wanted = dict.fromkeys(pairs[number])
        examples = wanted
        held.append(number)
    close()
    return atoms


def _halves(group: list[int], atoms: Sequence[Atom]) -> list[list[int]]:
    total = sum(atoms[index].n_tokens for index in group)
    taken, cut = 0, 1
    for cut in range(1, len(group)):
        taken += atoms[group[cut - 1]].n_tokens
        if 2 * taken >= total:
            break
    return [group[:cut], group[cut:]]


class Loader(Generic[T]):
    """The batches of an epoch as Lightning wants them: its place is (epoch, index) and nothing else.

    Args:
        plan: the batches of every epoch.
        collate: turns a batch into what the module takes.
        moves: False repeats epoch 0 whatever epoch is set, as validation does.
    """

    batch_sampler = None  # Lightning reads it wherever there is a `sampler`

    def __init__(self, plan: BatchPlan, collate: Callable[[Batch], T], *, moves: bool = True) -> None:
        self._plan = plan
        self._collate = collate
        self._moves = moves
        self._epoch = 0
        self._index = 0
        self._start = 0

    @property
    def sampler(self) -> "Loader[T]":
        """Lightning tells the epoch to a loader's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch if self._moves else 0

    def __len__(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[T]:
        start, self._start = self._start, 0
        self._index = start
        for batch in self._plan.epoch(self._epoch)[start:]:
            # counted before the yield: with a known length Lightning never exhausts the iterator
            self._index += 1
            yield self._collate(batch)

    def state_dict(self) -> dict[str, Any]:
        return {"index": self._index, "epoch": self._epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        index = int(state["index"])
        self._start = index if index < len(self) else 0
