"""A human changes arguments in which secrets stand as markers: the agent gets the secrets as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.redaction.redact import MARK, Redactor
from loopguard_core.restoring import Unknown, restore
from loopguard_core.store.rows import to_json

KEY = b"k"
MARKER = f"{MARK}1a32789bf550]"


def stored(value: object) -> Any:
    """*value* as the log has it."""
    return json.loads(Redactor(KEY)(to_json({"args": value})))["args"]


@pytest.mark.parametrize(
    "args",
    [
        {"password": ["a1", "b2"], "n": 1},
        {"headers": {"Set-Cookie": ["sid=abc1", "b=2"]}},
        ["--token", "abc1"],
        {"name": "password", "value": "hunter2"},
        {"password": "h\u00fcnter2"},
        {"password": 12345678},
        {"password": 12345678, "pwd": "12345678 and more"},
        {"s": json.dumps({"password": 'a"b\nc', "t": json.dumps({"token": 'x"y\\'})})},
        {"pem": "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"},
    ],
)
def test_what_stood_there_comes_back(args: object) -> None:
    shown = stored(args)
    assert shown != args
    assert restore(shown, args, KEY, None) == args


def test_what_was_known_as_a_secret_from_earlier_comes_back() -> None:
    redactor = Redactor(KEY)
    redactor(to_json({"password": "hunter2hunter"}))
    args = {"q": "user=usr&p=hunter2hunter;\nhunter2hunter", "n": ["x/y-z", 1]}
    shown = json.loads(redactor(to_json(args)))
    assert shown["q"].count(MARK) == 2
    assert restore({**shown, "n": 2}, args, KEY, None) == {**args, "n": 2}


def test_a_marker_of_something_else_is_no_value() -> None:
    with pytest.raises(Unknown):
        restore({"password": MARKER}, {"password": "hunter2"}, KEY, None)


@settings(max_examples=300, deadline=None)
@given(
    st.text("ab\"\\\n' ,:1\u00e9", min_size=3, max_size=12),
    st.integers(0, 3),
    st.sampled_from(["field", "list", "members"]),
)
def test_a_secret_goes_whole_however_deep_it_is_quoted(secret: str, depth: int, how: str) -> None:
    value: Any = {
        "field": {"password": secret},
        "list": {"password": [secret, 'x"2']},
        "members": {"name": "password", "value": secret},
    }[how]
    for _ in range(depth):
        value = {"s": json.dumps(value)}
    shown = stored(value)
    assert restore(shown, value, KEY, None) == value
    while "s" in shown:
        shown = json.loads(shown["s"])
    found = shown.get("password", shown.get("value"))
    for each in found if isinstance(found, list) else [found]:
        assert each.startswith(MARK) and len(each) == len(MARKER)
