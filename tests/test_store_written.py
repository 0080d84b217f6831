"""What is written by a shorter way says the same as what is written by the general one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.events import Event, Judged
from loopguard_core.identity import Digester, Payload, canonical
from loopguard_core.redaction.redact import Redactor
from loopguard_core.store import rows
from loopguard_core.store.contract import Taken
from loopguard_core.store.sqlite import SqliteStore
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
    whole = not verdict.ends_turn and not verdict.source and verdict.signature
    assert bool(text) == bool(plain and whole)


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
    name=TEXT,
    value=ARGS | VALUE,
    verdict=VERDICT,
    more=st.dictionaries(
        st.sampled_from(["agent", "traits", "foreign", "breakpoint", "text"]), TEXT, max_size=1
    ),
)
def test_a_judged_event_gives_the_row_of_any_other(
    kind: str, call: str, name: str, value: Any, verdict: Verdict, more: dict[str, Any]
) -> None:
    judged = judged_event(kind, call, name, value, verdict)
    judged.data.update(more)
    event = Event(kind, "s", ts=1.0, data=judged.fields())
    for redactor in (None, REDACTOR):
        for limit in (rows.LIMIT, 60):
            general = rows.pack(event, redactor, limit)
            texts = rows.usual(judged, redactor, limit)
            short = None if texts is None else rows.of_usual(judged, texts)
            assert told(rows.pack(judged, redactor, limit)) == told(general)
            if short is not None:
                assert told(short) == told(general)
                assert (short.digest is None) == (general.digest is None)


@given(st.dictionaries(st.sampled_from(["s", "f", "x"]), VALUE, max_size=3))
def test_a_record_of_any_values_is_written_as_it_is(record: dict[str, Any]) -> None:
    judged = judged_event("call_start", "c1", "search", {}, Verdict(Tier.ALLOW, "p", "search:d", 1))
    judged.data["ids"] = {"exact": {"a": "d" * 24}, "progress-1": record}
    texts = rows.usual(judged, None, rows.LIMIT)
    general = rows.pack(Event("call_start", "s", ts=1.0, data=judged.fields()), None)
    if texts is not None:
        assert general.data is not None
        assert canonical(rows.from_text(texts[0])) == canonical(rows.from_text(general.data))


def test_an_ordinary_call_is_written_the_short_way() -> None:
    verdict = Verdict(Tier.ALLOW, "progress", "search:d", 1)
    for kind, value in (("call_start", {"q": "ü"}), ("call_end", "found"), ("call_end", ["a", 1])):
        judged = judged_event(kind, "c1", "search", value, verdict)
        texts = rows.usual(judged, REDACTOR, rows.LIMIT)
        assert texts is not None
        assert rows.of_usual(judged, texts) is not None


def judged_event(kind: str, call: str, name: str, value: Any, verdict: Verdict) -> Judged:
    """An event as a session makes it, of a call with any names and payload."""
    ids = {"exact": {"a": "d" * 24}}
    if kind == "call_start":
        data = {"call": call, "tool": name, "args": value, "message": name, "ids": ids}
    else:
        data = {"call": call, "outcome": "ok", "result": value, "duration": 0.25, "ids": ids}
    judged = Judged(kind, "s", 1.0, data)
    if kind == "call_start":
        judged.args_text = Payload(value, DIGESTER).text
    judged.verdict = verdict
    return judged


STEP = st.tuples(
    st.sampled_from(["start", "start", "end", "end", "turn"]),
    st.sampled_from(["a", "b", "c", "é"]),
    st.sampled_from(["plain", "x" * 2_500, "password=hunter2hunter2", "ü"]),
    st.sampled_from([Tier.ALLOW, Tier.ALLOW, Tier.ALLOW, Tier.WARN, Tier.HALT]),
)


@given(st.lists(STEP, max_size=25))
def test_judged_events_leave_the_file_that_others_do(
    steps: list[tuple[str, str, str, Tier]],
) -> None:
    with TemporaryDirectory() as folder:
        short, general = (SqliteStore(f"{folder}/{n}.db", redactor=REDACTOR) for n in "sg")
        for step, call, text, tier in steps:
            if step == "turn":
                event = Event("user_message", "s", ts=1.0, data={"text": text})
            else:
                verdict = Verdict(tier, "p", "t:1", 1)
                event = judged_event(f"call_{step}", call, "t", text, verdict)
            plain = Event(event.type, "s", ts=1.0, data=event.fields())
            assert appended(short, event) == appended(general, plain)
        short.close()
        general.close()
        assert dumped(f"{folder}/s.db") == dumped(f"{folder}/g.db")


def appended(store: SqliteStore, event: Event) -> object:
    """Append *event* after the last one; its number, or why not."""
    try:
        return store.append(event, expect=store.last("s"))
    except Taken as error:
        return f"taken {error.args}"


def dumped(path: str) -> list[Any]:
    """All rows, those of the log with the values of their JSON: a number may be spelled in more than one way."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        log = [dict(row) for row in db.execute("SELECT * FROM event")]
        for row in log:
            row["data"] = rows.from_text(row["data"] or "{}")
        filed = [[*row] for row in db.execute("SELECT * FROM called")]
        return [log, filed, [[*row] for row in db.execute("SELECT * FROM payload")]]
