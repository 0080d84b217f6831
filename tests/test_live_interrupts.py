"""An interrupt (Ctrl-C) may come anywhere inside the guard: the agent gets it, and nothing stays half done."""

from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from loopguard_core.live import LiveSession
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import call, loop, session, store_in


class Interrupt:
    """Raises ``KeyboardInterrupt`` as the *nth* function of ours is entered, as a signal's handler does."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if "loopguard_core" in frame.f_code.co_filename:
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                raise KeyboardInterrupt

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


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
