"""Guards of the past: the same as folding from the beginning, wherever one looked before, and cheap near there."""

from __future__ import annotations

import gc
from weakref import ReferenceType, ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.identity import Payload
from loopguard_core.recording.calls import Events, ListEvents
from loopguard_core.recording.snapshots import Snapshots


class Log(Events):
    """A log that counts what is read of it, and leaves payloads out where they are not asked for."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.read = 0
        self.payloads = 0

    def after(self, seq: int, limit: int, *, payloads: bool = True) -> list[Event]:
        found = self.events[seq : seq + limit]
        self.read += len(found)
        if payloads:
            self.payloads += len(found)
            return found
        heavy = ("args", "result", "text")
        return [
            Event(
                e.type,
                e.session,
                seq=e.seq,
                ts=e.ts,
                data={n: v for n, v in e.data.items() if n not in heavy},
            )
            for e in found
        ]


def fresh() -> Guard:
    return Guard(Config({"policy": "graded"}).make_policy(), mode="observe", unique=True)


def log(calls: str, *, stored: bool) -> list[Event]:
    """A call of each letter; with *stored*, their records stand on the events."""
    guard = fresh()
    events: list[Event] = []

    def add(type: str, **data: object) -> Event:
        event = Event(type, "s", seq=len(events) + 1, data=dict(data))
        events.append(event)
        return event

    for number, letter in enumerate(calls):
        if letter == " ":
            add("user_message", text="go on")
            continue
        args, result = (Payload(v, guard.digester) for v in ({"q": letter}, f"answer {letter}"))
        start = add("call_start", call=f"c{number}", tool="t", args={"q": letter})
        end = add("call_end", call=f"c{number}", outcome="ok", result=f"answer {letter}")
        if stored:
            start.data["ids"] = guard.reading.request("t", args)
            ids = start.data["ids"]
            end.data["ids"] = guard.reading.outcome("t", args, result, True, ids)
    return events


def at_once(events: list[Event], seq: int) -> Guard:
    guard = fresh()
    for event in events[:seq]:
        guard.apply(event)
    return guard


def passed(events: list[Event], **sizes: int) -> Snapshots:
    snapshots, guard = Snapshots(fresh(), **sizes), fresh()
    for event in events:
        guard.apply(event)
        snapshots.passed(event.seq, guard)
    return snapshots


@given(
    st.text("aab ", max_size=60),
    st.lists(st.integers(0, 125), max_size=12),
    st.booleans(),
    st.sampled_from([1, 3, 1_000]),
)
def test_wherever_one_looked_before(
    calls: str, places: list[int], stored: bool, weight: int
) -> None:
    events = log(calls, stored=stored)
    snapshots = passed(events, kept=4, spacing=5, near=3, close=2, weight=weight)
    for place in places:
        seq = min(place, len(events))
        found, wanted = snapshots.at(seq, Log(events)), at_once(events, seq)
        assert repr(found.counts()) == repr(wanted.counts())
        assert found.seq == wanted.seq


def test_stepping_back_reads_little_and_no_payloads() -> None:
    events = log("abcab" * 400, stored=True)
    snapshots, source = passed(events, kept=2, spacing=1024), Log(events)
    snapshots.at(3_000, source)
    far = source.read
    for seq in range(2_999, 2_950, -1):
        snapshots.at(seq, source)
    assert source.read - far < 49 * 2 * 64
    assert source.payloads == 0


def test_a_turn_of_many_different_calls_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = log("".join(chr(0x4E00 + n) for n in range(3_000)), stored=True)
    copies: list[ReferenceType[Guard]] = []
    made = Guard.copy

    def copy(guard: Guard) -> Guard:
        twin = made(guard)
        copies.append(ref(twin))
        return twin

    monkeypatch.setattr(Guard, "copy", copy)
    guard = Guard(Config({"policy": "progress"}).make_policy(), mode="observe", unique=True)
    snapshots = Snapshots(guard, weight=5_000)
    for event in events:
        guard.apply(event)
        snapshots.passed(event.seq, guard)
    assert guard.policy.weight() == 3_000
    for seq in (5_900, 3_000, 2_990, 100):
        assert snapshots.at(seq, Log(events)).seq == seq
    gc.collect()
    alive = [kept for known in copies if (kept := known()) is not None]
    assert len(copies) > len(alive) > 2
    assert sum(kept.policy.weight() for kept in alive) < 2 * 5_000 + 2 * 3_000


def test_payloads_are_read_where_the_records_are_missing() -> None:
    events = log("abab" * 50, stored=False)
    source = Log(events)
    found = passed(events, spacing=1_000).at(150, source)
    assert repr(found.counts()) == repr(at_once(events, 150).counts())
    assert source.payloads


def test_events_that_cannot_be_read_end_the_way_there() -> None:
    events = log("abab" * 50, stored=True)
    assert passed(events, spacing=1_000).at(150, ListEvents(events[:40])).seq == 40


def test_a_change_of_policy_is_not_forgotten_when_guards_are_thinned_out() -> None:
    events = log("ab" * 60, stored=True)
    other = Config({"policy": "hermes"}).make_policy()
    snapshots, guard = Snapshots(fresh(), kept=4, spacing=5), fresh()
    for event in events:
        guard.apply(event)
        snapshots.passed(event.seq, guard)
        if event.seq == 33:
            guard = Guard(other, mode="observe", unique=True)
            snapshots.turned(event.seq, guard)
    assert snapshots.at(32, Log(events)).policy.name == "graded"
    assert snapshots.at(34, Log(events)).policy.name == "hermes"
    assert repr(snapshots.at(len(events), Log(events)).counts()) == repr(guard.counts())
