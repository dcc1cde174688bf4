"""A bar for people only; whatever it shows, the items pass unchanged."""

import sys

from rmtrain.jobs.progress import progress


def test_items_pass_in_order_and_in_silence(capsys):
    assert list(progress(iter(range(5)), "verify", "trajectory")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr() == ("", "")


def test_a_person_sees_a_bar_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress(iter(range(5)), "verify", "task", total=5)) == [0, 1, 2, 3, 4]
    out, err = capsys.readouterr()
    assert out == ""
    assert "verify" in err
    assert "5" in err


def test_one_item_is_taken_at_a_time():
    taken = []

    def source():
        for item in range(5):
            taken.append(item)
            yield item

    items = progress(source(), "score", "trajectory")
    next(items)
    assert taken == [0]
