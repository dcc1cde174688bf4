"""Simple models that every figure is compared with: the best constant, the commonest label, TF-IDF and a line.

They read the very text that the reward model reads, and give values of the same form, so that one
function turns both into figures.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example, Pair, Value, hard_class, unit_labels

Array = NDArray[Any]
Values = dict[str, list[Array]]
"""Head name to one array per example: one value for a trajectory head, one per step for a step head."""

ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""What `step_logistic` is tried with."""


def expected(label: Value) -> float | None:
    """A label as one number: a value as it is, a distribution as its expected class over the highest class."""
    if label is None or isinstance(label, float | int):
        return label
    return sum(k * share for k, share in enumerate(label)) / (len(label) - 1)


def majority(heads: Mapping[str, HeadSettings], train: Sequence[Example], test: Sequence[Example]) -> Values:
    """The commonest label of training, for every unit of `test`; a head without labels has no values.

    A Bradley-Terry head gets 0 everywhere, which orders nothing.
    """
    values: Values = {}
    for name, head in heads.items():
        labels = [expected(label) for example in train for label in unit_labels(name, head, example)]
        known = [label for label in labels if label is not None]
        if head.objective == "bradley_terry":
            mode = 0.0
        elif known:
            mode = Counter(round(label, 2) for label in known).most_common(1)[0][0]
        else:
            continue
        values[name] = [np.full(len(example.blocks) if head.level == "step" else 1, mode) for example in test]
    return values


def tfidf(
    heads: Mapping[str, HeadSettings],
    train: Sequence[Example],
    train_pairs: Sequence[Pair],
    validation: Sequence[Example],
    validation_pairs: Sequence[Pair],
    test: Sequence[Example],
    seed: int = 0,
) -> Values:
    """TF-IDF over words and word pairs with a linear model per head, regularisation chosen on validation.

    A trajectory head reads the whole text; a step head its own block and the whole text, as two sets of
    features; a Bradley-Terry head is a logistic model on differences. A head without labels has no values.
    """
    whole = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    texts = [_text(example) for example in train]
    whole.fit(texts)
    at = {example.trajectory_id: index for index, example in enumerate(train)}
    at_validation = {example.trajectory_id: index for index, example in enumerate(validation)}
    x = {"train": whole.transform(texts)}
    x |= {"validation": whole.transform([_text(example) for example in validation])} if validation else {}
    x |= {"test": whole.transform([_text(example) for example in test])}
    steps = _StepFeatures(train) if any(head.level == "step" for head in heads.values()) else None
    values: Values = {}
    for name, head in heads.items():
        if head.objective == "bradley_terry":
            model = _fit_pairs(name, x, train_pairs, at, validation_pairs, at_validation, seed)
            if model is not None:
                values[name] = [np.array([score]) for score in np.asarray(x["test"] @ model.coef_[0]).ravel()]
            continue
        if steps is not None and head.level == "step":
            sets = {
                "train": steps.transform(train, x["train"]),
                "validation": steps.transform(validation, x["validation"]) if validation else None,
                "test": steps.transform(test, x["test"]),
            }
        else:
            sets = {"train": x["train"], "validation": x.get("validation"), "test": x["test"]}
        flat = _fit_values(name, head, sets, train, validation)
        if flat is None:
            continue
        sizes = [len(example.blocks) if head.level == "step" else 1 for example in test]
        values[name] = [np.clip(part, 0.0, 1.0) for part in np.split(flat, np.cumsum(sizes)[:-1])]
    return values


def _text(example: Example) -> str:
    return example.prefix + "".join(example.blocks)


class _StepFeatures:
    """TF-IDF of a step's own block beside that of the whole text."""

    def __init__(self, train: Sequence[Example]) -> None:
        self.own = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        self.own.fit([block for example in train for block in example.blocks])

    def transform(self, examples: Sequence[Example], whole: Any) -> Any:
        own = self.own.transform([block for example in examples for block in example.blocks])
        rows = np.repeat(np.arange(len(examples)), [len(example.blocks) for example in examples])
        return sparse.hstack([own, whole[rows]]).tocsr()


def _fit_values(
    name: str, head: HeadSettings, sets: Mapping[str, Any], train: Sequence[Example], validation: Sequence[Example]
) -> Array | None:
    """Values for every unit of the test set, by ridge regression on the expected label; None without labels."""
    y, known = _targets(name, head, train)
    if not known.any():
        return None
    x = sets["train"][known]
    yv, known_v = _targets(name, head, validation)
    best: tuple[float, Ridge] | None = None
    for alpha in ALPHAS:
        model = Ridge(alpha=alpha).fit(x, y[known])
        if sets["validation"] is None or not known_v.any():
            best = (0.0, model)
            if alpha >= 3.0:
                break
            continue
        error = float(np.mean((model.predict(sets["validation"][known_v]) - yv[known_v]) ** 2))
        if best is None or error < best[0]:
            best = (error, model)
    assert best is not None
    return np.asarray(best[1].predict(sets["test"]))


def _targets(name: str, head: HeadSettings, examples: Sequence[Example]) -> tuple[Array, Array]:
    labels = [expected(label) for example in examples for label in unit_labels(name, head, example)]
    known = np.array([label is not None for label in labels], dtype=bool)
    return np.array([0.0 if label is None else label for label in labels]), known


def _fit_pairs(
    name: str,
    x: Mapping[str, Any],
    pairs: Sequence[Pair],
    at: Mapping[str, int],
    validation_pairs: Sequence[Pair],
    at_validation: Mapping[str, int],
    seed: int,
) -> LogisticRegression | None:
    """A logistic model on feature differences, both orders of each decided pair; None where there is none."""
    decided = [pair for pair in pairs if pair.head == name and pair.target != 0.5]
    if not decided:
        return None
    differences, y, weights = _pair_rows(decided, x["train"], at)
    held = [pair for pair in validation_pairs if pair.head == name and pair.target != 0.5]
    best: tuple[float, LogisticRegression] | None = None
    for c in (0.1, 1.0, 10.0, 100.0):
        model = LogisticRegression(C=c, fit_intercept=False, max_iter=500, random_state=seed)
        model.fit(differences, y, sample_weight=weights)
        if not held:
            return model
        dv, yv, _ = _pair_rows(held, x["validation"], at_validation)
        error = 1 - float(model.score(dv, yv))
        if best is None or error < best[0]:
            best = (error, model)
    return None if best is None else best[1]


def _pair_rows(pairs: Sequence[Pair], x: Any, at: Mapping[str, int]) -> tuple[Any, Array, Array]:
    a, b = [at[pair.trajectory_a] for pair in pairs], [at[pair.trajectory_b] for pair in pairs]
    difference = x[a] - x[b]
    wins = np.array([pair.target > 0.5 for pair in pairs])
    weights = np.array([pair.pair_weight * abs(2 * pair.target - 1) for pair in pairs])
    return (
        sparse.vstack([difference, -difference]).tocsr(),
        np.concatenate([wins, ~wins]).astype(int),
        np.concatenate([weights, weights]),
    )


def step_logistic(
    name: str, head: HeadSettings, train: Sequence[Example], test: Sequence[Example], strength: float
) -> list[Array]:
    """Class probabilities of every step by a logistic model over TF-IDF of the step's own block and a few counts.

    The counts are the step's place, from the start and from the end, and the logarithm of its characters. Where
    training knows one class only, that class is certain; where it shares no word, the counts are all there is.

    Args:
        name: a step head with classes.
        head: its settings.
        train: examples to learn from.
        test: examples to judge.
        strength: inverse of the regularisation, > 0.

    Returns:
        For each example of `test` an array [steps, classes].
    """
    labels = [label for example in train for label in unit_labels(name, head, example)]
    known = [place for place, label in enumerate(labels) if hard_class(label) is not None]
    y = np.array([hard_class(labels[place]) for place in known], dtype=int)
    sizes = [len(example.blocks) for example in test]
    found = np.zeros((sum(sizes), head.classes))
    if len(set(y.tolist())) < 2:
        found[:, y[0] if len(y) else 0] = 1.0
    else:
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        scale = StandardScaler()
        try:
            words.fit([block for example in train for block in example.blocks])
        except ValueError:  # no word occurs twice
            words = None

        def rows(examples: Sequence[Example], counts: Array) -> Any:
            if words is None:
                return sparse.csr_matrix(counts)
            return sparse.hstack([words.transform([b for e in examples for b in e.blocks]), counts]).tocsr()

        x = rows(train, scale.fit_transform(_counts(train)))
        model = LogisticRegression(C=strength, max_iter=2000).fit(x[known], y)
        found[:, model.classes_] = model.predict_proba(rows(test, scale.transform(_counts(test))))
    return np.split(found, np.cumsum(sizes)[:-1])


def _counts(examples: Sequence[Example]) -> Array:
    return np.array(
        [
            [place, len(example.blocks) - 1 - place, np.log1p(len(block))]
            for example in examples
            for place, block in enumerate(example.blocks)
        ],
        dtype=float,
    )
