"""Every epoch's figures are handed on once, the last one too."""

import pytest

from rmtrain.model.curves import Curves
from rmtrain.model.train import fit


def test_every_epoch_is_sent_once_with_what_the_history_holds(build, labelled, trainer, tmp_path):
    sent = []
    data = labelled(12)
    fitted = fit(
        build(),
        data,
        labelled(6, seed=1),
        trainer,
        folder=tmp_path,
        callbacks=[Curves(lambda values, epoch: sent.append((epoch, dict(values))))],
    )
    assert sent == [(epoch.epoch, epoch.values) for epoch in fitted.history]
    assert [epoch for epoch, _ in sent] == [0, 1, 2]
    assert {"val_criterion", "train_loss/correctness", "loss_weight/consistency"} <= set(sent[-1][1])


def test_a_resumed_run_sends_only_what_is_new(build, labelled, trainer, tmp_path):
    sent = []
    curves = Curves(lambda values, epoch: sent.append(epoch))
    data = labelled(12)

    class Stop(Exception):
        pass

    def until(values, epoch):
        sent.append(epoch)
        if epoch == 0:
            raise Stop

    model = build()
    with pytest.raises(Stop):
        fit(model, data, None, trainer, folder=tmp_path, callbacks=[Curves(until)])
    assert sent == [0]
    fit(build(), data, None, trainer, folder=tmp_path, callbacks=[curves], resume=True)
    assert sent == [0, 1, 2]
