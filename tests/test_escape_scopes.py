"""The model is told how far a human's halt reaches: this turn, or this session."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from sessions import call, loop, meanwhile, pending, session, store_in

SCOPES = ("turn", "session")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def says(message: str, scope: str) -> bool:
    (other,) = {"turn", "session"} - {scope}
    return f"a human halted this {scope}." in message.lower() and f"this {other}" not in message


@pytest.mark.parametrize("scope", SCOPES)
def test_of_a_call_that_waited(store: Store, tmp_path: Path, scope: str) -> None:
    desk = store_in(tmp_path)
    with session(store, unattended_wait_seconds=60) as live:
        loop(live, 2)
        with meanwhile(lambda: escape.halt(desk, request=pending(desk).request, scope=scope)):
            decision = call(live)
        assert not decision.run and decision.ends_turn
        assert says(decision.message, scope)


@pytest.mark.parametrize("mode", ["observe", "ask", "enforce"])
@pytest.mark.parametrize("scope", SCOPES)
def test_of_each_call_after_it_and_of_the_result_that_is_kept(
    store: Store, scope: str, mode: str
) -> None:
    with session(store, mode=mode) as live:
        escape.halt(store, session="s", scope=scope, note="enough")
        for tool in ("read", "search"):
            decision = call(live, tool)
            assert not decision.run
            assert says(decision.message, scope) and "They say: enough." in decision.message
    results = [e.text("result") for e in store.read("s") if e.type == "call_end"]
    assert len(results) == 2 and all(says(result, scope) for result in results)


def test_of_a_session_after_a_message_and_in_another_process(store: Store) -> None:
    with session(store) as live:
        escape.halt(store, session="s", scope="session")
        escape.halt(store, session="s", scope="turn")
        live.turn("go on")
        assert says(call(live).message, "session")
    with session(store) as again:
        assert says(call(again).message, "session")


def test_of_a_session_below_the_one_that_was_halted(store: Store) -> None:
    store.append(Event("session_start", "above", ts=time.time(), data={"pid": os.getpid()}))
    store.append(Event("session_start", "s", ts=time.time(), data={"parent": "above"}))
    escape.halt(store, session="above", scope="session")
    with session(store) as live:
        assert says(call(live).message, "session")
