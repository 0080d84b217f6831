"""An agent's signal handler may raise an ordinary exception anywhere inside the guard, as soft limits on time do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interrupting import Alarm, limited
from loopguard_core.shim import LoopGuard
from loopguard_core.store import link
from loopguard_core.store.door import open_store
from sessions import store_in

#: calls after which the next ones are filed, in a transaction of their own
FILED = 30


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    with limited():
        yield


def check(guard: LoopGuard, place: str) -> None:
    """Others can write, what comes next is in the log, and the session ends in it."""
    with sqlite3.connect(place, timeout=0, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    other.close()
    decision = guard.before_call("read", {"n": "next"})
    guard.after_call(decision, "text")
    guard.close()
    store = open_store(place)
    events = store.read("s")
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert events[-1].type == "session_end"
    started = [e.text("call") for e in events if e.type == "call_start"]
    ended = {e.text("call"): e.text("outcome") for e in events if e.type == "call_end"}
    assert set(started) == set(ended)
    assert ended[decision.call] == "ok"
    assert [e for e in events if e.type == "gap"] == []
    assert store.requests(session="s", pending=True) == []
    store.close()


@pytest.mark.parametrize(("within", "apart"), [("session/live", 3), ("", 4), ("core/store/", 11)])
def test_wherever_it_comes_it_reaches_the_agent_and_nothing_stays_half_done(
    within: str, apart: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_LOOK", 0)  # each statement looks whether its file is still there
    nth = 0
    while True:
        nth += apart
        place = str(tmp_path / f"{nth}.db")
        guard = LoopGuard(session="s", store=place, say=lambda line: None)
        fetch = guard.tool(lambda n: f"text {n}", name="fetch")
        for n in range(FILED):
            fetch(n)
        try:
            with Alarm(nth, within) as alarm:
                fetch(FILED)
                fetch(FILED + 1)
        except TimeoutError:
            pass
        else:
            assert alarm.left > 0, "the agent's own exception is not kept from it"
        check(guard, place)
        if alarm.left > 0:
            break
    assert nth > 20


def test_a_transaction_that_is_nobody_s_keeps_nothing_out(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    place = str(tmp_path / "events.db")
    with LoopGuard(session="s", store=place, say=said.append) as guard:
        fetch = guard.tool(lambda n: f"text {n}", name="fetch")
        fetch(0)
        own: Any = guard.live._journal.store._link  # type: ignore[union-attr]
        own._sure_until = 0
        own._db.execute("BEGIN IMMEDIATE")  # as an exception may leave it
        own._cursor.execute("UPDATE event SET level = level")
        fetch(1)
        fetch(2)
    store = open_store(place)
    events = store.read("s")
    store.close()
    assert [e.text("call") for e in events if e.type == "call_end"] != []
    assert len([e for e in events if e.type == "call_start"]) == 3
    assert events[-1].type == "session_end"


def test_what_was_written_in_a_transaction_that_is_nobody_s_is_a_gap(tmp_path: Path) -> None:
    said: list[str] = []
    store = store_in(tmp_path)
    with LoopGuard(session="s", store=store, say=said.append) as guard:
        fetch = guard.tool(lambda n: f"text {n}", name="fetch")
        for n in range(8):
            fetch(n)
        own: Any = store._link  # type: ignore[attr-defined]
        own.owner = own._db.execute("BEGIN IMMEDIATE")
        fetch(8)
        own.owner = None  # and whoever began it is gone
        own._sure_until = 0
        fetch(9)
        fetch(10)
    events = store.read("s")
    gaps = [(e.data["count"], e.data["reason"]) for e in events if e.type == "gap"]
    assert gaps == [(2, "an exception had left a transaction open, which was taken back")]
    assert [e.data["args"]["n"] for e in events if e.type == "call_start"] == [*range(8), 9, 10]
    assert len([line for line in said if "left a transaction" in line]) == 1
    store.close()
