"""A recorded session gives the recorded verdicts again, whole or from any point that a rebuild uses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import Event, decode, encode
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge
from loopguard_core.session.rebuilding import rebuild
from loopguard_core.store.contract import Store
from play_scripts import play, scripts, state
from plays import Play, fresh

POLICIES: list[tuple[str, dict[str, Any]]] = [
    ("graded", {}),
    ("hermes", {"hard_stop_enabled": True}),
    ("tool-loop-guard", {}),
    ("dsh", {"softThreshold": 2, "hardThreshold": 3}),
    ("nous", {}),
    ("progress", {}),
]


@pytest.mark.parametrize(("policy", "options"), POLICIES)
@given(script=scripts, mode=st.sampled_from(["observe", "ask", "enforce"]))
@settings(max_examples=40, deadline=None)
def test_a_recording_replays_to_its_verdicts(
    policy: str, options: dict[str, Any], script: list[tuple[Any, ...]], mode: str
) -> None:
    log = play(fresh(policy, mode, **options), script)
    again = fresh(policy, mode, **options)
    for event in log:
        copy = decode(encode(event))
        verdict = again.apply(copy)
        recorded = copy.data.get("verdict")
        assert (None if verdict is None else verdict.to_json()) == recorded


class ListStore(Store):
    """Just enough of a store to rebuild from."""

    def __init__(self, log: list[Event]) -> None:
        self.log = log

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        return [e for e in self.log if e.seq > after]

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        turns = [e.seq for e in self.log if e.type == "user_message"]
        return max((s for s in turns if before is None or s < before), default=1) - 1


@pytest.mark.parametrize(("policy", "options"), POLICIES)
@given(script=scripts)
@settings(max_examples=60, deadline=None)
def test_a_guard_rebuilt_from_the_turn_is_the_guard_that_lived(
    policy: str, options: dict[str, Any], script: list[tuple[Any, ...]]
) -> None:
    lived = fresh(policy, **options)
    log = play(lived, script)
    rebuilt = fresh(policy, **options)
    rebuild(rebuilt, ListStore(log), "s")
    assert state(rebuilt) == state(lived)


def test_a_message_that_a_human_interrupts_counts_the_same_after_a_rebuild() -> None:
    def event(seq: int, type: str, **data: Any) -> Event:
        return Event(type, "s", seq=seq, ts=1000.0 + seq, data=data)

    log = [event(1, "call_start", call="c1", tool="search", args="a", message="m")]
    log.append(event(2, "user_message", text="wait"))
    log.append(event(3, "call_start", call="c2", tool="search", args="a", message="m"))
    end = event(4, "call_end", call="c2", outcome="ok", result="r")
    lived, rebuilt = fresh("nous"), fresh("nous")
    for one in log:
        lived.apply(one)
    rebuild(rebuilt, ListStore(log), "s")
    assert rebuilt.apply(end) == lived.apply(end) is not None


@pytest.mark.parametrize("said", [{}, {"until": "result"}, {"budget": None, "until": "result"}])
def test_a_grant_that_is_over_and_has_expired_since_let_nothing_run_after_a_rebuild(
    said: dict[str, Any],
) -> None:
    session = Play(fresh())
    session.loop(2)
    session.grant("session", **{"budget": 2, "expires": session.clock + 200, **said})
    session.loop(2)
    session.call(result="new")
    session.say("user_message", text="again")
    assert session.loop(5) == ["run", "run", "ask", "ask", "refuse"]
    session.clock += 200
    session.say("note", text="the grant has expired")
    rebuilt = fresh()
    rebuild(rebuilt, ListStore(session.log), "s")
    assert state(rebuilt) == state(session.guard)


@pytest.mark.parametrize("aside", ["session_start", "usage"])
def test_time_goes_on_between_two_calls_whatever_process_makes_them(aside: str) -> None:
    """An agent that is started anew for each look has waited as one that lived on."""
    lived, again = Play(fresh("progress")), Play(fresh("progress"))
    for session in (lived, again):
        session.say("session_start")
        for _ in range(20):
            session.clock += 600
            if session is again:
                session.clock -= 0.9
                session.say(aside, resumed=True)
                session.clock -= 0.1
            session.call("web_search", {"q": "is it out"})
    assert state(again.guard)[1:] == state(lived.guard)[1:]
    judged = [list(judge(session.log, create("progress"))) for session in (lived, again)]
    told = [[(row.before, row.after) for row in rows] for rows in judged]
    assert told[0] == told[1]
    assert not any(row.stops for row in judged[0])
