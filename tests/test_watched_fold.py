"""A watched session: however often and far its transcript is read, the log is the same."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.identity import Digester
from loopguard_core.importers.report import Report
from loopguard_core.importers.tail import Tail
from loopguard_core.importers.watched import Left, Watched
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store

steps = st.lists(st.sampled_from(["a", "b", "a", "prompt"]), min_size=1, max_size=12)


def transcript(steps: list[str]) -> list[Event]:
    """The events of a transcript in which these calls were made."""
    events = [Event("session_start", "s", ts=1.0, data={"format": "claude-code"})]

    def add(type: str, **data: Any) -> None:
        events.append(Event(type, "s", ts=float(len(events) + 1), data=data))

    for n, step in enumerate(steps):
        if step == "prompt":
            add("user_message", text="go on")
            continue
        add("call_start", call=f"c{n}", tool="look", args={"at": step}, message=f"m{n}")
        add("call_end", call=f"c{n}", outcome="ok", result="the same")
    return events


def watched(store: Store) -> Watched:
    return Watched("s", store, Config({"policy": "graded"}), Digester(b"k" * 32))


def log(store: Store) -> list[tuple[Any, ...]]:
    return [
        (e.seq, e.type, e.ts, e.data.get("verdict"), e.data.get("ids")) for e in store.read("s")
    ]


@settings(max_examples=30, deadline=None)
@given(steps, st.lists(st.tuples(st.integers(0, 26), st.booleans()), max_size=4))
def test_reading_in_parts_gives_what_reading_at_once_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], parts: list[tuple[int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("watched")
    whole = open_store(str(folder / "whole.db"))
    one = watched(whole)
    for event in transcript(steps):
        one.take(event)
    store = open_store(str(folder / "parts.db"))
    session = watched(store)
    for length, restarted in [*parts, (10_000, False)]:
        if restarted:  # another process goes on
            session = watched(store)
        session.again()
        for event in transcript(steps)[:length]:
            session.take(event)
    assert log(store) == log(whole)
    whole.close()
    store.close()


def test_a_rewritten_past_is_left_alone(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    session = watched(store)
    for event in transcript(["a", "b"]):
        session.take(event)
    before = log(store)
    session.again()
    with pytest.raises(Left, match="rewritten"):
        for event in transcript(["a", "prompt", "b"]):
            session.take(event)
    assert session.take(transcript(["a"])[0]) is None
    assert log(store) == before


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=3), max_size=6),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_tail_gives_the_records_however_they_are_written(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, str]],
    size: int,
    ended: bool,
) -> None:
    data = b"\n".join(json.dumps(r).encode() for r in records) + b"\n" * ended
    path = tmp_path_factory.mktemp("tail") / "t.jsonl"
    path.touch()
    idle = threading.Event()
    tail = Tail(path, idle.set)
    read: list[Any] = []

    def follow() -> None:
        read.extend(value for _, value in tail.records(Report("t")))

    thread = threading.Thread(target=follow)
    thread.start()
    with path.open("ab", buffering=0) as file:
        for at in range(0, len(data), size):
            file.write(data[at : at + size])
            tail.wake()
    tail.close()
    thread.join(30)
    assert read == records
