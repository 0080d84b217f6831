"""What a screen asks of a long log costs what it costs of a short one: counted in steps of SQLite, not in time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.sqlite import SqliteStore

QUESTIONS: dict[str, Callable[[Store, int], object]] = {
    "the last page": lambda store, last: store.read("s", after=last - 100),
    "a page by number": lambda store, last: store.read("s", after=last // 2, limit=100),
    "the window": lambda store, last: store.read("s", after=last - 60, payloads=False),
    "the next tier change": lambda store, last: store.next_change("s", last // 2),
    "the tier change before": lambda store, last: store.next_change("s", last // 2, back=True),
    "the last number": lambda store, last: store.last("s"),
    "the last turn": lambda store, last: store.last_turn("s"),
    "the turn before": lambda store, last: store.last_turn("s", before=last // 2),
    "all sessions": lambda store, last: store.sessions(),
    "one session": lambda store, last: store.session("s"),
    "waiting requests": lambda store, last: store.requests(pending=True),
    "one request": lambda store, last: store.request("R1"),
    "an append": lambda store, last: store.append(Event("note", "s", data={"text": "x"})),
    "a resolution": lambda store, last: store.append(
        Event("request_resolved", "s", data={"request": "R1", "resolution": "denied"})
    ),
}


def log(place: Path, calls: int) -> tuple[SqliteStore, int]:
    """A store of one session with *calls* calls, and the number of its last event."""
    store = SqliteStore(str(place))
    return store, fill(store, calls)


def fill(store: Store, calls: int) -> int:
    """Write one session with *calls* calls; the number of its last event."""
    store.append(Event("session_start", "s", ts=1.0))
    events = []
    for n in range(calls):
        tier = "warn" if n % 50 == 49 else "allow"
        if n % 20 == 0:
            events.append(Event("user_message", "s", data={"text": "go"}))
        data = {"call": f"c{n}", "tool": "t", "args": "a" * 200, "verdict": {"tier": tier}}
        events.append(Event("call_start", "s", ts=1.0, data=data))
        events.append(Event("call_end", "s", ts=1.0, data={"call": f"c{n}", "outcome": "ok"}))
    store.extend(events)
    store.append(Event("request_opened", "s", data={"call": "c0", "tier": "block"}))
    return store.last("s")


def steps(store: SqliteStore, ask: Callable[[Store, int], object], last: int) -> int:
    """Steps of SQLite's machine that *ask* takes, in tens."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    db = store._link._db
    assert db is not None
    db.set_progress_handler(count, 10)
    ask(store, last)
    db.set_progress_handler(None, 10)
    return counted[0]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[SqliteStore, int]]:
    folder = tmp_path_factory.mktemp("logs")
    return [log(folder / f"{calls}.db", calls) for calls in (300, 6_000)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_long_log_costs_no_more_than_a_short_one(
    logs: list[tuple[SqliteStore, int]], question: str
) -> None:
    short, long = (steps(store, QUESTIONS[question], last) for store, last in logs)
    assert long <= short * 1.3 + 5
