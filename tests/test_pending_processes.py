"""What ``pending`` shows of agents that died or ended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_process import Agent
from commands import command
from loopguard_console.commands import pending as pending_command
from loopguard_core import escape, inbox
from loopguard_core.events import Event
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from sessions import pending


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.mark.parametrize("killed", [True, False])
def test_what_nobody_answered_leaves_the_inbox_with_an_agent_that_dies_or_ends(
    place: Path, killed: bool
) -> None:
    store = open_store(str(place))
    with Agent(place, unattended_wait_seconds=0) as agent:
        agent.search(3)
        (asked,) = escape.waiting(store)
        before = store.last("agent")
        if killed:
            agent.process.kill()
            agent.process.wait()
        else:
            agent.end()
        assert escape.waiting(store) == []
        assert command(place, "pending", "--json").objects == []
        assert store.last("agent") == before + (not killed), "nothing is written but its own end"
    with Agent(place, unattended_wait_seconds=0) as again:
        again.do(do="turn", text="go on")
        assert [r.request for r in escape.waiting(store)] == [asked.request], "it may ask again"
        again.end()
    assert escape.waiting(store) == []
    assert command(place, "approve", asked.request).code == 0, "by its id it may be approved"
    with Agent(place, unattended_wait_seconds=0) as last:
        assert last.search(1)[0]["ran"] == ["q"], "which holds for a session that goes on in time"


def test_what_an_agent_that_died_left_does_not_come_back_as_its_session_is_ended(
    place: Path,
) -> None:
    store = open_store(str(place))
    with Agent(place, unattended_wait_seconds=0) as agent:
        agent.search(3)
        agent.process.kill()
        agent.process.wait()
    assert "ended" in command(place, "doctor", "--mend").out
    known = store.session("agent")
    assert known is not None and known.ended
    assert escape.waiting(store) == []


@pytest.mark.parametrize(("then", "said"), [("refuse", "it is refused"), ("run", "it runs")])
def test_the_time_that_is_left_is_told_and_what_comes_then(
    place: Path, then: str, said: str
) -> None:
    store = open_store(str(place))
    with Agent(place, unattended_wait_seconds=3_599, unanswered={"block": then}) as agent:
        agent.search(2)
        agent.send(do="search", query="q")
        assert pending(store).request
        out = command(place, "pending").out
        assert re.search(rf"waits 59:\d\d more, then {said}  ", out), out


def test_who_may_only_read_sees_nothing_that_a_dead_agent_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(place))
    with Agent(place) as agent:
        agent.search(2)
        agent.send(do="search", query="q")
        request = pending(store).request
        monkeypatch.setattr(pending_command, "open_store", _read_only)
        assert [r["request"] for r in command(place, "pending", "--json").objects] == [request]
        agent.process.kill()
        agent.process.wait()
        assert command(place, "pending", "--json").objects == []
        assert command(place, "status").out == "", "nor does the status bar"
        assert [r.request for r in store.requests(pending=True)] == [request], "nothing is written"


def _read_only(*_: object, **__: object) -> Store:
    raise StoreError("it is read-only")


def test_a_process_is_looked_at_once_for_each_request_that_is_listed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(place))
    looked: list[int] = []

    def is_alive(pid: int, since: str = "") -> bool:
        looked.append(pid)
        return pid != 8

    monkeypatch.setattr(inbox, "alive", is_alive)
    for pid in (7, 8, 9):
        session = f"of {pid}"
        store.append(Event("session_start", session, data={"pid": pid, "host": ""}))
        data = {"call": "c", "tier": "block", "pid": pid}
        store.append(Event("request_opened", session, data=data))
    for dead in ([8], []):
        looked.clear()
        assert [r.pid for r in escape.waiting(store)] == [7, 9]
        assert sorted(looked) == [7, *dead, 9]
    resolved = [r.resolution for r in store.requests() if r.pid == 8]
    assert resolved == ["orphaned"]
