"""Decisions: what each does to the request, to what else waits, and what is refused with which words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asking import ask, resolution
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.inbox import resolve
from loopguard_core.store.contract import Store
from sessions import call, loop, session, store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def test_a_second_answer_is_told_who_was_first(store: Store) -> None:
    request = ask(store)
    escape.deny(store, request, by="you@here", note="no")
    with pytest.raises(escape.AlreadyDecided, match="already denied by you@here") as caught:
        escape.approve(store, request, by="usr")
    assert (caught.value.resolution, caught.value.by) == ("denied", "you@here")
    found = store.request(request)
    assert found is not None
    assert (found.by, found.note) == ("you@here", "no")


@pytest.mark.parametrize(
    ("decide", "next_word"),
    [
        (lambda s, r: escape.approve(s, r), "an override lets more calls through"),
        (lambda s, r: escape.modify(s, r, {"q": 2}), "an override lets more calls through"),
        (lambda s, r: escape.deny(s, r), "an override lets the same call run all the same"),
        (lambda s, r: escape.halt(s, request=r), "resume lets the agent go on"),
    ],
)
def test_who_answers_once_more_is_told_what_can_still_be_done(
    store: Store, decide: Callable[[Store, str], object], next_word: str
) -> None:
    request = ask(store)
    decide(store, request)
    with pytest.raises(escape.AlreadyDecided, match=f"{next_word}$"):
        escape.approve(store, request)


def test_an_answer_names_its_author(store: Store) -> None:
    request = ask(store)
    escape.approve(store, request)
    found = store.request(request)
    assert found is not None
    assert found.by == escape.whoami()
    assert "@" in found.by


def test_an_answer_to_something_else_than_was_seen_does_nothing(store: Store) -> None:
    request = ask(store)
    with pytest.raises(escape.DecisionError, match="not what you saw"):
        escape.approve(store, request, seen="another digest")
    assert resolution(store, request) == ""
    escape.approve(store, request.lower(), seen="digest")
    assert resolution(store, request) == "approved"


def test_a_request_that_does_not_exist_is_said(store: Store) -> None:
    with pytest.raises(escape.DecisionError, match="there is no request R99"):
        escape.approve(store, "R99")


def test_a_stale_decision_touches_nothing_else(store: Store) -> None:
    old, new = ask(store, key="a"), ask(store, tool="rm", key="b")
    escape.cancel(store, "s")
    fresh = ask(store, tool="rm", key="b")
    for request in (old, new):
        with pytest.raises(escape.AlreadyDecided):
            escape.approve(store, request)
    assert resolution(store, fresh) == ""


def test_an_override_settles_what_it_covers_and_spends_its_budget_on_it(store: Store) -> None:
    first, second, third = (ask(store) for _ in range(3))
    other = ask(store, tool="read")
    done = escape.override(store, request=first, calls=2)
    assert done.covered == [first, second]
    assert [resolution(store, r) for r in (first, second, third, other)] == [
        "approved",
        "approved",
        "",
        "",
    ]
    wide = escape.override(store, session="s", scope="session", seconds=60)
    assert wide.covered == [third, other]


def test_a_reset_settles_what_it_covers_but_no_breakpoint(store: Store) -> None:
    one, two = ask(store), ask(store, key="other")
    held = ask(store, cause="breakpoint")
    assert escape.reset(store, request=one).covered == [one]
    assert escape.reset(store, session="s", scope="tool", key="search").covered == [two]
    assert resolution(store, held) == ""


def test_a_resume_settles_what_only_the_halt_held(store: Store) -> None:
    latched, blocked = ask(store, cause="latch"), ask(store)
    assert escape.resume(store, "s").covered == [latched]
    assert resolution(store, blocked) == ""


def test_a_halt_reaches_children_or_a_child_alone(store: Store) -> None:
    for name, parent in (("s", ""), ("child", "s"), ("grandchild", "child"), ("stranger", "")):
        data = {"pid": os.getpid(), "parent": parent}
        store.append(Event("session_start", name, ts=1.0, data=data))
    asked = ask(store, "grandchild")
    halted = escape.halt(store, session="s")
    assert halted.sessions == ["s", "child", "grandchild"]
    assert halted.absent == [], "their process runs"
    assert halted.covered == [asked]
    assert escape.resume(store, "s").sessions == ["s", "child", "grandchild"]
    assert escape.halt(store, session="child", children=False).sessions == ["child"]
    done = escape.resume(store, "s")
    assert done.sessions == ["child"], "what is not halted is left alone"
    assert [known.session for known in done.already] == ["s"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"calls": 201}, "at most 200 calls"),
        ({"calls": 0}, "more than 0"),
        ({"seconds": 8 * 3600 + 1}, "at most 480 minutes"),
        ({"scope": "world"}, "scope is one of signature, tool, session"),
        ({"until": "noon"}, "until is turn or result"),
        ({"request": "", "session": "s"}, "name the signature"),
        ({"request": "", "session": "nobody"}, "there is no session nobody"),
        ({"request": ""}, "name a request or a session"),
    ],
)
def test_an_override_that_cannot_be_meant_writes_nothing(
    store: Store, wrong: dict[str, Any], says: str
) -> None:
    request = ask(store)
    last = store.last("s")
    with pytest.raises(escape.DecisionError, match=says):
        escape.override(store, **{"request": request, **wrong})
    assert store.last("s") == last


def test_a_grant_is_never_above_the_ceiling(store: Store) -> None:
    escape.override(store, request=ask(store), until="turn")
    (grant,) = [e for e in store.read("s") if e.type == "grant"]
    assert grant.data["budget"] == 200
    assert grant.data["expires"] <= time.time() + 8 * 3600


def test_a_grant_can_be_taken_back(store: Store) -> None:
    grant = escape.override(store, request=ask(store)).grant
    assert escape.revoke(store, grant).sessions == ["s"]
    with pytest.raises(escape.DecisionError, match="there is no grant G00"):
        escape.revoke(store, "G00")


def test_requests_of_ended_sessions_leave_the_inbox(store: Store) -> None:
    request, other = ask(store), ask(store, "other")
    store.append(Event("session_end", "s", ts=5.0))
    assert escape.sweep(store) == [(request, "cancelled")]
    assert [r.request for r in escape.waiting(store)] == [other]
    escape.cancel(store, "other")
    assert escape.waiting(store) == []


def test_what_waits_on_another_host_is_not_taken_for_dead(store: Store) -> None:
    """Whether its process runs can be told there alone."""
    gone = 2**22 + 1  # no process of this host has such a number
    asked = []
    for name, host in (("there", "another"), ("here", os.uname().nodename)):
        store.append(Event("session_start", name, ts=1.0, data={"pid": gone, "host": host}))
        data = {"call": name, "tier": "block", "pid": gone, "host": host}
        opened = Event("request_opened", name, ts=2.0, data=data)
        store.append(opened)
        asked.append(opened.text("request"))
    there, here = asked
    assert escape.sweep(store) == [(here, "orphaned")]
    assert [r.request for r in escape.waiting(store)] == [there]
    assert escape.approve(store, there).resolution == "approved"


def test_a_late_no_is_noted_and_touches_nothing(store: Store) -> None:
    request = ask(store)
    data = {"request": request, "resolution": "expired"}
    store.append(Event("request_resolved", "s", ts=time.time(), data=data))
    assert escape.deny(store, request, note="never").late
    assert resolution(store, request) == "expired"


def test_a_late_no_leaves_the_inbox_and_takes_a_late_yes_back(store: Store) -> None:
    request, other = ask(store), ask(store, key="other")
    for name in (request, other):
        data = {"request": name, "resolution": "expired"}
        store.append(Event("request_resolved", "s", ts=time.time(), data=data))
    assert escape.deny(store, other).grant == ""
    assert [r.request for r in escape.waiting(store)] == [request]
    granted = escape.approve(store, request).grant
    assert escape.deny(store, request, by="own@desk").grant == granted
    with pytest.raises(escape.DecisionError, match="an override lets more calls through"):
        escape.approve(store, request)
    assert escape.approve(store, other).grant, "the latest word counts"
    assert [e.text("by") for e in store.read("s") if e.type == "revoke"][1] == "own@desk"


@pytest.mark.parametrize("decide", [escape.approve, escape.deny])
def test_an_answer_in_the_moment_in_which_the_wait_ends_comes_late_and_is_none_too_many(
    store: Store, monkeypatch: pytest.MonkeyPatch, decide: Callable[..., escape.Decided]
) -> None:
    request = ask(store)

    def first_it_expires(*said: Any) -> None:
        data = {"request": request, "resolution": "expired"}
        store.append(Event("request_resolved", "s", ts=time.time(), data=data))
        resolve(*said)

    monkeypatch.setattr("loopguard_core.escape.requests.resolve", first_it_expires)
    assert decide(store, request).late
    assert resolution(store, request) == "expired"
    granted = [e for e in store.read("s") if e.type == "grant"]
    assert len(granted) == (decide is escape.approve)


def test_what_was_approved_late_and_then_denied_does_not_run(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store_in(tmp_path)) as live:
        request = loop(live, 3)[-1].request
        escape.approve(store, request)
        assert escape.deny(store, request, note="on second thoughts").late
        assert not call(live).run


def test_too_late_is_too_late(store: Store) -> None:
    request = ask(store)
    asked = store.request(request)
    assert asked is not None
    data = {"request": request, "resolution": "expired"}
    store.append(Event("request_resolved", "s", ts=5.0, data=data))
    now = time.time()
    assert [r.request for r in escape.waiting(store, now)] == [request]
    assert escape.waiting(store, now + 121) == []
