"""A session that goes on under other settings: the console counts as the guard does."""

from __future__ import annotations

from typing import Any

import console_scene
from loopguard_core.events import Event
from loopguard_core.verdict import Tier


def settings(block: int) -> dict[str, Any]:
    options = {"warn_at": 2, "block_at": block, "halt_at": 20}
    return {"policy": "graded", "mode": "observe", "settings": {"policies": {"graded": options}}}


def session(calls: int) -> list[Event]:
    """A turn in which the threshold was raised after *calls* equal calls, of which the last still runs."""
    out: list[Event] = []

    def add(kind: str, **data: Any) -> None:
        out.append(Event(kind, "s", seq=len(out) + 1, ts=float(len(out)), data=data))

    def call(number: int, *, ends: bool = True) -> None:
        add("call_start", call=f"c{number}", tool="t", args={}, message=f"c{number}")
        if ends:
            add("call_end", call=f"c{number}", outcome="ok", result="same")

    add("session_start", **settings(3))
    add("user_message", text="go")
    for number in range(calls):
        call(number, ends=number < calls - 1)
    add("session_start", reason="configuration", resumed=True, **settings(9))
    add("call_end", call=f"c{calls - 1}", outcome="ok", result="same")
    call(calls)
    return out


def counter(desk: Any, seq: int) -> tuple[int, int]:
    (count,) = desk.views["s"].recording.guard_at(seq).counts()
    return count.count, count.thresholds[Tier.BLOCK]


def test_counters_are_those_of_the_settings_in_force_then_and_now() -> None:
    events = session(4)
    for pieces in ([events], [[e] for e in events], [events[:7], events]):
        desk = console_scene.empty_desk()
        for piece in pieces:
            desk.append("s", piece)
        recording = desk.views["s"].recording
        changed = next(e.seq for e in events if e.data.get("reason") == "configuration")
        assert counter(desk, changed - 1) == (4, 3), "before, it was blocked at 3"
        assert counter(desk, events[-1].seq) == (5, 9)
        assert recording.row(3).outcome == "ok", "a call that ran meanwhile has its end"
        assert len(recording) == 5
