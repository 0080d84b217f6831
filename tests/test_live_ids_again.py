"""A host that uses its call ids again (``call_0`` in every message) is guarded and recorded, call by call."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.verdict import Tier
from sessions import GRADED, session, store_in


def _starts(tmp_path: Path) -> list[Event]:
    return [e for e in store_in(tmp_path).read("s") if e.type == "call_start"]


def _ends(tmp_path: Path) -> list[Event]:
    return [e for e in store_in(tmp_path).read("s") if e.type == "call_end"]


def _one(live: LiveSession, message: str, call: str = "call_0") -> bool:
    decision = live.before("search", {"q": 1}, call=call, message=message)
    live.after(decision, "nothing")
    return decision.run


@pytest.mark.parametrize("policy", ["graded", "progress", "hermes"])
def test_the_same_call_under_one_id_in_every_message_is_guarded_as_under_an_id_each(
    tmp_path: Path, policy: str
) -> None:
    hard = {"hermes": {"hard_stop_enabled": True}}
    config = Config({"policy": policy, "policies": hard if policy == "hermes" else {}})
    again = LiveSession(config, "s", store=store_in(tmp_path), say=lambda _: None)
    named = LiveSession(config, "named", store=store_in(tmp_path), say=lambda _: None)
    for turn in range(2):
        for live in (again, named):
            live.turn("go on")
        ran = [_one(again, f"t{turn}m{n}") for n in range(10)]
        assert ran == [_one(named, f"t{turn}m{n}", f"t{turn}c{n}") for n in range(10)]
        assert policy == "hermes" or not all(ran)
    starts, ends = _starts(tmp_path), _ends(tmp_path)
    assert len(starts) == 20 and len({e.data["call"] for e in starts}) == 20
    assert [e.data["call"] for e in starts] == [e.data["call"] for e in ends]
    assert [e.data["message"] for e in starts] == [f"t{t}m{n}" for t in (0, 1) for n in range(10)]


def test_a_replayed_history_with_ids_used_again_counts_nothing(tmp_path: Path) -> None:
    config = Config({"policy": "graded", "policies": {"graded": {"block_at": 9, "halt_at": 20}}})
    first = LiveSession(config, "s", store=store_in(tmp_path))
    for n in range(5):
        assert _one(first, f"m{n}")
    again = LiveSession(config, "s", store=store_in(tmp_path), resumed=True)
    for _ in range(2):
        for n in range(5):
            assert _one(again, f"m{n}")
    assert len(_starts(tmp_path)) == 5
    assert _one(again, "m5") and len(_starts(tmp_path)) == 6


def test_calls_of_two_messages_under_one_id_at_a_time_get_their_own_ends(tmp_path: Path) -> None:
    live = session(store_in(tmp_path))
    first = live.before("search", {"q": 1}, call="call_0", message="m0")
    second = live.before("search", {"q": 1}, call="call_0", message="m1")
    live.after(second, "second")
    live.after(first, "first")
    starts = {e.data["call"]: e.data["message"] for e in _starts(tmp_path)}
    assert [(starts[e.data["call"]], e.data["result"]) for e in _ends(tmp_path)] == [
        ("m1", "second"),
        ("m0", "first"),
    ]


def test_a_late_approval_lets_one_call_run_though_each_comes_under_the_id_that_was_refused(
    tmp_path: Path,
) -> None:
    live = session(store_in(tmp_path), late_approval_seconds=600)
    for n in range(2):
        live.after(live.before("search", {"q": 1}, call=f"c{n}"), "r")
    assert not _one(live, "")
    escape.approve(store_in(tmp_path), "R1", by="you")
    assert [_one(live, "") for _ in range(4)] == [True, False, False, False]
    ran = [e for e in _ends(tmp_path) if e.data["outcome"] == "ok"]
    assert len(ran) == 3, "what ran is in the log"


def test_the_name_of_a_call_under_a_used_id_is_found_by_who_knows_the_id_alone(
    tmp_path: Path,
) -> None:
    """As a process that only brings a result."""
    live = session(store_in(tmp_path), policy="progress")
    for n in range(3):
        live.before("search", {"q": 1}, call="call_0", message=f"m{n}")
        other = LiveSession(Config(GRADED), "s", store=store_in(tmp_path), attach=True)
        other.after(other.recall("call_0", "search", {"q": 1}), f"r{n}")
    assert [e.data["result"] for e in _ends(tmp_path)] == ["r0", "r1", "r2"]
    assert [e.data["call"] for e in _ends(tmp_path)] == [e.data["call"] for e in _starts(tmp_path)]
    assert live.before("read", {}, call="call_0", message="m3").tier == Tier.ALLOW
