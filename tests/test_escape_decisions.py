"""Decisions: what each does to the request, to what else waits, and what is refused with which words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.inbox import resolve
from loopguard_core.redaction.redact import Redaction
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.verdict import Tier
from sessions import call, loop, meanwhile, pending, session, store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def ask(
    store: Store,
    name: str = "s",
    tool: str = "search",
    key: str = "k",
    cause: str = "verdict",
    args: object = None,
) -> str:
    """A request of a session whose agent is this process, without an agent that waits."""
    if store.session(name) is None:
        store.append(Event("session_start", name, ts=1.0, data={"pid": os.getpid()}))
    call_id = f"c{store.last(name)}"
    start = {"call": call_id, "tool": tool, "args": {"key": key} if args is None else args}
    store.append(Event("call_start", name, ts=2.0, data=start))
    data = {
        "call": call_id,
        "tool": tool,
        "signature": f"{tool}:{key}",
        "tier": "block",
        "cause": cause,
        "seen": "digest",
        "pid": os.getpid(),
        "deadline": time.time() + 60,
        "late_until": time.time() + 120,
    }
    opened = Event("request_opened", name, ts=3.0, data=data)
    store.append(opened)
    return opened.text("request")


def resolution(store: Store, request: str) -> str:
    found = store.request(request)
    assert found is not None
    return found.resolution


def test_a_second_answer_is_told_who_was_first(store: Store) -> None:
    request = ask(store)
    escape.deny(store, request, by="you@here", note="no")
    with pytest.raises(escape.AlreadyDecided, match="already denied by you@here") as caught:
        escape.approve(store, request, by="usr")
    assert (caught.value.resolution, caught.value.by) == ("denied", "you@here")
    found = store.request(request)
    assert found is not None
    assert (found.by, found.note) == ("you@here", "no")


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
        ({"calls": 0}, "at least 1"),
        ({"seconds": 8 * 3600 + 1}, "at most 28800 seconds"),
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


Decision = Callable[[Store, str], object]

DECISIONS: dict[str, tuple[Decision, bool]] = {
    "approve": (lambda s, r: escape.approve(s, r), True),
    "deny": (lambda s, r: escape.deny(s, r), False),
    "modify": (lambda s, r: escape.modify(s, r, {"q": 2}), True),
    "override": (lambda s, r: escape.override(s, request=r, calls=1), True),
    "override the session": (
        lambda s, r: escape.override(s, session="s", scope="session"),
        True,
    ),
    "reset": (lambda s, r: escape.reset(s, request=r), True),
    "halt": (lambda s, r: escape.halt(s, request=r), False),
    "cancel": (lambda s, r: escape.cancel(s, "s"), False),
    "deleting the session": (lambda s, r: (escape.cancel(s, "s"), s.forget("s")), False),
    "a bare grant": (
        lambda s, r: s.append(
            Event("grant", "s", ts=time.time(), data={"grant": "G1", "scope": "session"})
        ),
        True,
    ),
    "a bare halt": (lambda s, r: s.append(Event("halt", "s", ts=time.time())), False),
    "a bare reset": (lambda s, r: s.append(Event("reset", "s", ts=time.time())), True),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_answers_the_agent_that_waits(tmp_path: Path, name: str) -> None:
    decide, runs = DECISIONS[name]
    desk = store_in(tmp_path)
    with session(store_in(tmp_path), unattended_wait_seconds=60) as live:
        loop(live, 2)
        with meanwhile(lambda: decide(desk, pending(desk).request)):
            decision = call(live)
        assert decision.run is runs
        assert desk.requests(pending=True) == []
        resolved = [e for e in desk.read("s") if e.type == "request_resolved"]
        assert len(resolved) == (0 if "deleting" in name else 1)


def test_a_session_that_is_deleted_under_a_waiting_agent_answers_it(tmp_path: Path) -> None:
    desk = store_in(tmp_path)

    def delete() -> None:
        pending(desk)
        desk.forget("s")

    with session(store_in(tmp_path), unattended_wait_seconds=60) as live:
        loop(live, 2)
        with meanwhile(delete):
            assert not call(live).run
        assert call(live, "read").run, "and it goes on"
    assert [e.type for e in desk.read("s")][:2] == ["session_start", "gap"]


def test_a_message_of_the_human_leaves_the_request_open(tmp_path: Path) -> None:
    desk = store_in(tmp_path)

    def later() -> None:
        request = pending(desk).request
        desk.append(Event("user_message", "s", ts=time.time(), data={"text": "also do this"}))
        time.sleep(0.1)
        assert resolution(desk, request) == ""
        escape.approve(desk, request)

    with session(store_in(tmp_path), unattended_wait_seconds=60) as live:
        loop(live, 2)
        with meanwhile(later):
            assert call(live).run


def test_an_override_wins_over_a_latch_at_once(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store) as live:
        loop(live, 4)
        assert not call(live, "step").run
        escape.override(store, session="s", scope="session", by="you")
        assert call(live, "step").run
        assert call(live).run


def test_a_halt_that_no_agent_took_holds_when_one_comes(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store):
        pass
    assert escape.halt(store, session="s", scope="session").absent == ["s"]
    with session(store) as again:
        assert not call(again).run
        again.turn("hello")
        assert not call(again).run
        escape.resume(store, "s")
        assert call(again).run


def test_an_approval_that_the_agent_did_not_live_to_take_is_asked_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    whole: dict[str, Any] = {"policies": {"graded": {"count": "cumulative_in_task"}}}
    _, second = loop(session(store, **whole), 2)
    looping = second.ruling.verdict.signature.partition(":")[2]
    asked = ask(store, "s", key=looping, args={"q": 1})
    escape.approve(store, asked)
    found = store.request(asked)
    assert found is not None
    assert not found.delivered
    with session(store, **whole) as again:
        decision = call(again)
        assert not decision.run and decision.tier >= Tier.BLOCK
        assert decision.request not in ("", asked)


def test_one_session_never_stands_in_the_way_of_another(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    first, second = ask(store, "one"), ask(store, "two")
    escape.cancel(store, "one")
    escape.approve(store, second)
    assert [resolution(store, r) for r in (first, second)] == ["cancelled", "approved"]


@pytest.mark.parametrize(("does", "runs"), [("refuse", False), ("run", True)])
def test_what_happens_when_nobody_answers_is_configured_and_shown(
    tmp_path: Path, does: str, runs: bool
) -> None:
    store = store_in(tmp_path)
    nobody = {"block": does}
    with session(store, unattended_wait_seconds=0.1, unanswered=nobody) as live:
        loop(live, 2)
        assert call(live).run is runs
    (request,) = store.requests()
    assert (request.unanswered, request.resolution) == (does, "expired")


@pytest.mark.parametrize("patience", [0, 0.05])
def test_a_call_that_runs_unanswered_runs_each_time_and_leaves_nothing_to_approve(
    tmp_path: Path, patience: float
) -> None:
    store = store_in(tmp_path)
    nobody = {"block": "run", "halt": "run"}
    with session(store, unattended_wait_seconds=patience, unanswered=nobody) as live:
        loop(live, 2)
        requests = [call(live) for _ in range(3)]
        assert all(decision.run for decision in requests)
        assert len({decision.request for decision in requests}) == 3
        assert escape.waiting(store) == []
    with pytest.raises(escape.DecisionError, match="override"):
        escape.approve(store, requests[0].request)


def test_where_nobody_is_asked_nothing_runs_unanswered(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    nobody = {"block": "run", "halt": "run"}
    with session(store, mode="enforce", unanswered=nobody) as live:
        loop(live, 2)
        assert not call(live).run
        assert [r.unanswered for r in escape.waiting(store)] == ["refuse"]


def test_keep_waiting_ends_at_the_hosts_own_limit(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store, unanswered={"block": "wait"}) as live:
        loop(live, 2)
        decision = live.before("search", {"q": 1}, wait_limit=0.2)
        assert not decision.run
        assert decision.request in decision.message
    (request,) = store.requests()
    assert request.deadline is not None


def test_a_wait_ends_as_configured_when_the_console_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopguard_core.session.waiting._LOOK", 0.05)
    store, desk = store_in(tmp_path), store_in(tmp_path)
    desk.beat(time.time())
    with session(store, wait_seconds=600) as live:
        loop(live, 2)

        def leave() -> None:
            pending(desk)
            desk.beat(time.time() - 60)

        with meanwhile(leave):
            decision = call(live)
        assert not decision.run
    (request,) = store.requests()
    assert request.resolution == "expired"


def test_a_secret_survives_a_change_of_the_other_arguments_and_never_stands_in_the_log(
    tmp_path: Path,
) -> None:
    secret = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
    args = {"url": "https://one", "header": f"Authorization: Bearer {secret}"}
    desk = store_in(tmp_path)

    def change() -> None:
        asked = pending(desk)
        assert isinstance(asked.args, dict)
        assert secret not in str(asked.args)
        escape.modify(desk, asked.request, {**asked.args, "url": "https://two"})

    with session(store_in(tmp_path), unattended_wait_seconds=30) as live:
        for _ in range(2):
            call(live, "fetch", args)
        with meanwhile(change):
            decision = call(live, "fetch", args)
    assert decision.modified
    assert decision.args == {**args, "url": "https://two"}
    files = [p for p in tmp_path.iterdir() if p.is_file()]
    assert all(secret.encode() not in path.read_bytes() for path in files)


def test_named_arguments_are_changed_for_named_ones(store: Store) -> None:
    request, raw = ask(store, args={"q": 1}), ask(store, args="ls -l")
    for args in ([1, 2], "q=2", None):
        with pytest.raises(escape.DecisionError, match=r'as an object, such as \{"q": …\}'):
            escape.modify(store, request, args)
    assert resolution(store, request) == ""
    assert escape.modify(store, raw, "ls").resolution == "modified"


def test_new_arguments_with_a_secret_are_not_sent_through_the_log(store: Store) -> None:
    request = ask(store)
    with pytest.raises(escape.DecisionError, match="looks like a secret"):
        escape.modify(store, request, {"token": "ghp_" + "0123456789abcdefABCDEF0123456789abcd"})
    assert resolution(store, request) == ""


def test_a_marker_that_stands_for_nothing_never_reaches_the_tool(tmp_path: Path) -> None:
    desk = store_in(tmp_path)
    said: list[str] = []
    with session(store_in(tmp_path), unattended_wait_seconds=30, said=said) as live:
        loop(live, 2)
        made_up = {"q": "[redacted:0123456789ab]"}
        with meanwhile(lambda: escape.modify(desk, pending(desk).request, made_up)):
            decision = call(live)
    assert not decision.run
    assert "could not be delivered" in decision.message
    assert any("could not be delivered" in line for line in said)


def test_what_is_never_stored_cannot_be_modified(tmp_path: Path) -> None:
    rules = Redaction(never_store=["vault_*"])
    store = open_store(str(tmp_path / "events.db"), redaction=rules)
    request = ask(store, tool="vault_read", key="word-of-passing")
    with pytest.raises(escape.DecisionError, match="is never stored"):
        escape.modify(open_store(str(tmp_path / "events.db")), request, {"key": "other"})
    assert escape.approve(store, request).resolution == "approved"
