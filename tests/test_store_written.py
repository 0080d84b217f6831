"""What is written by a shorter way says the same as what is written by the general one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.events import Event, Written
from loopguard_core.identity import Digester, Payload, canonical
from loopguard_core.redact import Redactor
from loopguard_core.store import rows
from loopguard_core.verdict import TIERS, Tier, Verdict

PICKED = (
    ("", "plain " * 30, 'a "quoted"\\ line\n\t\x00\x7f', "\ud800", "é\u2028", "x" * 2_500),
    ("password=hunter2hunter2", "sk-abcdefghij0123456789"),
)
TEXT = st.text(st.characters(codec=None), max_size=20) | st.sampled_from(
    [text for texts in PICKED for text in texts]
)
NUMBER = st.integers() | st.floats() | st.booleans() | st.none()
VALUE = st.recursive(
    TEXT | NUMBER,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGS = st.dictionaries(TEXT, VALUE, max_size=4) | st.dictionaries(st.integers(), VALUE, max_size=2)
VERDICT = st.builds(
    Verdict,
    st.sampled_from(TIERS),
    TEXT,
    TEXT,
    st.integers(0, 9),
    st.integers(0, 9),
    st.lists(TEXT, max_size=3).map(tuple),
    st.sampled_from(["", "cycle"]),
    st.sampled_from(["", "again"]),
    st.booleans(),
    st.sampled_from(["", "another"]),
)
DIGESTER = Digester()
REDACTOR = Redactor(b"key")


@given(VERDICT)
def test_the_text_of_a_verdict_is_its_json(verdict: Verdict) -> None:
    text = verdict.to_text()
    if text:
        assert json.loads(text) == verdict.to_json()
    plain = verdict.tier is Tier.ALLOW and not (verdict.detector or verdict.reason)
    assert bool(text) == (plain and not verdict.ends_turn and not verdict.source)


@given(ARGS | VALUE, st.booleans())
def test_a_payload_is_spelled_as_the_general_writers_spell_it(value: Any, again: bool) -> None:
    digester = Digester(b"key")
    payload = Payload(value, digester)
    if again:
        payload = Payload(value, digester)
        payload = Payload(value, digester)
    assert payload.canonical == (value if isinstance(value, str) else canonical(value))
    assert payload.digest == digester.digest(payload.canonical)
    if payload.text:
        assert payload.text == rows.to_json(value) or not payload.text.isascii()
        assert json.loads(payload.text) == value


@given(st.dictionaries(TEXT, VALUE, max_size=4), st.dictionaries(TEXT, TEXT, max_size=2), st.data())
def test_an_object_like_another_has_the_digest_of_its_own(
    value: dict[str, Any], changed: dict[str, Any], data: st.DataObject
) -> None:
    payload = Payload(value, DIGESTER)
    gone = data.draw(st.sets(st.sampled_from(sorted(value)))) if value else set()
    other = {name: inner for name, inner in value.items() if name not in gone}
    other |= {name: inner for name, inner in changed.items() if name in value}
    assert payload.digest_like(other) == DIGESTER(canonical(other))


def told(row: rows.Row) -> dict[str, Any]:
    """What a row says, its JSON as values, which are written as text so that not-a-numbers compare."""
    said = {name: getattr(row, name) for name in ("call", "tool", "request", "tier", "mark")}
    for name in ("data", "payload"):
        text = getattr(row, name)
        assert text is None or text.encode()  # SQLite takes no lone surrogate
        said[name] = None if text is None else canonical(rows.from_text(text))
    return said


@given(
    kind=st.sampled_from(["call_start", "call_end"]),
    call=TEXT,
    tool=TEXT,
    value=ARGS | VALUE,
    verdict=VERDICT,
    more=st.dictionaries(
        st.sampled_from(["agent", "message", "traits", "foreign", "breakpoint", "text"]), TEXT
    ),
)
def test_a_written_event_gives_the_row_of_any_other(
    kind: str, call: str, tool: str, value: Any, verdict: Verdict, more: dict[str, Any]
) -> None:
    ids = {"exact": {"a": "d" * 24}}
    name = "args" if kind == "call_start" else "result"
    data = {"call": call, "tool": tool, name: value, "ids": ids, **more}
    if kind == "call_end":
        data["outcome"] = data.pop("tool")
    data["verdict"] = verdict.to_json()
    written = Written(kind, "s", 1.0, dict(data))
    written.verdict_text = verdict.to_text()
    if kind == "call_start":
        written.args_text = Payload(value, DIGESTER).text
    for redactor in (None, REDACTOR):
        for limit in (rows.LIMIT, 60):
            short = rows.pack(written, redactor, limit)
            # with an encoder of its own, the general way is taken
            general = rows.pack(
                Event(kind, "s", ts=1.0, data=dict(data)),
                redactor,
                limit,
                encode=lambda fields: rows.to_json(fields),
            )
            assert told(short) == told(general)
            assert (short.digest is None) == (general.digest is None)
            assert written.data == data
