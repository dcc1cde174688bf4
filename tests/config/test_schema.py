"""The questions asked of settings dataclasses, on a small schema worked out by hand."""

from dataclasses import dataclass, field

import pytest

from rmtrain.config.schema import (
    docs,
    first_undeclared,
    free_values,
    hints,
    in_words,
    optional_section,
    settings_of,
    type_of,
    unknown_setting,
)


@dataclass
class Inner:
    """A section."""

    epochs: int = 1
    """Passes over
    the data."""
    undocumented: str | None = None


@dataclass
class Root:
    """The whole."""

    inner: Inner = field(default_factory=Inner)
    """The section."""
    nam: dict[str, Inner] = field(default_factory=dict)
    """Sections under free names."""
    optional: Inner | None = None
    """A section that may be absent."""
    shares: list[float] = field(default_factory=list)
    """Numbers."""
    free: dict[str, str] = field(default_factory=dict)
    """Texts under free names."""


def test_every_setting_is_listed_with_its_dotted_key():
    assert [key for key, _ in settings_of(Root)] == [
        "inner",
        "inner.epochs",
        "inner.undocumented",
        "nam",
        "nam.*.epochs",
        "nam.*.undocumented",
        "optional",
        "optional.epochs",
        "optional.undocumented",
        "shares",
        "free",
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"inner": {"epochs": 1}, "free": {"anything": "goes"}, "nam": {"anything": {"epochs": 2}}}, None),
        ({"inner": {"epohcs": 1}}, "inner.epohcs"),
        ({"nam": {"ok": {"epochs": 1}, "bad": {"epohcs": 1}}}, "nam.bad.epohcs"),
        ({"optional": {"epohcs": 1}}, "optional.epohcs"),
        ({"optional": None, "iner": 1}, "iner"),
        ({"inner": None}, None),
    ],
)
def test_first_undeclared(raw, expected):
    assert first_undeclared(raw, Root) == expected


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (
            "inner.epohcs",
            "unknown setting 'inner.epohcs'. Known: inner.epochs, inner.undocumented. Did you mean 'inner.epochs'?",
        ),
        (
            "nam.a.epohc",
            "unknown setting 'nam.a.epohc'. Known: nam.a.epochs, nam.a.undocumented. Did you mean 'nam.a.epochs'?",
        ),
        (
            "epochs",
            "unknown setting 'epochs'. Known: free, inner, nam, optional, shares. Did you mean 'inner.epochs'?",
        ),
        ("zzz", "unknown setting 'zzz'. Known: free, inner, nam, optional, shares."),
        (
            "inner.epochs.more",
            "setting 'inner.epochs' is a whole number and has nothing below it, but 'inner.epochs.more' was given.",
        ),
        ("free.a.b", "setting 'free.a' is text and has nothing below it, but 'free.a.b' was given."),
    ],
)
def test_unknown_setting_names_the_likeliest_meant_one(key, sentence):
    assert unknown_setting(key, Root) == sentence


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("inner.epochs", "a whole number"),
        ("inner.undocumented", "text or null"),
        ("nam.any.epochs", "a whole number"),
        ("nam.any", "a group of settings"),
        ("optional", "a group of settings"),
        ("shares", "a list, each a number"),
        ("free", "a group of settings"),
        ("free.any", "text"),
    ],
)
def test_types_in_words(key, words):
    assert in_words(type_of(key, Root)) == words


@pytest.mark.parametrize(
    "key", ["inner.nothing", "inner.epochs.epochs", "free.any.more", "nam.any.nothing", "nothing.a"]
)
def test_type_of_an_undeclared_key_is_none(key):
    assert type_of(key, Root) is None


def test_the_values_of_a_mapping_with_free_names():
    declared = hints(Root)
    assert {name: free_values(hint) for name, hint in declared.items() if free_values(hint)} == {
        "nam": Inner,
        "free": str,
    }


@pytest.mark.parametrize(
    ("key", "section"),
    [("optional.epochs", "optional"), ("optional", "optional"), ("inner.epochs", None), ("nothing.epochs", None)],
)
def test_a_section_that_may_be_absent_is_found_on_the_way(key, section):
    assert optional_section(key, Root) == section


def test_docs_are_the_texts_under_the_fields():
    assert docs(Inner) == {"epochs": "Passes over\nthe data.", "undocumented": ""}
