"""A live session: what the agent is told, what the log says, and how a human's answer reaches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import create
from loopguard_core.recording.replay import Recording
from loopguard_core.session.live import LiveSession
from loopguard_core.verdict import Tier
from sessions import approve_pending, call, loop, meanwhile, pending, session, store_in


def test_an_approved_call_runs_and_the_next_is_asked_about_at_the_same_count(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    with session(store, unattended_wait_seconds=20) as live:
        loop(live, 2)
        for _ in range(5):
            with meanwhile(lambda: approve_pending(store)):
                decision = call(live)
            assert decision.run
            assert decision.ruling.verdict.count == 3
            assert decision.tier is Tier.BLOCK
    events = store.read("s")
    resolved = [e for e in events if e.type == "request_resolved"]
    assert [e.data["resolution"] for e in resolved] == ["approved"] * 5
    assert {e.data["by"] for e in resolved} == {"you"}
    assert len([e for e in events if e.type == "request_delivered"]) == 5


def test_unattended_a_call_is_refused_at_once_and_may_be_approved_late(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    said: list[str] = []
    with session(store, said=said) as live:
        refused = loop(live, 3)[2]
        assert not refused.run
        assert refused.request in refused.message
        assert "human" in refused.message
        assert "loopguard-console" not in refused.message, "the model is not told the way out"
        assert f" approve {refused.request})" in said[-1]
        done = escape.approve(store, refused.request, by="you")
        assert done.late
        retried = call(live)
        assert retried.run
        assert retried.ruling.cause == "grant"
        assert not call(live).run, "one approval is for one call"


def test_a_denial_holds_for_the_turn_and_reaches_the_model_as_the_result(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with session(store, unattended_wait_seconds=20) as live:
        loop(live, 2)
        with meanwhile(lambda: escape.deny(store, pending(store).request, note="read the log")):
            denied = call(live)
        assert not denied.run
        assert "read the log" in denied.message
        again = call(live)
        assert not again.run
        assert again.ruling.cause == "deny"
        assert len(store.requests()) == 1, "asked once"
        assert again.ruling.verdict.count == denied.ruling.verdict.count + 1, "and counted"
        live.turn("try it again")
        assert call(live).run


def test_a_result_that_halts_the_turn_says_so_and_the_next_call_is_stopped(tmp_path: Path) -> None:
    options = {"hermes": {"hard_stop_enabled": True, "same_tool_failure_halt_after": 2}}
    with session(store_in(tmp_path), policy="hermes", policies=options) as live:
        for n in range(2):
            decision = live.before("bash", n)
            assert decision.run
            assert not decision.ends_turn
            advice = live.after(decision, f"no {n}", outcome="error")
        assert decision.ends_turn
        assert "Stop calling tools" in advice
        stopped = call(live, "read", "x")
        assert (stopped.run, stopped.ends_turn) == (False, True)


def test_another_guards_verdict_stands_beside_ours(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    decision = live.before("search", {"q": 1})
    native = {"tier": "block", "policy": "hermes", "source": "hermes", "reason": "failed twice"}
    live.after(decision, "no", outcome="denied", foreign=native)
    recording = Recording.of(store.read("s"), Guard(create("graded")))
    verdict = recording.foreign(0)
    assert verdict is not None
    assert (verdict.source, verdict.tier, verdict.reason) == ("hermes", Tier.BLOCK, "failed twice")
    store.close()


def test_a_changed_configuration_holds_at_the_next_call_of_a_hook(tmp_path: Path) -> None:
    store = store_in(tmp_path)

    def attached(**settings: Any) -> LiveSession:
        config = Config({"policy": "graded", **settings})
        return LiveSession(config, "s", store=store, attach=True, say=lambda line: None)

    running = attached(mode="observe").before("sleep", 10)
    loop(attached(mode="observe"), 3)
    refused = call(attached(mode="enforce"))
    assert (refused.run, refused.ruling.cause) == (False, "verdict")
    assert call(attached(mode="observe")).run
    again = attached(mode="observe")
    again.after(again.recall(running.call, "sleep", 10), "slept")
    events = store.read("s")
    starts = [e for e in events if e.type == "session_start"]
    assert [e.data["mode"] for e in starts] == ["observe", "enforce", "observe"]
    ended = [e for e in events if e.type == "call_end" and e.data["call"] == running.call]
    assert ended[0].data["verdict"]["tier"] == "allow", "a call that ran meanwhile is judged"


@pytest.mark.parametrize("hidden", [{}, {"never_store": ["search"]}, {"fields": ["token"]}])
def test_calls_are_told_apart_by_what_the_log_does_not_hold(
    tmp_path: Path, hidden: dict[str, Any]
) -> None:
    place = str(tmp_path / "events.db")

    def run(name: str, tokens: list[str]) -> list[bool]:
        """Each call by a process of its own."""
        ran = []
        for token in tokens:
            config = Config({"policy": "graded", "redaction": hidden, "store": place})
            live = LiveSession(config, name, attach=True, say=lambda line: None)
            ran.append(call(live, args={"token": token}, result=f"password={token}").run)
        return ran

    same, other = "sk-live-4fQz8Lw2Xc7Vb1Nm", "sk-live-9pRt6Ky3Hd5Gs0Ja"
    assert run("same", [same] * 3) == [True, True, False]
    assert run("other", [same, other] * 3) == [True] * 6
    stored = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.glob("events.db*"))
    assert same not in stored and other not in stored
