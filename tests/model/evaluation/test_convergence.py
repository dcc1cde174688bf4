"""The epoch of 95 % of the gain, from curves written down by hand."""

import pytest

from rmtrain.config.model import HeadSettings
from rmtrain.model.evaluation.convergence import converged_epochs, curve_value, draw_convergence
from rmtrain.model.module import Epoch
from rmtrain.model.objectives import OBJECTIVES

HEADS = {
    "correctness": HeadSettings(),
    "step_quality": HeadSettings(level="step", objective="ordinal"),
    "consistency": HeadSettings(objective="bradley_terry"),
}
KEYS = {"correctness": "val_r2", "step_quality": "val_kappa", "consistency": "val_accuracy"}


def history(**curves):
    n = max(map(len, curves.values()))
    return [
        Epoch(
            e,
            {f"{KEYS[name]}/{name}": curve[e] for name, curve in curves.items() if curve[e] is not None}
            | {f"loss_weight/{name}": 1.0 + e for name in curves},
            {},
        )
        for e in range(n)
    ]


@pytest.mark.parametrize(
    ("head", "curve", "epoch"),
    [
        ("correctness", [0.1, 0.5, 0.76, 0.8], 3),  # 0.76 = 0.95 * 0.8
        ("correctness", [0.1, 0.5, 0.75, 0.8], 4),
        ("correctness", [-0.3, -0.1, -0.2, 0.0], None),  # never over the constant
        ("step_quality", [0.4, 0.2, 0.1, 0.0], 1),  # best at once, then worse
        ("consistency", [0.5, 0.55, 0.69, 0.7], 3),  # gains 0, 0.05, 0.19, 0.2 over 0.5
        ("consistency", [0.5, 0.55, 0.68, 0.7], 4),  # as a figure 0.68 is 97 %, as a gain 90 %
        ("consistency", [None, 0.7, None, None], 2),
        ("consistency", [None, None, None, None], None),
    ],
)
def test_the_first_epoch_with_95_percent_of_the_gain(head, curve, epoch):
    assert converged_epochs({head: HEADS[head]}, history(**{head: curve})) == {head: epoch}


def test_without_epochs_nothing_converged():
    assert converged_epochs(HEADS, []) == dict.fromkeys(HEADS)


def test_each_head_has_its_own_figure():
    (epoch,) = history(correctness=[0.1], step_quality=[0.2], consistency=[0.6])
    assert [curve_value(name, head, epoch) for name, head in HEADS.items()] == [0.1, 0.2, 0.6]
    assert curve_value("safety", HeadSettings(), epoch) is None


def test_one_panel_per_head_with_its_curve_weight_and_epoch(tmp_path):
    drawn = draw_convergence(HEADS, history(correctness=[0.1, 0.8], step_quality=[None, None], consistency=[0.6, 0.7]))
    panels = [axes for axes in drawn.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == list(HEADS)
    assert [axes.get_ylabel() for axes in panels] == [OBJECTIVES[head.objective].measure for head in HEADS.values()]
    curve = next(line for line in panels[0].lines if line.get_marker() == "o")
    assert curve.get_xydata().tolist() == [[1, 0.1], [2, 0.8]]
    assert [text.get_text() for text in panels[0].texts] == [" 95 % at 2 "]
    assert not panels[1].texts
    behind = [axes for axes in drawn.axes if axes.get_ylabel() == "loss weight"]
    assert [axes.lines[0].get_ydata().tolist() for axes in behind] == [[1.0, 2.0]] * 3
    drawn.savefig(tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes()[1:4] == b"PNG"


def test_heads_without_any_epoch_are_drawn_empty():
    assert len(draw_convergence(HEADS, []).axes) == 3
