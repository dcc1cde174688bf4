"""Cross-validation: every example is judged by a model that never saw its task, and nothing of it decides anything."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from rmtrain.config.crossvalidation import FoldSettings
from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example
from rmtrain.dataset.folds import task_folds
from rmtrain.errors import ConfigError
from rmtrain.model.crossvalidation import Crossvalidation, check_folds
from rmtrain.model.evaluation.baselines import STRENGTHS
from rmtrain.model.evaluation.steps import SaidSteps, step_figures

NAME, HEAD = "step_quality", HeadSettings(level="step", objective="ordinal", classes=3)


@pytest.fixture
def whole(labelled):
    return Crossvalidation(NAME, HEAD, labelled(48).examples, FoldSettings(number=3, inner=2))


@pytest.fixture
def trained(trainer, tmp_path):
    """`trained(whole, start, taught)` is the recipe of a reward model."""

    def recipe(whole, start, taught=None):
        settings = replace(trainer, lr_heads=1e-2)
        return whole.trained(start, settings, tmp_path / "scratch", tmp_path / "cache", taught)

    return recipe


def kappa(whole, found):
    rows = []
    for example, classes in zip(whole.examples, found.classes, strict=True):
        labels = tuple(None if label is None else label.index(1.0) for label in example.step_labels[NAME])
        rows.append(SaidSteps(example.task_id, labels, classes))
    return step_figures(rows)["kappa"].value


def test_what_a_word_says_is_found_in_other_tasks(whole, trained, build, tmp_path):
    random = Random(0)
    examples = []
    for number in range(36):
        classes = [random.randrange(3) for _ in range(3)]
        labels = tuple(tuple(float(k == c) for k in range(3)) for c in classes)
        blocks = tuple(("bad", "fair", "good")[c] for c in classes)
        examples.append(Example(f"t{number}", f"task{number // 2}", "task", blocks, {}, {NAME: labels}))
    whole = replace(whole, examples=examples, folds=replace(whole.folds, number=2))
    start = build(heads={NAME: HEAD})
    before = {name: tensor.clone() for name, tensor in start.state_dict().items()}
    done = []
    found = whole.run(trained(whole, start), [1, 60], 0, lambda: done.append(1))
    assert [len(classes) for classes in found.classes] == [3] * 36
    assert (found.chosen, len(done)) == ((60, 60), 2)
    assert kappa(whole, found) > 0.9
    assert kappa(whole, whole.run(whole.logistic(), STRENGTHS, 0)) > 0.9
    assert abs(kappa(whole, whole.run(whole.majority(), [None], 0))) < 0.1
    assert all((before[name] == tensor).all() for name, tensor in start.state_dict().items())
    assert not (tmp_path / "scratch").exists()


def test_nothing_is_learned_from_a_task_that_is_judged(whole):
    calls = []

    def watched(train, test, option):
        calls.append(({whole.examples[i].task_id for i in train}, {whole.examples[i].task_id for i in test}))
        return {index: np.full((len(whole.examples[index].blocks), 3), 1 / 3) for index in test}

    whole.run(watched, [1, 2], 0)
    assert len(calls) == 3 * (2 * 2 + 1)
    assert not any(train & test for train, test in calls)
    outer = [test for train, test in calls[4::5]]
    assert set().union(*outer) == {example.task_id for example in whole.examples}


def test_further_labels_teach_in_training_only(whole, trained, build):
    """Labels of the tasks of one fold change how the others are judged, never that fold itself."""
    start = build(heads={NAME: HEAD})
    plain = whole.run(trained(whole, start), [3], 0)
    test = [i for i, example in enumerate(whole.examples) if example.task_id in first_fold(whole)]
    wrong = {whole.examples[i].trajectory_id: ((1.0, 0.0, 0.0),) * len(whole.examples[i].blocks) for i in test}
    taught = whole.run(trained(whole, start, wrong), [3], 0)
    assert [taught.classes[i] for i in test] == [plain.classes[i] for i in test]
    assert taught.classes != plain.classes


def test_the_labels_of_a_fold_do_not_decide_how_it_is_judged(whole, trained, build):
    start = build(heads={NAME: HEAD})
    test = [i for i, example in enumerate(whole.examples) if example.task_id in first_fold(whole)]
    other = list(whole.examples)
    for i in test:
        turned = tuple(label and label[::-1] for label in other[i].step_labels[NAME])
        other[i] = replace(other[i], step_labels={NAME: turned})
    changed = replace(whole, examples=other)
    recipes = {
        "trained": (lambda w: trained(w, start), [3]),
        "logistic": (lambda w: w.logistic(), STRENGTHS),
        "majority": (lambda w: w.majority(), [None]),
    }
    for recipe, options in recipes.values():
        one, two = (w.run(recipe(w), options, 0) for w in (whole, changed))
        assert [one.classes[i] for i in test] == [two.classes[i] for i in test]


def first_fold(whole):
    return task_folds((example.task_id for example in whole.examples), whole.folds.number, 0)[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": 1}, r"^folds\.number is 1\. Expected a whole number >= 2\.$"),
        ({"inner": 0}, r"^folds\.inner is 0\."),
        ({"epochs": []}, r"^folds\.epochs is \[\]\."),
        ({"epochs": [4, 0]}, r"^folds\.epochs is \[4, 0\]\. Expected one or more whole numbers > 0"),
        ({"seeds": []}, r"^folds\.seeds is \[\]\. Expected another seed for each"),
        ({"epochs": [4, 5]}, r"> 0, each a multiple of trainer\.epochs_per_pass=2\.$"),
    ],
)
def test_folds_that_cannot_be(trainer, change, message):
    with pytest.raises(ConfigError, match=message):
        check_folds(
            replace(FoldSettings(), **change), replace(trainer, epochs_per_pass=2 if "4, 5" in str(change) else 1)
        )
