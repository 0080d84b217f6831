"""What goes out comes back, what is old goes, and what is large is kept once."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event
from loopguard_core.identity import Digester
from loopguard_core.importers.door import open_stream
from loopguard_core.importers.storing import StoreWriter
from loopguard_core.processes import started
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.export import export, export_lines
from loopguard_core.store.prune import DAY, carry_out, plan

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(blacklist_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
digests = st.text("0123456789abcdef", min_size=24, max_size=24)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """A session as an agent and a human write it."""
    events = [Event("session_start", data={"agent": "a", "cwd": draw(st.text())})]
    for n in range(draw(st.integers(0, 6))):
        ids = {
            "exact": {"a": draw(digests)},
            "theirs": draw(st.dictionaries(st.text(), json_values)),
        }
        verdict = {"tier": draw(st.sampled_from(["allow", "warn", "block"])), "policy": "p"}
        call = {"call": f"c{n}", "tool": draw(st.text()), "message": f"m{n}", "ids": ids}
        args = draw(json_values | st.just("x" * 5_000))
        events.append(Event("call_start", data={**call, "args": args, "verdict": verdict}))
        if draw(st.booleans()):
            request = {"request": f"R{n + 1}", "call": f"c{n}", "tier": "block"}
            events.append(Event("request_opened", data=request))
            answer = {"request": f"R{n + 1}", "resolution": "denied", "note": draw(st.text())}
            events.append(Event("request_resolved", data=answer))
        end = {"call": f"c{n}", "outcome": "ok", "result": draw(json_values), "theirs": "kept"}
        ran = {**end, "ids": {"exact": {"r": draw(digests)}}}
        refused = {"call": f"c{n}", "outcome": "blocked", "result": "it was not run"}
        given_up = {"call": f"c{n}", "outcome": "cancelled", "result": None}
        left_open = {"call": f"c{n}", "outcome": "pending", "result": None}
        ends = st.sampled_from([ran, refused, given_up, left_open])
        events.append(Event("call_end", data=draw(ends)))
        events.append(Event(draw(st.sampled_from(["user_message", "note"])), data={"text": "t"}))
    for event in events:
        event.session = "s"
        event.ts = draw(st.none() | st.floats(0, 2e9))
    return events


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(logs())
def test_export_and_import_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event]
) -> None:
    folder = tmp_path_factory.mktemp("x")
    first, second = (open_store(str(folder / name)) for name in ("one.db", "two.db"))
    for event in log:
        event.seq = first.append(event)
    assert first.read("s") == log or any(e.data.get("redacted") for e in first.read("s"))
    file = folder / "events.jsonl"
    file.write_text("".join(export_lines(first)), encoding="utf-8")
    for _ in range(2):  # a second import adds nothing
        with open_stream(file) as stream:
            StoreWriter(second, Digester(b"another key")).add_all(stream)
    assert list(export(second)) == list(export(first))
    first.close()
    second.close()


def test_a_call_that_stayed_open_survives_export_and_import(tmp_path: Path) -> None:
    with LoopGuard(session="s", store=tmp_path / "one.db") as guard:
        guard.before_call("build", {})
        guard.before_call("build", {"again": True})
    first, second = (open_store(str(tmp_path / name)) for name in ("one.db", "two.db"))
    file = tmp_path / "events.jsonl"
    file.write_text("".join(export_lines(first)), encoding="utf-8")
    for _ in range(2):
        with open_stream(file) as stream:
            StoreWriter(second, Digester(b"another key")).add_all(stream)
    assert [e.data["outcome"] for e in second.read("s") if e.type == "call_end"] == ["pending"] * 2
    assert list(export(second)) == list(export(first))
    first.close()
    second.close()


def test_a_long_session_is_exported_whole(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    long = [Event("note", "s", ts=float(n), data={"text": str(n)}) for n in range(1_201)]
    assert store.extend(long) == len(long)
    assert list(export(store)) == store.read("s")
    assert [e.text("text") for e in export(store)] == [str(n) for n in range(len(long))]


def test_a_session_that_is_not_there_cannot_be_exported(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    assert list(export(store)) == []
    with pytest.raises(StoreError, match="no session 'x'"):
        list(export(store, ["x"]))


NOW = 1_000 * DAY


def fill(store: Store) -> None:
    """Five ended sessions, one a day, each of about 100 kB; the oldest first."""
    for n in range(5):
        name, ts = f"s{n}", NOW - (10 - n) * DAY
        store.append(Event("session_start", name, ts=ts, data={"host": "h"}))
        for i in range(60):
            store.append(Event("note", name, ts=ts, data={"text": f"{n} {i} " + "x" * 1_700}))
        store.append(Event("session_end", name, ts=ts))


def test_sessions_go_by_age_with_a_report(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    made = plan(store, NOW, days=8)
    assert [g.session.session for g in made.going] == ["s0", "s1"]
    assert made.events == 124
    assert 200_000 < made.size < 300_000
    assert all("older than 8 days" in g.reason for g in made.going)
    assert len(store.sessions()) == 5  # a plan takes nothing away
    assert [g.session.session for g in carry_out(store, made)] == ["s0", "s1"]
    assert {s.session for s in store.sessions()} == {"s2", "s3", "s4"}


def test_the_oldest_go_until_the_store_is_small_enough(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    before = store.size()
    made = plan(store, NOW, megabytes=before / 1e6 - 0.15)
    assert [g.session.session for g in made.going] == ["s0", "s1"]
    for _ in carry_out(store, made):
        pass
    assert store.size() <= before - 150_000
    assert plan(store, NOW, megabytes=before / 1e6).going == []


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    me = {"pid": os.getpid(), "pid_started": started(os.getpid()), "host": "h"}
    store.append(Event("session_start", "alive", ts=NOW - 9 * DAY, data=me))
    store.append(Event("session_start", "dead", ts=NOW - 9 * DAY, data={**me, "pid_started": "0"}))
    store.append(Event("call_start", "asks", ts=NOW - 9 * DAY, data={"call": "c", "tool": "t"}))
    data = {"call": "c", "tier": "block"}
    store.append(Event("request_opened", "asks", ts=NOW - 9 * DAY, data=data))
    store.append(Event("assistant_text", "now", ts=NOW - 60, data={"text": "done"}))
    made = plan(store, NOW, days=0, megabytes=0, host="h")
    assert {s.session for s in made.in_use} == {"alive", "asks", "now"}
    assert {g.session.session for g in made.going} == {"s0", "s1", "s2", "s3", "s4", "dead"}
    small = plan(store, NOW, megabytes=0, host="h")
    assert {s.session for s in small.in_use} == {"alive", "asks", "now"}
    assert {g.session.session for g in small.going} == {"s0", "s1", "s2", "s3", "s4", "dead"}


def test_a_transcript_without_times_goes_as_the_oldest(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    store.append(Event("call_start", "timeless", data={"call": "c", "tool": "t"}))
    made = plan(store, NOW, days=9.5, host="h")
    assert [g.session.session for g in made.going] == ["timeless", "s0"]
    assert made.in_use == []


def test_a_session_whose_time_lies_ahead_goes_as_one_without_a_time(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    me = {"pid": os.getpid(), "pid_started": started(os.getpid()), "host": "h"}
    for name, data in (("ahead", {"host": "h"}), ("alive", me), ("elsewhere", {"host": "other"})):
        store.append(Event("session_start", name, ts=NOW + 400 * DAY, data=data))
    made = plan(store, NOW, days=9.5, host="h")
    assert [g.session.session for g in made.going] == ["ahead", "s0"]
    assert made.going[0].reason == "its time lies ahead"
    assert [s.session for s in made.in_use] == ["alive"]
    assert "ahead" in {g.session.session for g in plan(store, NOW, megabytes=0, host="h").going}


def test_a_clock_that_went_far_back_makes_no_session_go(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    fill(store)
    made = plan(store, NOW - 4_000 * DAY, days=1, megabytes=0, host="h")
    assert made.going == []


def test_ten_thousand_identical_results_are_stored_once(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    result = "the same page again " * 5_000
    for i in range(500):
        end = {"call": f"c{i}", "outcome": "ok", "result": result}
        store.append(Event("call_end", "s", ts=1.0, data=end))
    store.close()
    assert place.stat().st_size < 100_000 + 8_000_000 * 500 / 10_000
    assert open_store(str(place)).read("s")[-1].data["result"] == result
    with sqlite3.connect(place) as db:
        assert db.execute("SELECT count(*) FROM payload").fetchone() == (1,)


def test_a_person_reads_the_store_with_sqlite(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    fill(store)
    data = {"call": "c", "tool": "search", "args": {"q": "é"}}
    verdict = {"tier": "block", "policy": "p", "count": 5, "reason": "repeated"}
    store.append(Event("call_start", "s9", ts=NOW, data={**data, "verdict": verdict}))
    store.append(Event("request_opened", "s9", ts=NOW, data={"call": "c", "tier": "block"}))
    end = {"call": "c", "outcome": "blocked", "result": "y" * 9_000}
    store.append(Event("call_end", "s9", ts=NOW, data=end))
    db = sqlite3.connect(place)
    db.row_factory = sqlite3.Row
    (call,) = db.execute("SELECT * FROM calls").fetchall()
    shown = {k: call[k] for k in ("session", "number", "tool", "args", "outcome", "tier", "count")}
    assert shown == {
        "session": "s9", "number": 1, "tool": "search", "args": '{"q":"é"}', "outcome": "blocked",
        "tier": "block", "count": 5,
    }  # fmt: skip
    assert call["reason"] == "repeated" and call["result"] == "y" * 160 + "…"
    (full,) = db.execute("SELECT args, result FROM payloads").fetchall()
    assert tuple(full) == ('{"q":"é"}', "y" * 9_000)
    types = db.execute(
        "SELECT seq, type, call, request FROM events WHERE session = 's9'"
    ).fetchall()
    assert [tuple(row) for row in types] == [
        (1, "call_start", "c", None),
        (2, "request_opened", None, "R1"),
        (3, "call_end", "c", None),
    ]
    names = [tuple(row) for row in db.execute("SELECT session, ended, waiting FROM sessions")]
    assert names == [(f"s{n}", 1, 0) for n in range(5)] + [("s9", 0, 1)]
    (request,) = db.execute("SELECT request, session, tool, resolution FROM requests").fetchall()
    assert tuple(request) == ("R1", "s9", "search", "pending")
