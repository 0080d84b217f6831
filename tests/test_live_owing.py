"""A store that fails while a call waits: once it is back, the log says how that call ended."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from faulty import Faulty
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from sessions import call, loop, meanwhile, pending, session, store_in


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed store is tried again at once, and not waited for."""
    monkeypatch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("loopguard_core.session.journal._LONGEST_PAUSE", 0.0)
    monkeypatch.setattr("loopguard_core.session.waiting._BLIND", 0.05)
    monkeypatch.setattr("loopguard_core.session.waiting._LOOK", 0.02)


def given_up(real: Store, said: list[str] | None = None) -> tuple[LiveSession, Faulty]:
    """R1 waits, the store fails, and the agent goes on without an answer."""
    store = Faulty(real)
    live = session(store, unattended_wait_seconds=60, said=said)
    loop(live, 2)

    def fail() -> None:
        pending(store)
        store.broken = True

    with meanwhile(fail):
        assert not call(live).run
    return live, store


def of_the_call(events: list[Event], request: str = "R1") -> list[tuple[str, str]]:
    """What the log says of the call of *request*, from its request on."""
    (asked,) = (e for e in events if e.type == "request_opened" and e.text("request") == request)
    return [
        (e.type, e.text("resolution") or e.text("outcome"))
        for e in events
        if e.text("call") == asked.text("call") and e.seq > asked.seq
    ]


EXPIRED = [("request_resolved", "expired"), ("call_end", "blocked")]


@pytest.mark.parametrize("missed", [0, 2])
def test_a_request_that_was_given_up_meanwhile_is_expired_once_the_store_is_back(
    tmp_path: Path, missed: int
) -> None:
    real = store_in(tmp_path)
    said: list[str] = []
    live, store = given_up(real, said)
    for n in range(missed):
        call(live, args={"n": n})
    gone_on = time.time()
    store.broken = False
    assert call(live, args={"q": "another"}).run
    events = real.read("s")
    assert of_the_call(events) == EXPIRED
    (ended,) = (e for e in events if e.text("resolution") == "expired")
    assert ended.ts is not None and ended.ts <= gone_on
    assert real.requests(pending=True) == []
    assert [e.data["count"] for e in events if e.type == "gap"] == ([2 * missed] if missed else [])
    assert sum("missing" in line for line in said) == bool(missed)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))


def test_what_is_owed_is_written_before_the_next_request(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    store.broken = False
    live.turn("try again")
    loop(live, 2)
    with meanwhile(lambda: escape.approve(real, pending(real).request)):
        assert call(live).run
    assert [(r.request, r.resolution) for r in real.requests()] == [
        ("R1", "expired"),
        ("R2", "approved"),
    ]


def test_a_late_approval_of_it_lets_one_call_through(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    store.broken = False
    call(live, args={"q": "another"})
    assert escape.approve(real, "R1").late


def test_an_approval_that_came_when_the_agent_had_given_up_holds_for_the_next_such_call(
    tmp_path: Path,
) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    escape.approve(real, "R1", by="you@desk", note="go on")
    store.broken = False
    assert call(live).run
    events = real.read("s")
    assert of_the_call(events) == [("request_resolved", "approved"), ("call_end", "blocked")]
    (grant,) = (e for e in events if e.type == "grant")
    assert (grant.text("request"), grant.text("by"), grant.text("note")) == (
        "R1",
        "you@desk",
        "go on",
    )
    assert [e for e in events if e.type == "gap"] == []
    assert not live.before("search", {"q": 1}, wait_limit=0.0).run


@pytest.mark.parametrize(
    ("decide", "resolution"),
    [
        (lambda store: escape.deny(store, "R1", note="no"), "denied"),
        (lambda store: escape.modify(store, "R1", {"q": 2}), "modified"),
        (lambda store: escape.halt(store, session="s"), "halted"),
    ],
)
def test_another_answer_stands_and_lets_nothing_through(
    tmp_path: Path, decide: Callable[[Store], object], resolution: str
) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    decide(real)
    store.broken = False
    assert not live.before("search", {"q": 1}, wait_limit=0.0).run
    events = real.read("s")
    assert of_the_call(events) == [("request_resolved", resolution), ("call_end", "blocked")]
    assert [e for e in events if e.type == "grant"] == []


def test_a_session_that_ends_says_what_it_owes(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    store.broken = False
    live.end()
    events = real.read("s")
    assert of_the_call(events) == EXPIRED
    assert events[-1].type == "session_end"


def test_a_store_that_another_process_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.5)
    monkeypatch.setattr("loopguard_core.session.journal._LONGEST_PAUSE", 0.5)
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=0.3)
    loop(live, 2)
    with closing(
        sqlite3.connect(tmp_path / "events.db", isolation_level=None, check_same_thread=False)
    ) as other:

        def lock() -> None:
            pending(store)
            other.execute("BEGIN IMMEDIATE")

        with meanwhile(lock):
            assert not call(live).run
        assert [r.request for r in store.requests(pending=True)] == ["R1"]
        other.execute("ROLLBACK")
    live.end()  # tries it at once
    assert of_the_call(store.read("s")) == EXPIRED


def test_a_store_that_was_deleted_owes_the_new_one_nothing(tmp_path: Path) -> None:
    real = store_in(tmp_path)
    live, store = given_up(real)
    for path in tmp_path.glob("events.db*"):
        path.unlink()
    store.broken = False
    call(live, args={"q": "another"})
    assert real.requests() == []
    events = real.read("s")
    # a start, six events of three calls, a request and its end; the new store has its own start and gap
    assert [e.data["count"] for e in events if e.type == "gap"] == [1 + 6 + 2]


@pytest.mark.parametrize("mode", ["ask", "enforce"])
def test_of_what_was_asked_while_nothing_could_be_written_the_log_says_nothing(
    tmp_path: Path, mode: str
) -> None:
    real = store_in(tmp_path)
    store = Faulty(real)
    with session(store, mode=mode) as live:
        loop(live, 2)
        store.broken = True
        assert not any(decision.run for decision in loop(live, 2))
        store.broken = False
        call(live, "read")
    events = real.read("s")
    assert [e for e in events if e.type.startswith("request_") and not e.text("request")] == []
