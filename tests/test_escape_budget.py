"""An override for so many calls lets no more of those run that wait, however many see it at once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from asking import ask
from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from sessions import call, loop, session, store_in

SETTINGS: dict[str, Any] = {
    "policy": "graded",
    "unattended_wait_seconds": 600,
    "policies": {"graded": {"count": "cumulative_in_task"}},
}


def process(store: Store) -> LiveSession:
    """Another process of the session, as each hook is."""
    return LiveSession(Config(SETTINGS), "s", store=store, attach=True, say=lambda line: None)


def waits(desk: Store, count: int) -> list[str]:
    until = time.monotonic() + 20
    while len(found := desk.requests(pending=True)) != count:
        assert time.monotonic() < until
        time.sleep(0.005)
    return [request.request for request in found]


def test_two_processes_that_see_it_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = store_in(tmp_path)
    first = session(store_in(tmp_path), **SETTINGS)
    loop(first, 2)
    about_to, written = threading.Event(), threading.Event()
    one, other = store_in(tmp_path), store_in(tmp_path)
    append_one, append_other = one.append, other.append

    def late(event: Event, expect: int | None = None) -> int:
        """It has judged, and writes once the other has written."""
        if event.type == "request_resolved" and not about_to.is_set():
            about_to.set()
            assert written.wait(20)
        return append_one(event, expect=expect)

    def soon(event: Event, expect: int | None = None) -> int:
        if event.type != "request_resolved":
            return append_other(event, expect=expect)
        assert about_to.wait(20)
        seq = append_other(event, expect=expect)
        written.set()
        return seq

    monkeypatch.setattr(one, "append", late)
    monkeypatch.setattr(other, "append", soon)
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(call, process(store)) for store in (one, other)]
        waits(desk, 2)
        grant = {"grant": "G1", "scope": "session", "budget": 1}
        desk.append(Event("grant", "s", ts=time.time(), data=grant))
        assert calls[1].result(30).run
        waits(desk, 1)
        assert not calls[0].done()
        escape.cancel(desk, "s")
        assert not calls[0].result(30).run


@pytest.mark.parametrize("budget", [1, 2])
def test_many_that_wait(tmp_path: Path, budget: int) -> None:
    desk = store_in(tmp_path)
    first = session(store_in(tmp_path), **SETTINGS)
    loop(first, 2)
    with ThreadPoolExecutor(5) as threads:
        calls = [threads.submit(call, process(store_in(tmp_path))) for _ in range(5)]
        asked = waits(desk, 5)
        done = escape.override(desk, request=asked[0], calls=budget)
        assert len(waits(desk, 5 - budget)) == 5 - budget
        assert len(done.covered) <= budget
        escape.cancel(desk, "s")
        assert sum(each.result(30).run for each in calls) == budget
    spent = [e for e in desk.read("s") if e.text("grant") == done.grant and e.type != "grant"]
    assert len(spent) == budget


def test_an_agent_that_spends_it_before_the_desk_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, agent = store_in(tmp_path), store_in(tmp_path)
    first, second = ask(desk), ask(desk)
    append = desk.append

    def beaten(event: Event, expect: int | None = None) -> int:
        if event.type == "request_resolved":
            monkeypatch.undo()
            (grant,) = (e for e in agent.read("s") if e.type == "grant")
            said = {"request": second, "resolution": "approved", "by": "you@desk"}
            said["grant"] = grant.text("grant")
            agent.append(Event("request_resolved", "s", ts=time.time(), data=said))
        return append(event, expect=expect)

    monkeypatch.setattr(desk, "append", beaten)
    done = escape.override(desk, request=first, calls=1, by="you@desk")
    assert done.covered == [second]
    assert [r.request for r in desk.requests(pending=True)] == [first]


def test_a_call_that_may_have_run_by_it_leaves_the_rest_to_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, agent = store_in(tmp_path), store_in(tmp_path)
    first, second = ask(desk), ask(desk)
    requests = desk.requests

    def one_runs(**which: Any) -> Any:
        monkeypatch.undo()
        start = {"call": "new", "tool": "search", "args": {}}
        start["verdict"] = {"tier": "block", "policy": "graded", "signature": "search:k"}
        agent.append(Event("call_start", "s", ts=time.time(), data=start))
        return requests(**which)

    monkeypatch.setattr(desk, "requests", one_runs)
    assert escape.override(desk, request=first, calls=1).covered == []
    assert [r.request for r in desk.requests(pending=True)] == [first, second]
