"""Calls whose end never came, and which the guard that ends their session has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faulty import Faulty
from hooks import Host
from loopguard_core.config import Config
from loopguard_core.guard import Guard
from loopguard_core.recording.replay import Recording
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import GRADED, call, meanwhile, pending, session, store_in


def ends(store: Store, name: str = "s") -> dict[str, str]:
    found = [e for e in store.read(name) if e.type == "call_end"]
    assert len({e.text("call") for e in found}) == len(found)
    return {e.text("call"): e.text("outcome") for e in found}


@pytest.mark.parametrize(
    "settings", [{}, {"policies": {"graded": {"count": "cumulative_in_task"}}}]
)
def test_a_session_that_goes_on_in_another_process_ends_what_an_earlier_turn_left_open(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    store = store_in(tmp_path)
    first = session(store, **settings)
    first.turn("begin")
    first.before("read", {"n": 1}, call="left")
    call(first)
    first.turn("more")
    first.before("read", {"n": 2}, call="also left")
    again = session(store, **settings)
    again.turn("go on")
    again.before("read", {"n": 3}, call="open")
    again.end()
    outcomes = ends(store)
    assert [outcomes[c] for c in ("left", "also left", "open")] == ["pending"] * 3
    assert sorted(outcomes.values()) == ["ok", "pending", "pending", "pending"]
    assert store.read("s")[-1].type == "session_end"
    config = Config({**GRADED, **settings})
    replayed = Recording.of(store.read("s"), Guard(config.make_policy(), unique=True))
    assert [replayed.row(n).outcome for n in range(4)] == ["pending", "ok", "pending", "pending"]


def test_a_session_of_hooks_ends_what_its_turns_left_open(tmp_path: Path) -> None:
    host = Host(tmp_path, config='policy = "graded"\n')
    host.send("SessionStart", source="startup")
    for prompt in ("one", "two", "three"):
        host.send("UserPromptSubmit", prompt=prompt)
        host.before("ls")  # and it is interrupted
    host.send("SessionEnd", reason="exit")
    store = open_store(str(host.store))
    assert list(ends(store, "s1").values()) == ["pending"] * 3
    assert store.read("s1")[-1].type == "session_end"


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"])
def test_what_a_host_says_after_the_end_of_a_session_begins_it_no_more(
    tmp_path: Path, event: str
) -> None:
    host = Host(tmp_path, config='policy = "graded"\n')
    host.before("ls")
    host.send("SessionEnd", reason="exit")
    late: dict[str, Any] = {"tool_response": "text", "error": "text", "stop_hook_active": False}
    assert host.send(event, **host._tool("ls"), **late).out == ""
    store = open_store(str(host.store))
    known = store.session("s1")
    assert known is not None and known.ended
    assert [e.type for e in store.read("s1")].count("session_start") == 1
    host.before("ls", tool_use_id="another")
    known = store.session("s1")
    assert known is not None and not known.ended, "a call does"
    store.close()


def test_what_waited_when_a_person_spoke_does_not_wait_when_the_session_is_over(
    tmp_path: Path,
) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, unattended_wait_seconds=60)
    for _ in range(2):
        call(live)

    def speak_and_end() -> None:
        pending(desk)
        live.turn("and this, too")
        live.end()

    with meanwhile(speak_and_end):
        assert not call(live).run
    assert [r.resolution for r in desk.requests()] == ["cancelled"]
    assert list(ends(desk).values()) == ["ok", "ok", "cancelled"]
    assert desk.read("s")[-1].type == "session_end"


def test_an_end_that_comes_late_is_none(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    first = session(store)
    left = first.before("read", {"n": 1}, call="left")
    with LiveSession(Config(GRADED), "s", store=store, say=lambda line: None) as again:
        again.turn("go on")
    assert first.after(left, "text") == ""
    assert ends(store) == {"left": "pending"}


def test_a_guard_that_others_made_begin_anew_in_the_middle_ends_what_it_forgot(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    live = session(store)
    other = LiveSession(Config(GRADED), "s", store=store_in(tmp_path), attach=True, say=print)
    live.before("read", {"n": 1}, call="left")
    live.turn("go on")
    decision = live.before("read", {"n": 2}, call="open")
    call(other)
    live.after(decision, "text")  # theirs comes first, so the turn is folded anew
    live.end()
    assert ends(store)["left"] == "pending"


def test_what_another_process_of_the_session_left_open_ends_with_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store)
    call(live)
    other = LiveSession(Config(GRADED), "s", store=store_in(tmp_path), attach=True, say=print)
    other.before("read", {"n": 1}, call="left")
    live.end()
    assert ends(store)["left"] == "pending"
    assert store.read("s")[-1].type == "session_end"


def test_a_call_whose_end_the_store_did_not_take_ends_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.0)
    real = store_in(tmp_path)
    store = Faulty(real)
    live = session(store)
    begun = live.before("read", {"n": 1}, call="begun")
    store.broken = True
    live.after(begun, "text")
    store.broken = False
    call(live)
    live.end()
    assert ends(real)["begun"] == "pending"
    assert real.unended("s") == []
