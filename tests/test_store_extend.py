"""Many events at once leave the same rows as one after the other."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event
from loopguard_core.store import bulk
from loopguard_core.store.contract import Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.rows import to_json

TIERS = st.sampled_from(["allow", "warn", "block", "halt"])
VERDICT = st.none() | TIERS.map(lambda tier: {"tier": tier, "policy": "p"})
TEXT = st.sampled_from(["", "short", "x" * 3_000, "y" * 3_000, "\ud800 [bold]\0"])
ENTRY = st.tuples(
    st.sampled_from(
        ["call_start", "call_end", "user_message", "note", "session_start", "session_end"]
    ),
    st.sampled_from(["a", "b"]),
    st.integers(1, 4),
    VERDICT,
    TEXT,
)


def event(entry: tuple[str, str, int, dict[str, Any] | None, str]) -> Event:
    kind, session, number, verdict, text = entry
    data: dict[str, Any] = {"text": text}
    if kind == "call_start":
        data = {"call": f"c{number}", "tool": "t", "args": {"text": text}}
    elif kind == "call_end":
        data = {"call": f"c{number}", "outcome": "ok", "result": text}
    if verdict is not None:
        data["verdict"] = verdict
    return Event(kind, session, ts=float(number), data=data)


def rows(path: Path) -> list[Any]:
    with sqlite3.connect(path) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(event)") if row[1] != "large"]
        payload = "(SELECT text FROM payload WHERE id = large)"
        sql = f"SELECT {', '.join(names)}, {payload} FROM event ORDER BY id"
        sessions = db.execute("SELECT name FROM session ORDER BY id").fetchall()
        return [sessions, db.execute(sql).fetchall()]


@settings(deadline=None, max_examples=60)
@given(batches=st.lists(st.lists(ENTRY, max_size=8), max_size=4))
def test_extend_leaves_the_same_rows_as_append(
    tmp_path_factory: Any, batches: list[list[Any]]
) -> None:
    folder = tmp_path_factory.mktemp("extend")
    for name in ("one", "many"):
        (folder / name).mkdir()
    one = open_store(str(folder / "one" / "s.db"))
    many = open_store(str(folder / "many" / "s.db"))
    for batch in batches:
        appended = 0
        for entry in batch:
            try:
                one.append(event(entry))
                appended += 1
            except Taken:
                pass
        assert many.extend([event(entry) for entry in batch]) == appended
    one.close()
    many.close()
    assert rows(folder / "one" / "s.db") == rows(folder / "many" / "s.db")


def test_requests_among_them_are_kept_as_requests(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    events = [
        Event("call_start", "a", data={"call": "c", "tool": "t"}),
        Event("request_opened", "a", data={"request": "R5", "call": "c", "tier": "block"}),
        Event("request_resolved", "a", data={"request": "R5", "resolution": "denied"}),
    ]
    assert store.extend(events) == 3
    assert [(r.request, r.resolution) for r in store.requests()] == [("R5", "denied")]
    assert store.extend(events) == 0
    store.close()


@given(
    fields=st.dictionaries(
        st.sampled_from(["args", "result", "text"]), st.text() | st.floats() | st.integers()
    )
)
def test_the_quick_encoder_writes_what_the_other_does(fields: dict[str, Any]) -> None:
    assert bulk.encoder()(fields) == to_json(fields)


@given(
    text=st.text(st.characters(codec=None)) | st.text(st.sampled_from('\ud800\x7f\u2028\x00"\\/é'))
)
def test_the_quick_encoder_escapes_as_the_other_does(text: str) -> None:
    assert bulk.encoder()({"result": text}) == to_json({"result": text})
