from rmtrain.labels.importers.base import Place


def test_a_place_says_which_step_a_message_is() -> None:
    assert Place("t", {2: 0}).steps[2] == 0
