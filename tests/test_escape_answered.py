"""An agent that waits is answered: by every decision, in the end, and as configured where nobody answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asking import ask, resolution
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.verdict import Tier
from sessions import call, loop, meanwhile, pending, session, store_in

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


@pytest.mark.parametrize("name", ["approve", "deny"])
def test_a_message_of_the_human_leaves_the_request_open(tmp_path: Path, name: str) -> None:
    decide, runs = DECISIONS[name]
    desk = store_in(tmp_path)

    def later() -> None:
        request = pending(desk).request
        desk.append(Event("user_message", "s", ts=time.time(), data={"text": "also do this"}))
        time.sleep(0.1)
        assert resolution(desk, request) == ""
        decide(desk, request)

    with session(store_in(tmp_path), unattended_wait_seconds=60) as live:
        loop(live, 2)
        with meanwhile(later):
            assert call(live).run is runs


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


@pytest.mark.parametrize(
    ("nobody", "ran"),
    [
        ({"block": "run", "halt": "refuse"}, [True, False]),
        ({"block": "refuse", "halt": "run"}, [False, True]),
    ],
)
def test_each_tier_has_an_answer_of_its_own_where_nobody_gives_one(
    tmp_path: Path, nobody: dict[str, str], ran: list[bool]
) -> None:
    store = store_in(tmp_path)
    tiers = {
        "read": {"warn_at": 0, "block_at": 2, "halt_at": 0},
        "write": {"warn_at": 0, "block_at": 0, "halt_at": 2},
    }
    ladder = {"graded": {"tools": tiers}}
    with session(store, unanswered=nobody, policies=ladder) as live:
        second = [[call(live, tool).run for _ in range(2)][-1] for tool in tiers]
    assert second == ran
    assert [r.unanswered for r in store.requests()] == list(nobody.values())


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
