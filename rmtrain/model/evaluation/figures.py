"""Values of any model, and the labels of a split, to one figure per head; and how far that is from chance to ceiling.

The figure of a head: share of variance explained (bce), quadratic kappa (ordinal), accuracy on pairs
without ties (bradley_terry). Classes are cut from expected values at points chosen on validation, by the
same rule for every model, since kappa depends on the rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, unit_labels
from rmtrain.model.evaluation.baselines import Array, Values, expected
from rmtrain.model.metrics import Figure, explained_share, pair_accuracy, quadratic_kappa
from rmtrain.model.objectives import OBJECTIVES

CutPoints = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class HeadRow:
    """One head's line in the final table; a figure that could not be computed is None.

    Attributes:
        head: name.
        measure: what the figures are.
        n: labels (or decided pairs) in the test split.
        chance: figure of the best constant.
        majority: figure of the commonest label.
        tfidf: figure of the TF-IDF baseline.
        model: figure of the reward model.
        ceiling: figure of the true values against the same labels, known in a simulated world only.
    """

    head: str
    measure: str
    n: int
    chance: float | None
    majority: float | None
    tfidf: float | None
    model: float | None
    ceiling: float | None

    def way(self, figure: float | None) -> float | None:
        """How far `figure` is on the way from chance (0) to ceiling (1)."""
        if figure is None or self.ceiling is None or self.chance is None or self.ceiling <= self.chance:
            return None
        return (figure - self.chance) / (self.ceiling - self.chance)


def choose_cuts(
    heads: Mapping[str, HeadSettings],
    values: Values,
    examples: Sequence[Example],
    measure: Callable[[Array, Array], Figure] = quadratic_kappa,
) -> CutPoints:
    """For each ordinal head the two or more cut points in [0, 1] with the highest kappa on `examples`.

    Without labels there the cuts lie halfway between the classes.
    """
    cuts: CutPoints = {}
    for name, head in heads.items():
        if head.objective != "ordinal" or name not in values:
            continue
        flat, labels = _ordinal_units(name, head, values, examples)
        middle = tuple((k + 0.5) / (head.classes - 1) for k in range(head.classes - 1))
        cuts[name] = _best_cuts(flat, labels, middle, measure) if len(labels) else middle
    return cuts


def figures(
    heads: Mapping[str, HeadSettings],
    values: Values,
    examples: Sequence[Example],
    pairs: Sequence[Pair],
    cuts: CutPoints,
) -> dict[str, Figure]:
    """One figure per head that has values.

    Args:
        heads: the declared heads.
        values: values per head and example, in the order of `examples`.
        examples: what was judged.
        pairs: comparisons among them.
        cuts: cut points of ordinal heads.
    """
    found: dict[str, Figure] = {}
    at = {example.trajectory_id: index for index, example in enumerate(examples)}
    for name, head in heads.items():
        if name not in values:
            continue
        if head.objective == "ordinal":
            flat, labels = _ordinal_units(name, head, values, examples)
            found[name] = quadratic_kappa(np.digitize(flat, cuts[name]), labels)
        elif head.objective == "bce":
            flat, y = _units(name, head, values, examples)
            found[name] = explained_share(flat, y)
        else:
            own = [pair for pair in pairs if pair.head == name]
            d = [values[name][at[p.trajectory_a]][0] - values[name][at[p.trajectory_b]][0] for p in own]
            found[name] = pair_accuracy(np.array(d, dtype=float), np.array([p.target for p in own], dtype=float))
    return found


def true_values(heads: Mapping[str, HeadSettings], examples: Sequence[Example]) -> Values:
    """What a simulated world knows, in the form of values; without the heads of which any example has no truth."""
    values: Values = {}
    for name, head in heads.items():
        rows = [row for example in examples if (row := _truth(name, head, example)) is not None]
        if rows and len(rows) == len(examples):
            values[name] = rows
    return values


def _truth(name: str, head: HeadSettings, example: Example) -> Array | None:
    labels = unit_labels(name, head, example)
    if head.level == "step":
        steps = example.step_truth.get(name)
        if steps is None or any(v is None and y is not None for v, y in zip(steps, labels, strict=True)):
            return None
        return np.array([np.nan if v is None else v / (head.classes - 1) for v in steps])
    if name in example.truth:
        return np.array([example.truth[name]])
    if head.objective == "bce" and labels == (None,):
        return np.array([np.nan])  # not labelled either, so never looked at
    return None


def table(heads: Mapping[str, HeadSettings], found: Mapping[str, Mapping[str, Figure]]) -> list[HeadRow]:
    """The final table.

    Args:
        heads: the declared heads.
        found: figures per column: majority, tfidf, model, ceiling; a column or a head in it may be absent.
    """

    def value(column: str, name: str) -> float | None:
        figure = found.get(column, {}).get(name)
        return None if figure is None else figure.value

    return [
        HeadRow(
            head=name,
            measure=OBJECTIVES[head.objective].measure,
            n=found["model"][name].n if name in found.get("model", {}) else 0,
            chance=OBJECTIVES[head.objective].chance,
            majority=value("majority", name),
            tfidf=value("tfidf", name),
            model=value("model", name),
            ceiling=value("ceiling", name),
        )
        for name, head in heads.items()
    ]


def _units(name: str, head: HeadSettings, values: Values, examples: Sequence[Example]) -> tuple[Array, Array]:
    flat: list[float] = []
    y: list[float] = []
    for example, row in zip(examples, values[name], strict=True):
        for value, label in zip(row, unit_labels(name, head, example), strict=True):
            number = expected(label)
            if number is not None:
                flat.append(float(value))
                y.append(number)
    return np.array(flat), np.array(y)


def _ordinal_units(name: str, head: HeadSettings, values: Values, examples: Sequence[Example]) -> tuple[Array, Array]:
    flat: list[float] = []
    labels: list[tuple[float, ...]] = []
    for example, row in zip(examples, values[name], strict=True):
        for value, label in zip(row, unit_labels(name, head, example), strict=True):
            if isinstance(label, tuple):
                flat.append(float(value))
                labels.append(label)
    return np.array(flat), np.array(labels, dtype=float).reshape(len(labels), head.classes)


def _best_cuts(
    flat: Array, labels: Array, start: tuple[float, ...], measure: Callable[[Array, Array], Figure]
) -> tuple[float, ...]:
    """Coordinate search over a grid of 5 % quantiles and even steps; three rounds are enough for three classes."""
    grid = np.unique(np.concatenate([np.linspace(0.02, 0.98, 49), np.quantile(flat, np.linspace(0.02, 0.98, 49))]))
    cuts = list(start)
    for _ in range(3):
        for index in range(len(cuts)):
            low = cuts[index - 1] if index else -np.inf
            high = cuts[index + 1] if index + 1 < len(cuts) else np.inf
            options = [float(c) for c in grid if low < c < high] or [cuts[index]]
            kappas = []
            for option in options:
                trial = [*cuts[:index], option, *cuts[index + 1 :]]
                kappa = measure(np.digitize(flat, trial), labels).value
                kappas.append(-np.inf if kappa is None else kappa)
            cuts[index] = options[int(np.argmax(kappas))]
    return tuple(cuts)
