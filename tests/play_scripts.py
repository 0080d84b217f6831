"""Any session as a script: what agents and humans may do in any order, and what a guard makes of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from loopguard_core.events import Event
from loopguard_core.guard import Guard
from plays import Play

tools = st.sampled_from(["search", "read", "bash"])
calls = st.tuples(
    st.just("call"),
    tools,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["r", "s"]),
    st.sampled_from(["ok", "ok", "error", "denied"]),
    st.sampled_from(["expired", "approved", "denied", "cancelled"]),
)
humans = st.one_of(
    st.just(("user_message",)),
    st.just(("turn_start",)),
    st.just(("resume",)),
    st.tuples(st.just("halt"), st.sampled_from(["turn", "session"])),
    st.tuples(st.just("reset"), st.sampled_from(["session", "tool"]), tools),
    st.tuples(
        st.just("grant"),
        st.sampled_from(["session", "tool"]),
        tools,
        st.sampled_from([None, 1, 3]),
        st.sampled_from(["", "turn", "result"]),
        st.sampled_from([None, 5.0, 50.0]),
    ),
    st.just(("session_start",)),
)
long_calls = st.one_of(
    st.tuples(st.just("begin"), tools, st.sampled_from(["", "asked"])), st.just(("finish",))
)
scripts = st.lists(st.one_of(calls, calls, calls, long_calls, humans), max_size=40)


def play(guard: Guard, script: list[tuple[Any, ...]]) -> list[Event]:
    return perform(Play(guard), script)


def perform(session: Play, script: list[tuple[Any, ...]]) -> list[Event]:
    """Act *script* out; the whole log."""
    for step in script:
        kind = step[0]
        if kind == "call":
            _, tool, args, result, outcome, answer = step
            session.call(tool, args, result, answer, outcome)
        elif kind == "begin":
            if session.start(step[1], "long").action != "run" and step[2]:
                session.ask("expired", late_until=session.clock + 60)
        elif kind == "finish":
            if session.guard.open_calls():
                ruling = session.guard.ruling(session.guard.open_calls()[-1])
                session.end("ok" if ruling is not None and ruling.action == "run" else "blocked")
        elif kind == "grant":
            _, scope, key, budget, until, seconds = step
            expires = None if seconds is None else session.clock + seconds
            session.grant(scope, key, budget=budget, until=until, expires=expires)
        elif kind == "reset":
            session.say("reset", scope=step[1], key=step[2])
        elif kind == "halt":
            session.say("halt", scope=step[1])
        else:
            session.say(kind)
    return session.log


def state(guard: Guard) -> tuple[object, ...]:
    """What decides about the next calls."""
    rulings = []
    for n, (tool, args) in enumerate([(t, a) for t in ("search", "read", "bash") for a in "ab"]):
        data = {"call": f"next{n}", "tool": tool, "args": args}
        ruling = guard.rule(Event("call_start", "s", ts=1_000_500.0, data=data))
        rulings.append((ruling.action, ruling.cause, ruling.tier, ruling.ref, ruling.verdict))
    return (guard.seq, guard.mode, *rulings)
