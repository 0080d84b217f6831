"""What live sessions write replays to its own verdicts: several processes, and a human in between."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.identity import Digester
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from loopguard_core.store.paths import machine_key
from sessions import call, store_in

POLICIES: dict[str, dict[str, Any]] = {
    "graded": {},
    "hermes": {"hard_stop_enabled": True},
    "tool-loop-guard": {},
    "progress": {},
}
PROCESSES = 2

steps = st.one_of(
    st.tuples(
        st.just("call"),
        st.integers(0, PROCESSES - 1),
        st.sampled_from(["search", "read"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["r", "s"]),
    ),
    st.tuples(st.just("start"), st.integers(0, PROCESSES - 1), st.sampled_from(["search", "read"])),
    st.tuples(st.just("end"), st.integers(0, PROCESSES - 1)),
    st.tuples(st.just("turn"), st.integers(0, PROCESSES - 1)),
    st.sampled_from(
        [(w,) for w in ("halt", "resume", "reset", "override", "approve", "anew", "over")]
    ),
)


def replayed(store: Store, config: Config) -> Guard:
    """The log folded from its beginning by a fresh guard; its verdicts are those on the events."""
    digester = Digester(machine_key(store.place))
    guard = Guard(config.make_policy(), mode=config.mode, digester=digester)
    for event in store.read("s", payloads=False):
        verdict = guard.apply(event)
        if event.type not in ("call_start", "call_end"):
            continue
        assert (None if verdict is None else verdict.to_json()) == event.data.get("verdict"), event
    return guard


def counts(guard: Guard) -> list[str]:
    return sorted(repr(c) for c in guard.counts())


def human(store: Store, word: str) -> None:
    if word == "halt":
        escape.halt(store, session="s")
    elif word == "resume":
        escape.resume(store, "s")
    elif word == "reset":
        escape.reset(store, session="s", scope="tool", key="search")
    elif word == "override":
        escape.override(store, session="s", scope="tool", key="read", calls=2)
    else:
        for asked in escape.waiting(store)[:1]:
            escape.approve(store, asked.request)


@pytest.mark.parametrize("policy", POLICIES)
@given(script=st.lists(steps, max_size=30), mode=st.sampled_from(["ask", "enforce", "observe"]))
@settings(max_examples=20, deadline=None)
def test_whoever_writes_the_log_replays(policy: str, script: list[Any], mode: str) -> None:
    config = Config({"policy": policy, "policies": {policy: POLICIES[policy]}, "mode": mode})
    with tempfile.TemporaryDirectory() as folder:
        stores = [store_in(Path(folder)) for _ in range(PROCESSES + 1)]
        desk = stores.pop()

        def joined(store: Store) -> LiveSession:
            return LiveSession(config, "s", store=store, attach=True, say=lambda line: None)

        lives = [joined(store) for store in stores]
        running: list[list[Any]] = [[] for _ in lives]
        for step in script:
            word, *rest = step
            if word == "call":
                who, tool, args, result = rest
                call(lives[who], tool, args, result)
            elif word == "start":
                decision = lives[rest[0]].before(rest[1], "long")
                if decision.run:
                    running[rest[0]].append(decision)
            elif word == "end":
                if running[rest[0]]:
                    lives[rest[0]].after(running[rest[0]].pop(0), "done")
            elif word == "turn":
                lives[rest[0]].turn("go")
            elif word in ("anew", "over"):
                if word == "over":
                    lives[0].end()
                lives[0] = joined(stores[0])
            else:
                human(desk, word)
        guard = replayed(desk, config)
        for live in lives:
            live._journal.catch_up()
            assert counts(live.guard) == counts(guard)
            assert (live.guard.latch is None) == (guard.latch is None)
        for store in (*stores, desk):
            store.close()


@pytest.mark.parametrize("policy", POLICIES)
def test_calls_that_end_with_their_session_replay(policy: str, tmp_path: Path) -> None:
    config = Config({"policy": policy, "policies": {policy: POLICIES[policy]}})
    store = store_in(tmp_path)
    live = LiveSession(config, "s", store=store, say=lambda line: None)
    for _ in range(3):
        live.before("search", "a")
    live.end()
    replayed(store, config)


def test_threads_and_a_busy_human_leave_a_log_that_replays(tmp_path: Path) -> None:
    config = Config({"policy": "graded", "policies": {"graded": {"count": "cumulative_in_task"}}})
    desk, done = store_in(tmp_path), threading.Event()
    lives = [
        LiveSession(config, "s", store=store_in(tmp_path), attach=True, say=lambda line: None)
        for _ in range(2)
    ]

    def work(live: LiveSession) -> None:
        for n in range(40):
            call(live, args=n % 7)

    def decide() -> None:
        for _ in range(60):
            if done.wait(0.002):
                return
            escape.override(desk, session="s", scope="session", calls=3)
            escape.reset(desk, session="s", scope="session")
            desk.append(Event("note", "s", ts=time.time(), data={"text": "looking"}))

    human_thread = threading.Thread(target=decide)
    human_thread.start()
    threads = [threading.Thread(target=work, args=(live,)) for live in lives * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    human_thread.join()
    guard = replayed(desk, config)
    assert guard.open_calls() == []
    starts = [e for e in desk.read("s") if e.type == "call_start"]
    assert len(starts) == 160


@pytest.mark.parametrize("attach", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_recorded_for_another_policy_is_read_and_not_taken_for_one_call(
    policy: str, attach: bool, tmp_path: Path
) -> None:
    """A configuration that was changed in a turn, and two guards of one session that judge by different policies."""
    first = Config({"policy": "progress" if policy == "hermes" else "hermes"})
    config = Config({"policy": policy, "policies": {policy: POLICIES[policy]}})

    def joined(config: Config) -> LiveSession:
        return LiveSession(config, "s", store=store, attach=attach, resumed=not attach, say=print)

    def counted() -> list[str]:
        guard = Guard(config.make_policy(), digester=Digester(machine_key(store.place)))
        for event in store.read("s"):
            guard.apply(event)
        return counts(guard)

    store = store_in(tmp_path)
    one = joined(first)
    for n in range(20):
        call(one, "read", {"page": n}, f"page {n}")
    call(one, "read", {"page": 3}, "page 3")
    other = joined(config)
    assert counts(other.guard) == counted()
    for n in range(20):
        call(one, "read", {"page": 100 + n}, f"page {100 + n}")
    assert other.before("read", {"page": 200}).ruling.tier.word == "allow"
    assert counts(other.guard) == counted()
