"""A store that many want at once: everybody's turn comes, and nobody who is asleep keeps the others waiting."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import clock
from loopguard_core.events import Event, Judged
from loopguard_core.store import connecting, link, log, queueing
from loopguard_core.store.contract import StoreError, Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.queueing import Line
from loopguard_core.store.sqlite import SqliteStore
from loopguard_core.verdict import Tier, Verdict


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A store with an event in it."""
    found = tmp_path / "events.db"
    store = open_store(str(found))
    store.append(Event("note", "s"))
    yield found
    store.close()


def test_a_store_that_somebody_takes_long_to_make_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where fifty hooks begin a session at once, and the first of them does not get to run."""
    place = tmp_path / "events.db"
    maker = sqlite3.connect(place, isolation_level=None)
    maker.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(link, "PATIENCE", 0.001)
    monkeypatch.setattr(connecting, "LONGEST", 60_000_000_000)
    real, tried = connecting.to_write, []

    def to_write(path: str, *, create: bool) -> sqlite3.Connection:
        tried.append(path)
        if len(tried) == 20:
            maker.execute("ROLLBACK")
        return real(path, create=create)

    monkeypatch.setattr(connecting, "to_write", to_write)
    with contextlib.closing(open_store(str(place))) as store:
        assert store.append(Event("note", "s")) == 1
    assert len(tried) >= 20
    maker.close()


def test_a_store_that_stands_and_stays_locked_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "events.db"
    with contextlib.closing(open_store(str(place))) as store:
        store.append(Event("note", "s"))
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE").fetchall()
        holder.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(link, "PATIENCE", 0.001)
        monkeypatch.setattr(connecting, "LONGEST", 60_000_000_000)
        with pytest.raises(StoreError, match="locked by another process"):
            SqliteStore(str(place), create=True).last("s")


def log_of(place: Path) -> Path:
    return place.with_name(f"{place.name}-wal")


def locked(place: Path) -> sqlite3.Connection:
    """Somebody who holds the write lock."""
    stranger = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    stranger.execute("BEGIN IMMEDIATE")
    return stranger


def test_a_busy_store_is_written_to_as_soon_as_it_is_free(place: Path) -> None:
    stranger, store = locked(place), open_store(str(place))
    timer = threading.Timer(0.1, stranger.execute, ("COMMIT",))
    timer.start()
    assert store.append(Event("note", "s")) == 2
    timer.join()
    store.close()
    stranger.close()


@pytest.mark.parametrize("kind", ["call_start", "call_end", "user_message"])
@pytest.mark.parametrize("judged", [True, False])
def test_what_could_not_be_written_is_not_counted_where_another_wrote_in_its_place(
    kind: str, judged: bool, place: Path
) -> None:
    verdict = Verdict(Tier.ALLOW, "p", "search:d", 1)
    ids = {"exact": {"a": "d" * 24}}

    def event(kind: str, call: str) -> Event:
        data: dict[str, Any] = {"call": call, "message": "m", "tool": "search", "args": {}}
        if kind == "call_end":
            data = {"call": call, "outcome": "ok", "result": "r", "duration": 0.1}
        if not judged or kind == "user_message":
            return Event(kind, "s", ts=1.0, data=data)
        made = Judged(kind, "s", 1.0, {**data, "ids": ids}, "", True)
        made.verdict = verdict
        return made

    store, others = open_store(str(place)), open_store(str(place))
    for n in range(30):
        for told in ("call_start", "call_end"):
            store.append(event(told, f"c{n}"), expect=store.last("s"))
    store.append(event("call_start", "open"), expect=store.last("s"))
    stranger, last = locked(place), store.last("s")
    with pytest.raises(StoreError):
        store.append(event(kind, "open" if kind == "call_end" else "new"), expect=last)
    stranger.execute("ROLLBACK")
    others.append(Event("session_end", "s"))
    store.append(Event("gap", "s", data={"count": 1}))
    found = store.session("s")
    assert found is not None
    assert (found.calls, found.ended) == (31, True)
    for opened in (store, others):
        opened.close()
    stranger.close()


def test_what_was_taken_back_is_not_counted_where_another_wrote_in_its_place(place: Path) -> None:
    def calls(*names: str) -> list[Event]:
        return [Event("call_start", "s", data={"call": n, "tool": "search"}) for n in names]

    store, others = open_store(str(place)), open_store(str(place))
    for start in calls(*"abcdefgh"):
        store.append(start)
    with pytest.raises(Taken):
        store.extend(calls("x", "y", "a"), expect=store.last("s"))
    others.append(Event("note", "s"))
    others.append(Event("note", "s"))
    store.append(Event("gap", "s", data={"count": 1}))
    found = store.session("s")
    assert found is not None
    assert found.calls == 8
    for opened in (store, others):
        opened.close()


def test_a_head_of_the_line_that_sleeps_keeps_nobody_waiting(place: Path) -> None:
    stranger, store = locked(place), open_store(str(place))
    with log_of(place).open("rb") as sleeper:
        fcntl.flock(sleeper, fcntl.LOCK_EX)
        timer = threading.Timer(0.1, stranger.execute, ("COMMIT",))
        timer.start()
        assert store.append(Event("note", "s")) == 2
        timer.join()
    store.close()
    stranger.close()


def test_a_store_that_stays_busy_is_given_up_and_the_line_left(place: Path) -> None:
    stranger, store = locked(place), open_store(str(place))
    with pytest.raises(StoreError, match="is locked by another process"):
        store.append(Event("note", "s"))
    with log_of(place).open("rb") as next_one:
        fcntl.flock(next_one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    stranger.execute("COMMIT")
    assert store.append(Event("note", "s")) == 2
    store.close()
    stranger.close()


def test_the_head_looks_often_and_the_next_follows_when_it_leaves(place: Path) -> None:
    first, second = Line(str(place)), Line(str(place))
    first.wait()
    with log_of(place).open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    first.leave()
    second.wait()
    with log_of(place).open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    second.leave()


def test_who_stands_behind_another_looks_when_that_one_has_left(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "_OVERLOOKED", 60_000_000_000)
    first, second = Line(str(place)), Line(str(place))
    first.wait()
    turn = threading.Event()

    def behind() -> None:
        second.wait()
        turn.set()
        second.leave()

    waiting = threading.Thread(target=behind)
    waiting.start()
    assert not turn.wait(0.2)
    first.leave()
    waiting.join(20)
    assert turn.is_set()


def test_a_log_that_was_written_back_counts_as_short_once_it_is_overwritten(place: Path) -> None:
    store, path = open_store(str(place)), str(place)
    for n in range(30):
        store.append(Event("note", "s", data={"text": f"{n} " + "x" * 9_000}))
    assert log.exceeds(path, 100_000)
    assert not log.exceeds(path, 100_000_000)
    size = log_of(place).stat().st_size
    with sqlite3.connect(place, isolation_level=None) as db:
        log.write_back(db, path, 0, cut=False)
    store.append(Event("note", "s"))
    assert not log.exceeds(path, 100_000)
    assert log_of(place).stat().st_size == size, "the place is kept, to be overwritten"
    with sqlite3.connect(place, isolation_level=None) as db:
        log.write_back(db, path, 0, cut=True)
    assert log_of(place).stat().st_size == 0
    assert [e.seq for e in store.read("s")] == list(range(1, 33))
    store.close()


def test_writers_who_are_in_each_others_way_all_get_through(place: Path) -> None:
    stores = [open_store(str(place)) for _ in range(6)]

    def work(n: int) -> None:
        for i in range(40):
            stores[n].append(Event("note", "s", data={"text": f"{n} {i}"}))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(stores))]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert [e.seq for e in stores[0].read("s")] == list(range(1, 242))
    for store in stores:
        store.close()


@pytest.mark.parametrize("busy", [False, True])
def test_who_has_no_time_left_does_not_wait_for_a_busy_store(
    place: Path, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    """As a hook at its host's limit, also where others go on writing."""
    monkeypatch.setattr(link, "PATIENCE", 3600.0)
    monkeypatch.setattr(connecting, "LONGEST", 3_600_000_000_000)
    monkeypatch.setattr(clock, "_in_haste", True)
    if busy:
        monkeypatch.setattr(queueing, "last_written", lambda _: object())
    with (
        contextlib.closing(open_store(str(place))) as store,
        contextlib.closing(sqlite3.connect(place, isolation_level=None)) as holder,
    ):
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another process"):
            store.append(Event("note", "s"))


@pytest.mark.parametrize("moves", [False, True])
def test_a_store_in_which_nothing_moves_is_waited_for_less_than_a_second_and_a_wanted_one_longer(
    place: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    stranger, store, now = locked(place), open_store(str(place)), [0.0]

    def look(line: Line) -> None:
        now[0] += 0.05
        if moves and now[0] > 1.2:
            stranger.rollback()

    monkeypatch.setattr(queueing, "monotonic_ns", lambda: int(now[0] * 1e9))
    monkeypatch.setattr(Line, "wait", look)
    if moves:
        monkeypatch.setattr(queueing, "last_written", lambda _: object())
        assert store.append(Event("note", "s")) == 2
    else:
        with pytest.raises(StoreError, match="locked by another process"):
            store.append(Event("note", "s"))
        assert now[0] < 1
    store.close()
    stranger.close()
