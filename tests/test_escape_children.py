"""A halt of a session and its children reaches a child that only begins after it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hooks import Host
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import create
from loopguard_core.recording.replay import Recording
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = store_in(tmp_path)
    made.append(Event("session_start", "above", ts=time.time(), data={"agent": "a"}))
    return made


def child(store: Store, name: str, parent: str = "above", **settings: Any) -> LoopGuard:
    return LoopGuard("a", session=name, parent=parent, store=store, policy="graded", **settings)


@pytest.mark.parametrize("mode", ["observe", "ask", "enforce"])
@pytest.mark.parametrize("scope", ["turn", "session"])
def test_it_is_stopped_as_if_it_had_been_there(store: Store, scope: str, mode: str) -> None:
    escape.halt(store, session="above", scope=scope, by="you@desk", note="enough")
    with child(store, "s", mode=mode) as guard, child(store, "deeper", "s", mode=mode) as deeper:
        for each in (guard, deeper):
            refused = each.before_call("read", {"q": 1})
            assert not refused.run and refused.ends_turn
            assert f"halted this {scope}. They say: enough." in refused.message
        known = store.session("s")
        assert known is not None
        assert (known.halted, known.halted_by) == (scope, "you@desk")
        assert set(escape.resume(store, "above").sessions) == {"above", "s", "deeper"}
        assert guard.before_call("read", {"q": 1}).run and deeper.before_call("read", {"q": 1}).run
    replayed = Recording.of(store.read("s"), Guard(create("graded")))
    assert [replayed.row(n).outcome for n in range(2)] == ["blocked", "pending"]


def test_a_halt_of_one_alone_or_one_that_is_over_reaches_nobody(store: Store) -> None:
    escape.halt(store, session="above", scope="session", children=False)
    with child(store, "one") as guard:
        assert guard.before_call("read", {"q": 1}).run
    assert escape.halt(store, session="above", scope="session").sessions == ["above", "one"]
    with child(store, "two") as guard:
        assert not guard.before_call("read", {"q": 1}).run, "now its children, too"
    escape.resume(store, "above")
    with child(store, "three") as guard, child(store, "four", "nobody knows it") as other:
        assert guard.before_call("read", {"q": 1}).run and other.before_call("read", {"q": 1}).run


def test_a_turn_that_is_over_halts_no_child_of_the_next_one(store: Store) -> None:
    escape.halt(store, session="above")
    store.append(Event("user_message", "above", ts=time.time(), data={"text": "go on"}))
    with child(store, "s") as guard:
        assert guard.before_call("read", {"q": 1}).run


def test_a_subagent_of_hooks_that_makes_its_first_call_later(tmp_path: Path) -> None:
    host = Host(tmp_path, config='policy = "graded"\n')
    host.before("ls")
    store = open_store(str(host.store))
    escape.halt(store, session="s1", scope="session")
    sub: dict[str, Any] = {"agent_id": "sub", "agent_type": "Explore"}
    said = host.before("ls", **sub)
    assert "halted this session" in said.denied
    escape.resume(store, "s1")
    assert not host.before("ls", **sub).denied
    store.close()
