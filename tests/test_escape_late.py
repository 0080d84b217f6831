"""How long a request may be approved after nobody waits for it: as configured, from its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape, inbox
from loopguard_core.escape import requests
from loopguard_core.events import Event
from loopguard_core.session import waiting
from loopguard_core.store.contract import Request, Store
from processes import environment
from sessions import call, loop, meanwhile, pending, session, store_in

LATE = 30.0


def ended(store: Store) -> Request:
    (request,) = store.requests()
    assert request.resolution in ("expired", "orphaned")
    assert request.resolved_ts is not None
    return request


def approvable_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asserts that it is in the inbox and may be approved until ``LATE`` seconds after its end, and not after."""
    asked = ended(store)
    assert asked.resolved_ts is not None
    real, at = time.time, asked.resolved_ts
    if asked.resolution == "expired":  # an agent that died asks no more: the inbox leaves those out
        assert [r.request for r in escape.waiting(store, at + LATE - 1)] == [asked.request]
    assert escape.waiting(store, at + LATE + 1) == []
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: real() + LATE + 1)
        with pytest.raises(escape.DecisionError, match="too long ago"):
            escape.approve(store, asked.request)
    with monkeypatch.context() as sooner:
        sooner.setattr(time, "time", lambda: real() + LATE / 2)
        assert escape.approve(store, asked.request).late
    (grant,) = (e for e in store.read(asked.session) if e.type == "grant")
    assert grant.data["expires"] == pytest.approx(real() + LATE / 2 + 60, abs=10), (
        "a minute at least"
    )


def test_of_a_wait_that_ends_since_the_console_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_LOOK", 0.05)
    store, desk = store_in(tmp_path), store_in(tmp_path)
    desk.beat(time.time())
    with session(store, wait_seconds=600, late_approval_seconds=LATE) as live:
        loop(live, 2)

        def leave() -> None:
            pending(desk)
            desk.beat(time.time() - 60)

        with meanwhile(leave):
            assert not call(live).run
        approvable_for(desk, monkeypatch)


@pytest.mark.parametrize("settings", [{}, {"mode": "enforce"}, {"unattended_wait_seconds": 0.05}])
def test_of_one_that_nobody_waited_for_or_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    store = store_in(tmp_path)
    with session(store, late_approval_seconds=LATE, **settings) as live:
        loop(live, 2)
        assert not call(live).run
        approvable_for(store, monkeypatch)


def test_of_an_agent_that_died_while_it_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    now = time.time()
    dead = {"pid": os.getpid(), "pid_started": "another"}
    store.append(Event("session_start", "s", ts=now, data=dead))
    start = {"call": "c", "tool": "search", "args": {}}
    store.append(Event("call_start", "s", ts=now, data=start))
    until = {"deadline": now + 600, "late_until": now + 600 + LATE}
    asked = {"call": "c", "tool": "search", "signature": "search:1", **dead, **until}
    store.append(Event("request_opened", "s", ts=now, data=asked))
    assert escape.sweep(store) == [("R1", "orphaned")]
    approvable_for(store, monkeypatch)


def test_of_a_wait_that_the_host_cuts_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    with session(store, unanswered={"block": "wait"}, late_approval_seconds=LATE) as live:
        loop(live, 2)
        assert not live.before("search", {"q": 1}, wait_limit=0.1).run
        approvable_for(store, monkeypatch)


def test_what_ran_without_an_answer_is_over_when_it_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_LOOK", 0.05)
    store, desk = store_in(tmp_path), store_in(tmp_path)
    desk.beat(time.time())
    with session(store, wait_seconds=600, unanswered={"block": "run"}) as live:
        loop(live, 2)

        def leave() -> None:
            pending(desk)
            desk.beat(time.time() - 60)

        with meanwhile(leave):
            assert call(live).run
        assert escape.waiting(desk) == []
        with pytest.raises(escape.DecisionError, match="override"):
            escape.approve(desk, ended(desk).request)


@pytest.mark.parametrize("note", ["", "not this"])
def test_a_late_no_is_one_event_with_its_note_and_said_once(tmp_path: Path, note: str) -> None:
    store = store_in(tmp_path)
    with session(store, mode="enforce") as live:
        loop(live, 3)
        (asked,) = escape.waiting(store)
        before = store.last("s")
        assert escape.deny(store, asked.request, note=note, by="you").late
        (said,) = store.read("s", after=before)
        assert (said.type, said.text("request"), said.text("note")) == ("revoke", "R1", note)
        with pytest.raises(
            escape.DecisionError, match="R1 was already denied after it was expired"
        ):
            escape.deny(store, asked.request)


def test_who_approves_late_again_is_told_so_also_when_it_is_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    with session(store, mode="enforce") as live:
        loop(live, 3)
        escape.approve(store, "R1")
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 9_000)
        with pytest.raises(escape.DecisionError, match="R1 was already approved after"):
            escape.approve(store, "R1")


def test_after_a_late_no_the_next_try_is_asked_about(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    blocks = {"graded": {"warn_at": 2, "block_at": 3, "halt_at": 50}}
    with session(store, policies=blocks) as live:
        first = loop(live, 3)[-1].request
        assert call(live).request == first, "nobody is asked twice"
        escape.deny(store, first)
        assert escape.waiting(store) == []
        again = call(live)
        assert not again.run and again.request != first
        assert again.request in again.message
        assert [r.request for r in escape.waiting(store)] == [again.request]


@pytest.mark.parametrize("settings", [{}, {"mode": "enforce"}, {"unattended_wait_seconds": 0.05}])
def test_where_no_approval_may_come_late_none_is_promised(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    store = store_in(tmp_path)
    said: list[str] = []
    with session(store, said=said, late_approval_seconds=0, **settings) as live:
        refused = loop(live, 3)[-1]
        assert not refused.run and escape.waiting(store) == []
        assert f"Only a human can let it run (request {refused.request})" in refused.message
        assert "later" not in refused.message
        assert f" override {refused.request} --calls 1)" in said[-1]
        assert "approve" not in said[-1]
        with pytest.raises(escape.DecisionError, match="override"):
            escape.approve(store, refused.request)
        escape.override(store, request=refused.request, calls=1)
        assert call(live).run, "as the person's line says"


def test_what_nobody_on_another_host_can_wait_for_any_more_is_swept(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    now, day = time.time(), 86_400
    store.append(Event("session_start", "far", ts=now, data={"host": "elsewhere", "pid": 7}))
    deadlines = {"long over": now - day - 9, "just over": now - 60, "none": None}
    for call_id, deadline in deadlines.items():
        data = {"call": call_id, "host": "elsewhere", "pid": 7, "deadline": deadline}
        store.append(Event("request_opened", "far", ts=now - 2 * day, data=data))
    assert escape.sweep(store) == [("R1", "orphaned")]
    assert [r.call for r in escape.waiting(store)] == ["just over", "none"]


@pytest.mark.parametrize("first", ["approve", "deny"])
@pytest.mark.parametrize("busy", [False, True])
def test_of_two_late_answers_at_once_the_first_stands_and_the_other_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, busy: bool
) -> None:
    """Whoever is slower looked before the other had answered, perhaps while the agent writes."""
    store, other = store_in(tmp_path), store_in(tmp_path)
    decide = {"approve": escape.approve, "deny": escape.deny}
    second = "deny" if first == "approve" else "approve"
    with session(store_in(tmp_path), mode="enforce") as live:
        loop(live, 3)
        real = inbox.write

        def and_another_is_faster(*said: Any) -> int:
            monkeypatch.setattr(requests, "write", real)
            if busy:
                live.note("assistant_text", {"text": "on"})
            decide[first](other, "R1", by="you@desk")
            return real(*said)

        monkeypatch.setattr(requests, "write", and_another_is_faster)
        word = {"approve": "approved", "deny": "denied"}[first]
        with pytest.raises(escape.DecisionError, match=rf"R1 was {word} .*by you@desk"):
            decide[second](store, "R1", by="own@desk")
        answers = [e.type for e in store.read("s") if e.type in ("grant", "revoke")]
        assert answers == [{"approve": "grant", "deny": "revoke"}[first]]
        assert call(live).run == (first == "approve")


@pytest.mark.parametrize("first", ["approve", "deny"])
def test_who_answers_late_before_the_other_answer_can_be_seen_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    store = store_in(tmp_path)
    decide = {"approve": escape.approve, "deny": escape.deny}
    second = "deny" if first == "approve" else "approve"
    with session(store_in(tmp_path), mode="enforce") as live:
        loop(live, 3)
        decide[first](store, "R1", by="you@desk")
        monkeypatch.setattr(requests, "_own", set())  # it was another process
        answer = store.read("s")[-1]
        monkeypatch.setattr(time, "time", lambda: (answer.ts or 0) + 0.09)
        with pytest.raises(escape.DecisionError, match="by you@desk in this moment"):
            decide[second](store, "R1")
        monkeypatch.setattr(time, "time", lambda: (answer.ts or 0) + 0.11)
        assert decide[second](store, "R1").late
        monkeypatch.undo()
        assert call(live).run == (second == "approve")


def test_a_late_answer_waits_for_no_quiet_moment_of_a_busy_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    with session(store_in(tmp_path), mode="enforce") as live:
        loop(live, 3)
        real = inbox.write

        def after_a_call(*said: Any) -> int:
            live.note("assistant_text", {"text": "on"})
            return real(*said)

        monkeypatch.setattr(requests, "write", after_a_call)
        monkeypatch.setattr(requests, "_TRIES", 3)
        assert escape.approve(store, "R1").late
        assert call(live).run


RACER = """
import sys
from loopguard_core import escape
from loopguard_core.store.door import open_store
store = open_store(sys.argv[1])
print(flush=True)
sys.stdin.readline()
try:
    getattr(escape, sys.argv[2])(store, "R1")
    print("won")
except escape.DecisionError as error:
    print(error)
"""


def test_of_people_who_answer_late_at_once_one_alone_is_told_that_it_holds(tmp_path: Path) -> None:
    with session(store_in(tmp_path), mode="enforce") as live:
        loop(live, 3)
    argv = [sys.executable, "-c", RACER, str(tmp_path / "events.db")]
    racers = [
        subprocess.Popen(
            [*argv, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )
        for word in ("approve", "deny")
    ]
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=30)[0].decode().strip() for racer in racers]
    answers = [e for e in store_in(tmp_path).read("s") if e.type in ("grant", "revoke")]
    assert said.count("won") == len(answers), "who is told so wrote it"
    moment = len(answers) == 2 and (answers[1].ts or 0) - (answers[0].ts or 0) >= 0.1
    assert len(answers) == 1 or moment, "only on a machine that is far too busy"
