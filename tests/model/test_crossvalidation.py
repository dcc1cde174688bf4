"""Cross-validation: every example is judged by a model that never saw its task, and nothing of it decides anything."""

from dataclasses import replace
from random import Random

import pytest

import rmtrain.model.crossvalidation as crossvalidation
from rmtrain.config.crossvalidation import FoldSettings
from rmtrain.config.model import HeadSettings
from rmtrain.dataset.examples import Example
from rmtrain.errors import ConfigError
from rmtrain.model.crossvalidation import Trial, check_folds
from rmtrain.model.evaluation.steps import JudgedSteps, kappa

NAME, HEAD = "step_quality", HeadSettings(level="step", objective="ordinal", classes=3)


@pytest.fixture
def trial(labelled, trainer, tmp_path):
    return Trial(
        name=NAME,
        head=HEAD,
        examples=labelled(48).examples,
        folds=FoldSettings(number=3, seeds=[0], inner=2, epochs=[2, 12]),
        trainer=replace(trainer, lr_heads=1e-2),
        scratch=tmp_path / "scratch",
        cache=tmp_path / "cache",
    )


def judged(trial, found):
    rows = []
    for example, classes in zip(trial.examples, found.classes, strict=True):
        labels = tuple(None if label is None else label.index(1.0) for label in example.step_labels[NAME])
        rows.append(JudgedSteps(example.task_id, labels, classes))
    return rows


def test_what_a_word_says_is_found_in_other_tasks(trial, build):
    random = Random(0)
    examples = []
    for number in range(36):
        classes = [random.randrange(3) for _ in range(3)]
        labels = tuple(tuple(float(k == c) for k in range(3)) for c in classes)
        blocks = tuple(("bad", "fair", "good")[c] for c in classes)
        examples.append(Example(f"t{number}", f"task{number // 2}", "task", blocks, {}, {NAME: labels}))
    trial = replace(trial, examples=examples, folds=replace(trial.folds, number=2, epochs=[1, 60]))
    start = build(heads={NAME: HEAD})
    before = {name: tensor.clone() for name, tensor in start.state_dict().items()}
    found = trial.judge(start, seed=0)
    assert [len(classes) for classes in found.classes] == [len(example.blocks) for example in trial.examples]
    assert found.epochs == (60, 60)
    assert kappa(judged(trial, found)).value > 0.5
    assert kappa(judged(trial, trial.majority(0))).value < 0.1
    assert kappa(judged(trial, trial.baseline(0))).value > 0.5
    assert all((before[name] == tensor).all() for name, tensor in start.state_dict().items())
    assert not trial.scratch.exists()


def test_no_model_is_tested_on_a_task_that_it_saw(trial, build, monkeypatch):
    seen, tested = [], []
    fit, predict = crossvalidation.fit, crossvalidation.predict

    def watched_fit(model, train, *rest, **options):
        seen.append({example.task_id for example in train.examples})
        return fit(model, train, *rest, **options)

    def watched_predict(model, examples, **options):
        tested.append({example.task_id for example in examples})
        return predict(model, examples, **options)

    monkeypatch.setattr(crossvalidation, "fit", watched_fit)
    monkeypatch.setattr(crossvalidation, "predict", watched_predict)
    taught = {example.trajectory_id: ((0.0, 0.5, 0.5),) * len(example.blocks) for example in trial.examples}
    trial.judge(build(heads={NAME: HEAD}), seed=0, taught=taught)
    assert len(seen) == len(tested) == 3 * (2 * 2 + 1)
    assert not any(own & other for own, other in zip(seen, tested, strict=True))


def test_further_labels_teach_in_training_only(trial, build):
    """Labels of the tasks of one fold change how the others are judged, never that fold itself."""
    trial = replace(trial, folds=replace(trial.folds, epochs=[3]))
    start = build(heads={NAME: HEAD})
    plain = trial.judge(start, seed=0)
    _, test = trial.divided(range(48), 3, 0)[0]
    wrong = {trial.examples[i].trajectory_id: ((1.0, 0.0, 0.0),) * len(trial.examples[i].blocks) for i in test}
    taught = trial.judge(start, seed=0, taught=wrong)
    assert [taught.classes[i] for i in test] == [plain.classes[i] for i in test]
    assert taught.classes != plain.classes


def test_the_labels_of_a_fold_do_not_decide_how_it_is_judged(trial, build):
    trial = replace(trial, folds=replace(trial.folds, epochs=[3]))
    start = build(heads={NAME: HEAD})
    _, test = trial.divided(range(48), 3, 0)[0]
    other = list(trial.examples)
    for i in test:
        turned = tuple(label and label[::-1] for label in other[i].step_labels[NAME])
        other[i] = replace(other[i], step_labels={NAME: turned})
    changed = replace(trial, examples=other)
    for judge in (lambda t: t.judge(start, 0), lambda t: t.baseline(0), lambda t: t.majority(0)):
        assert [judge(changed).classes[i] for i in test] == [judge(trial).classes[i] for i in test]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": 1}, r"^folds\.number is 1\. Expected a whole number >= 2\.$"),
        ({"inner": 0}, r"^folds\.inner is 0\."),
        ({"epochs": []}, r"^folds\.epochs is \[\]\."),
        ({"epochs": [3, 0]}, r"^folds\.epochs is \[3, 0\]\. Expected one or more whole numbers > 0\.$"),
        ({"seeds": []}, r"^folds\.seeds is empty\."),
    ],
)
def test_folds_that_cannot_be(change, message):
    with pytest.raises(ConfigError, match=message):
        check_folds(replace(FoldSettings(), **change))
