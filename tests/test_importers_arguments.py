"""Arguments in a string: the quick parser gives what ``json`` gives, and text stays text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.importers.reading import arguments

ANY_TEXT = st.text(st.characters(codec=None))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def plainly(raw: str) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


@given(value=VALUES, ascii_only=st.booleans())
def test_what_json_wrote(value: object, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only)
    assert repr(arguments(raw)) == repr(plainly(raw))


@given(raw=st.text(st.sampled_from('{}[]":, \t\n01e.+-truefalsn\\ud8"')))
def test_what_may_be_no_json(raw: str) -> None:
    assert repr(arguments(raw)) == repr(plainly(raw))


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1,"a":2}',
        "1e400",
        "-0",
        "1" * 400,
        "[NaN]",
        '"\\ud800"',
        '{"a":1}x',
        "01",
        "[" * 9_000,
    ],
)
def test_what_parsers_differ_in(raw: str) -> None:
    assert repr(arguments(raw)) == repr(plainly(raw))
