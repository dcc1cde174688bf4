"""Errors that a user can mend share one base, and a name that is not known meets its nearest neighbour."""

import pytest

from rmtrain.errors import (
    ConfigError,
    DataError,
    MissingExtraError,
    ModelError,
    RmtrainError,
    StudioError,
    first_line,
    unknown,
)


@pytest.mark.parametrize("kind", [ConfigError, DataError, StudioError, ModelError, MissingExtraError])
def test_all_have_the_base_that_the_command_prints(kind):
    assert issubclass(kind, RmtrainError)


@pytest.mark.parametrize(("said", "line"), [("\n a b\nc", "a b"), ("", "ValueError")])
def test_the_first_line_of_what_an_error_says(said, line):
    assert first_line(ValueError(said)) == line


def test_a_missing_extra_gives_its_pip_line():
    with pytest.raises(RmtrainError, match=r"^'trl' is not installed\. It comes with: pip install 'rmtrain\[rl\]'$"):
        raise MissingExtraError("trl", "rl")


@pytest.mark.parametrize(
    ("received", "known", "sentence"),
    [
        ("lokup", ["promise", "lookup"], "unknown family 'lokup'. Known: lookup, promise. Did you mean 'lookup'?"),
        ("zzz", ["promise", "lookup"], "unknown family 'zzz'. Known: lookup, promise."),
        (None, [], "unknown family 'None'. Known: none."),
    ],
)
def test_an_unknown_name(received, known, sentence):
    assert unknown("family", received, known) == sentence
