"""An interrupt (Ctrl-C) may come anywhere inside the guard: the agent gets it, and nothing stays half done."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from interrupting import Interrupt
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import create
from loopguard_core.recording.replay import Recording
from loopguard_core.session import leaving
from loopguard_core.session.live import LiveSession
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import call, loop, session, store_in


def check(live: LiveSession, store: Store, calls: int) -> None:
    """All is as after any other call: others can write, threads go on, the log is whole."""
    with sqlite3.connect(store.place, timeout=0, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    other.close()
    thread = threading.Thread(target=call, args=(live, "elsewhere"), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    events = store.read(live.session)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    started = [e.text("call") for e in events if e.type == "call_start"]
    ended = [e.text("call") for e in events if e.type == "call_end"]
    assert started[-1] == ended[-1]
    assert len(started) >= calls + 1
    assert not live.guard.asked()
    assert store.requests(session=live.session, pending=True) == []
    assert live.guard.seq == len(events)


@pytest.mark.parametrize(
    ("before", "settings"), [(0, {}), (1, {}), (2, {}), (2, {"mode": "enforce"})]
)
def test_wherever_it_comes_while_a_call_is_judged(
    before: int, settings: dict[str, Any], tmp_path: Path
) -> None:
    store = store_in(tmp_path)
    nth = 0
    while True:
        nth += 1 if nth < 20 else 4
        said: list[str] = []
        live = session(store, f"s{nth}", said=said, **settings)
        live.turn("go")
        loop(live, before)
        judged = None
        try:
            with Interrupt(nth) as interrupt:
                judged = live.before("search", {"q": 1})
        except KeyboardInterrupt:
            assert not live.guard.open_calls(), "what was interrupted does not run"
        else:
            assert interrupt.left > 0, "the agent's own interrupt is not kept from it"
            live.after(judged, "r")
        check(live, store, before)
        assert not [line for line in said if "error" in line]
        if interrupt.left > 0:
            break
    assert nth > 20


def test_wherever_it_comes_while_a_result_is_recorded(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    nth = 0
    while True:
        nth += 3
        interrupt = Interrupt(nth)
        with LoopGuard("a", session=f"s{nth}", store=store, policy="graded") as guard:
            fetch = guard.tool(interrupt.__enter__, name="fetch")
            try:
                fetch()
            except KeyboardInterrupt:
                pass
            interrupt.__exit__()
            check(guard.live, store, 1)
            (end, *_) = [e for e in store.read(f"s{nth}") if e.type == "call_end"]
            assert end.text("outcome") in ("ok", "cancelled")
        if interrupt.left > 0:
            break
    assert nth > 20


def test_a_transaction_that_was_interrupted_keeps_nobody_out(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    link = store._link  # type: ignore[attr-defined]
    transaction = link.transaction()
    transaction.__enter__()  # and then the interrupt comes, before anything else
    store.recover()
    assert not link._db.in_transaction
    taken = threading.Thread(target=store.sessions, daemon=True)
    taken.start()
    taken.join(20)
    assert not taken.is_alive()


def settled(store: Store) -> list[tuple[str, str]]:
    """Each call of the session and how it ended; the session's end is the last event."""
    events = store.read("s")
    assert events[-1].type == "session_end"
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    ends = {e.text("call"): e.text("outcome") for e in events if e.type == "call_end"}
    started = [e.text("call") for e in events if e.type == "call_start"]
    assert len(ends) == sum(e.type == "call_end" for e in events)
    assert set(ends) == set(started)
    recording = Recording.of(events, Guard(create("graded")))
    assert all(recording.row(n).outcome == ends[call] for n, call in enumerate(started))
    return [(call, ends[call]) for call in started]


@pytest.mark.parametrize(("within", "apart"), [("core/shim.py", 1), ("session/live.py", 5)])
def test_wherever_it_comes_between_explicit_calls_the_end_of_the_session_settles_them(
    within: str, apart: int, tmp_path: Path
) -> None:
    nth = 0
    while True:
        nth += apart
        store = open_store(str(tmp_path / f"{nth}.db"))
        interrupt = Interrupt(nth, within)
        try:
            with LoopGuard(session="s", store=store, policy="graded") as guard:
                call_by_hand(guard)
                with interrupt:
                    call_by_hand(guard)
        except KeyboardInterrupt:
            pass
        outcomes = [outcome for _, outcome in settled(store)]
        store.close()
        assert outcomes[0] == "ok"
        assert set(outcomes[1:]) <= {"ok", "pending", "cancelled"}
        if interrupt.left > 0:
            assert outcomes == ["ok", "ok"]
            return


def call_by_hand(guard: LoopGuard) -> None:
    decision = guard.before_call("read", {"n": 1})
    guard.after_call(decision, "text")


def test_an_end_of_the_session_settles_every_call_that_was_never_ended(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    opened = [live.before("read", {"n": n}) for n in range(3)]
    live.after(opened[1], "text")
    live.end()
    assert [outcome for _, outcome in settled(store)] == ["pending", "ok", "pending"]
    assert live.after(opened[0], "too late") == ""  # the log says it never ended
    assert len(settled(store)) == 3


def test_no_call_of_another_thread_comes_between_the_last_end_and_the_session_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "events.db")
    live = LiveSession(Config({"store": place}), "s", say=lambda line: None)
    late = threading.Thread(target=live.before, args=("read", {"n": 1}), daemon=True)
    left = leaving._left

    def and_another_comes(*args: Any, **more: Any) -> bool:
        goes_on = left(*args, **more)
        late.start()
        late.join(0.2)  # it is either done or waits for its turn
        return goes_on

    monkeypatch.setattr(leaving, "_left", and_another_comes)
    live.before("read", {"n": 0})
    live.end()
    late.join(20)
    assert not late.is_alive()
    store = open_store(place)
    assert [outcome for _, outcome in settled(store)] == ["pending"]
    store.close()


def test_a_log_that_ends_with_an_open_call_shows_none_that_runs() -> None:
    start = Event("call_start", "s", data={"call": "c1", "tool": "read", "args": {}})
    end = Event("call_end", "s", data={"call": "c1", "outcome": "ok", "result": "r"})
    events = [start, Event("session_end", "s")]
    recording = Recording.of(events, Guard(create("graded")))
    assert recording.row(0).outcome == "pending"
    recording.append([end])  # it came after all
    assert recording.row(0).outcome == "ok"
