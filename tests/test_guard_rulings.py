"""From verdict to ruling: the human's latest word, then the latch, then the verdict."""

from __future__ import annotations

import pytest

from loopguard_core.guard import Guard
from loopguard_core.verdict import Tier
from plays import Play, fresh


def test_an_approval_leaves_no_mark() -> None:
    play = Play()
    play.loop(2)
    counts = [play.call(answer="approved").verdict.count for _ in range(6)]
    assert counts == [3] * 6
    assert play.guard.latch is None


def test_a_refusal_counts_towards_halt_and_the_halt_latches() -> None:
    play = Play()
    assert play.loop(4) == ["run", "run", "ask", "ask"]
    other = play.call("read", "x")
    assert other.action == "refuse"
    assert (other.cause, other.tier, other.ends_turn) == ("latch", Tier.HALT, True)
    assert other.why.count == 4


def test_after_a_denial_identical_calls_are_refused_and_counted_without_asking() -> None:
    play = Play()
    play.loop(2)
    play.call(answer="denied", note="it does not exist", by="you")
    again = play.call()
    assert (again.action, again.cause, again.by) == ("refuse", "deny", "you")
    assert again.note == "it does not exist"
    assert again.verdict.count == 4
    assert play.call("read", "x").cause == "latch", "denied re-asks march to the halt"


def test_a_human_message_ends_denials_latches_and_halts_of_the_turn() -> None:
    play = Play()
    play.loop(4)
    play.say("halt", scope="turn", by="you")
    assert play.call("read", "x").cause == "halt"
    play.say("user_message", text="go on")
    assert play.call("read", "x").action == "run"
    assert play.call().action == "run"


@pytest.mark.parametrize("kind", ["turn_start", "system_message", "assistant_text"])
def test_nothing_but_a_human_message_ends_a_latch(kind: str) -> None:
    play = Play()
    play.loop(4)
    play.say(kind, text="", reason="heartbeat")
    assert play.call("read", "x").cause == "latch"


def test_a_halt_of_the_session_ends_only_with_resume() -> None:
    play = Play()
    play.say("halt", scope="session", by="you", note="wait")
    play.say("user_message", text="hello")
    play.say("reset", scope="session")
    stopped = play.call()
    assert (stopped.action, stopped.by, stopped.note) == ("refuse", "you", "wait")
    play.say("resume")
    assert play.call().action == "run"


@pytest.mark.parametrize("mode", ["observe", "ask", "enforce"])
def test_a_humans_halt_holds_in_every_mode(mode: str) -> None:
    play = Play(fresh(mode=mode))
    play.say("halt")
    assert play.call().cause == "halt"


def test_the_latest_instruction_wins() -> None:
    play = Play()
    play.loop(4)
    play.grant("session", budget=50)
    assert play.call().action == "run", "a grant beats a latch at once"
    play.say("halt", scope="turn")
    assert play.call().cause == "halt", "a halt beats an older grant"
    play.grant("session", budget=50)
    assert play.call().cause == "grant", "a grant beats an older halt"


def test_a_grant_beats_an_older_denial_and_a_denial_an_older_grant() -> None:
    play = Play()
    play.loop(2)
    play.call(answer="denied")
    play.grant(budget=1)
    assert play.call().cause == "grant"
    assert play.call().cause == "deny", "used up, the denial holds again"


def test_a_released_call_spends_one_and_a_harmless_one_none() -> None:
    play = Play(fresh(count="cumulative_in_task"))
    play.loop(2)
    play.grant(budget=2)
    play.call("read", "x")
    play.grant("session", budget=1)
    play.call("read", "other")
    assert play.loop(4) == ["run", "run", "run", "ask"]


@pytest.mark.parametrize(("scope", "key"), [("signature", ""), ("tool", "search"), ("session", "")])
def test_a_grant_covers_its_scope(scope: str, key: str) -> None:
    play = Play()
    play.loop(2)
    play.grant(scope, key)
    assert play.call().cause == "grant"
    for args in (1, 1):
        play.call("read", args)
    other = play.call("read", 1)
    assert (other.cause == "grant") is (scope == "session")


def test_a_grant_expires_by_the_time_of_the_events() -> None:
    play = Play()
    play.loop(2)
    play.grant(expires=play.clock + 3.5)
    assert play.call().cause == "grant"
    assert play.call().cause == "verdict"


def test_a_grant_until_the_result_changes_ends_when_it_does() -> None:
    play = Play()
    play.loop(2)
    play.grant(until="result")
    assert play.loop(3) == ["run"] * 3
    play.call(result="news")
    assert play.call().action == "ask"


def test_a_grant_until_the_turn_ends_and_a_revoked_one_release_nothing() -> None:
    play = Play()
    play.loop(2)
    play.grant("tool", "search", until="turn")
    play.say("user_message", text="next")
    play.loop(2)
    assert play.call().action == "ask"
    name = play.grant("session")
    assert play.call().action == "run"
    play.say("revoke", grant=name)
    assert play.call().action == "ask"


@pytest.mark.parametrize(
    ("scope", "key", "freed"),
    [("session", "", True), ("tool", "search", True), ("tool", "read", False)],
)
def test_a_reset_clears_what_it_covers(scope: str, key: str, freed: bool) -> None:
    play = Play()
    play.loop(4)
    play.say("reset", scope=scope, key=key)
    assert (play.call().action == "run") is freed
    assert (play.guard.latch is None) is freed


def test_a_reset_of_a_signature_ends_its_denial_and_no_other() -> None:
    play = Play()
    for args in ("a", "b"):
        play.loop(2, args=args)
        play.call(args=args, answer="denied")
    play.say("reset", scope="signature", key=play.signature)
    assert play.call(args="b").action == "run"
    assert play.call(args="a").cause == "deny"


def test_a_reset_of_the_session_ends_a_humans_halt_of_the_turn() -> None:
    play = Play()
    play.say("halt", scope="turn")
    play.say("reset", scope="tool", key="search")
    assert play.call().cause == "halt"
    play.say("reset", scope="session")
    assert play.call().action == "run"


def test_a_halt_on_a_result_latches_and_is_asked_about_once() -> None:
    guard = fresh("hermes", hard_stop_enabled=True, same_tool_failure_halt_after=3)
    play = Play(guard)
    for n in range(3):
        play.call("bash", n, outcome="error", result=f"no {n}")
    assert guard.latch is not None
    assert play.call("read", 1).action == "ask"
    assert play.call("read", 2).action == "refuse", "refused once, the turn is over"
    play.say("resume")
    assert play.call("read", 3).action == "run"


def test_approving_a_latched_call_lets_just_that_one_run() -> None:
    guard = fresh("hermes", hard_stop_enabled=True, same_tool_failure_halt_after=3)
    play = Play(guard)
    for n in range(3):
        play.call("bash", n, outcome="error", result=f"no {n}")
    assert play.call("read", 1, answer="approved").action == "ask"
    assert play.call("read", 1, answer="approved").action == "ask"


def test_a_block_that_ends_the_turn_latches_like_a_halt() -> None:
    play = Play(fresh("hermes", hard_stop_enabled=True, exact_failure_block_after=2))
    for _ in range(2):
        play.call("bash", "x", outcome="error")
    assert play.call("bash", "x").tier is Tier.BLOCK
    assert play.call("read", 1).cause == "latch"


def test_observing_records_verdicts_and_stops_nothing() -> None:
    play = Play(fresh(mode="observe"))
    rulings = [play.call() for _ in range(6)]
    assert {r.action for r in rulings} == {"run"}
    assert rulings[-1].verdict.tier is Tier.HALT
    assert play.guard.latch is None


def test_enforcing_refuses_without_asking() -> None:
    play = Play(fresh(mode="enforce"))
    assert play.loop(4) == ["run", "run", "refuse", "refuse"]
    assert play.call("read", 1).cause == "latch"


def test_a_call_id_counts_once() -> None:
    play = Play()
    for _ in range(5):
        play.say("call_start", call="same", tool="search", args="q")
        play.say("call_end", call="same", outcome="ok", result="r")
    assert play.call().verdict.count == 2


def test_an_unanswered_request_is_known_until_its_time_is_over() -> None:
    play = Play()
    play.loop(3)
    request = play.guard.unanswered(play.signature, play.clock)
    assert request
    assert play.guard.unanswered(play.signature, play.clock + 61) == ""
    play.grant(budget=1, request=request)
    assert play.guard.unanswered(play.signature, play.clock) == ""


def test_what_was_asked_before_a_human_message_latches_nothing_after_it() -> None:
    play = Play()
    play.loop(3)
    ruling = play.start()
    assert ruling.tier is Tier.HALT
    play.say("user_message", text="something else")
    play.end("blocked")
    assert play.guard.latch is None


def test_a_breakpoint_asks_in_every_mode_until_it_is_taken_away() -> None:
    play = Play(fresh(mode="observe"))
    play.say("breakpoint", breakpoint="B1", condition="tool:rm")
    held = play.start("rm", "/", breakpoint="B1")
    assert (held.action, held.cause) == ("ask", "breakpoint")
    play.ask("approved")
    play.end()
    play.say("breakpoint", breakpoint="B1", on=False)
    assert play.start("rm", "/", breakpoint="B1").action == "run"


@pytest.mark.parametrize("mode", ["observe", "ask", "enforce"])
def test_a_grant_spends_a_call_on_each_that_a_human_had_stopped(mode: str) -> None:
    """Also where the policy has nothing against it."""
    play = Play(fresh(mode=mode))
    play.say("halt", scope="session")
    play.grant("session", budget=2)
    rulings = [play.call("read", n) for n in range(3)]
    assert [r.cause for r in rulings] == ["grant", "grant", "halt"]
    assert [r.released for r in rulings] == [True, True, False]

    play.say("resume")
    play.say("breakpoint", breakpoint="B1", condition="tool:rm")
    play.grant("session", budget=1)
    assert play.call("read", "z").action == "run", "it meets no breakpoint, and costs nothing"
    assert play.start("rm", "/", breakpoint="B1").released
    play.end()
    assert play.start("rm", "/", breakpoint="B1").cause == "breakpoint"
    play.ask("denied")
    play.end("blocked")

    play.say("breakpoint", breakpoint="B1", on=False)
    play.grant("tool", "rm", budget=1)
    assert play.start("rm", "/").released, "denied before, in this turn"
    play.end()
    assert play.start("rm", "/").cause == "deny"


def test_a_call_that_is_released_leaves_no_mark_whoever_had_stopped_it() -> None:
    play = Play()
    play.say("halt")
    play.grant("session", budget=3)
    assert [play.call().verdict.count for _ in range(3)] == [1] * 3


def test_looking_records_nothing() -> None:
    play = Play()
    play.loop(2)
    before = [repr(c) for c in play.guard.counts()]
    event = play.say("note", text="")
    event.type, event.data = "call_start", {"call": "x", "tool": "search", "args": "q"}
    for _ in range(5):
        assert play.guard.rule(event).verdict.count == 3
    assert [repr(c) for c in play.guard.counts()] == before


def test_a_mode_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="observe, ask, enforce"):
        Guard(fresh().policy, mode="shout")
