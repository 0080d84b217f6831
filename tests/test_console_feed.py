"""The thread that reads a live store: in small batches, in turn, at once where somebody asks."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from dataclasses import replace
from pathlib import Path

import pytest

from console_scene import batch, empty_desk, research
from loopguard_console import feed
from loopguard_console.feed import Batch, Feed
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Replaced, Session, Store
from loopguard_core.store.door import open_store
from loopguard_core.store.sqlite import SqliteStore
from sessions import call
from sessions import session as running


def session(store: Store, name: str, calls: int) -> None:
    events = [Event("session_start", name, data={"agent": "a"})]
    for number in range(calls):
        call = f"{name}-{number}"
        events.append(Event("call_start", name, data={"call": call, "tool": "t", "args": {}}))
        events.append(Event("call_end", name, data={"call": call, "outcome": "ok", "result": 1}))
    store.extend(events)


class Screen:
    """What a console does with batches: it takes them and says so."""

    def __init__(self, path: Path) -> None:
        self.batches: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        self.feed = Feed(lambda: open_store(str(path)), self.batches.put, host="here", beats=False)
        self.seen: dict[str, list[int]] = {}
        self.largest = 0

    def next(self) -> Batch:
        batch = self.batches.get(timeout=30)
        self.largest = max(self.largest, sum(map(len, batch.events.values())))
        for name, events in batch.events.items():
            self.seen.setdefault(name, []).extend(event.seq for event in events)
        return batch

    def take(self) -> Batch:
        batch = self.next()
        self.feed.taken()
        return batch

    def close(self) -> None:
        self.feed.stop()
        self.feed.join(10)


def test_what_is_wanted_comes_in_turn_without_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    with_store = open_store(str(path))
    session(with_store, "one", 400)
    session(with_store, "two", 400)
    screen = Screen(path)
    screen.feed.want("one", 0)
    screen.feed.want("two", 0)
    screen.feed.start()
    try:
        order = []
        while sum(map(len, screen.seen.values())) < 2 * 801:
            order += list(screen.take().events)
        assert screen.seen == {"one": [*range(1, 802)], "two": [*range(1, 802)]}
        assert screen.largest <= feed.CHUNK
        assert order[:3] == ["one", "two", "one"]
        with_store.append(Event("user_message", "two", data={"text": "go on"}))
        while screen.seen["two"][-1] != 802:
            screen.take()
    finally:
        screen.close()
        with_store.close()


def test_a_session_that_is_wanted_is_read_though_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    store = open_store(str(path))
    session(store, "one", 3)
    screen = Screen(path)
    screen.feed.start()
    try:
        screen.next()
        screen.feed.want("one", 0)  # as the screen does when it sees the first batch
        screen.feed.taken()
        assert screen.take().events["one"][-1].seq == 7
    finally:
        screen.close()
        store.close()


def test_a_list_that_takes_long_is_looked_at_the_less_often(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    store = open_store(str(path))
    session(store, "one", 1)
    looks = []

    class Slow(SqliteStore):
        def sessions(self) -> list[Session]:
            looks.append(time.monotonic())
            time.sleep(0.05)
            return super().sessions()

    screen = Screen(path)
    screen.feed = Feed(
        lambda: Slow(str(path), create=False), screen.batches.put, host="here", beats=False
    )
    screen.feed.start()
    try:
        while len(looks) < 2:
            store.append(Event("user_message", "one", data={"text": "go on"}))
            screen.take()
        assert looks[1] - looks[0] >= 0.05 * feed.SHARE
    finally:
        screen.close()
        store.close()


def test_what_events_say_of_requests_the_inbox_says_in_the_same_batch(
    tmp_path: Path,
) -> None:
    path = tmp_path / "e.db"
    store = open_store(str(path))
    session(store, "one", 1)
    screen = Screen(path)
    screen.feed._inbox = feed._Look(600.0)  # by itself it would be looked at once
    screen.feed.want("one", 0)
    screen.feed.start()
    try:
        while "one" not in screen.seen:
            screen.take()
        until = time.time() + 600
        asking = {"call": "one-0", "tool": "t", "tier": "block", "pid": os.getpid()}
        opened = Event("request_opened", "one", data={**asking, "deadline": until})
        store.append(opened)
        name = opened.text("request")
        waits = [name]
        for gone in (False, True):
            if gone:
                escape.deny(store, name)
                waits = []
            while (batch := screen.take()).events.get("one", ()) == ():
                pass
            assert [r.request for r in batch.waiting] == waits
    finally:
        screen.close()
        store.close()


def noted(path: Path, times: int, ts: float, name: str = "one") -> None:
    """A store at *path* whose session *name* has so many events."""
    store = open_store(str(path))
    store.extend([Event("note", name, ts=ts + n, data={"text": "x"}) for n in range(times)])
    store.close()


@pytest.mark.parametrize("further", [3, 40])
def test_a_session_of_a_store_that_was_replaced_is_read_from_its_beginning(
    further: int, tmp_path: Path
) -> None:
    path, other = tmp_path / "e.db", tmp_path / "other.db"
    noted(path, 10, ts=100.0)
    noted(other, further, ts=900.0)  # shorter than what was read, or longer
    screen = Screen(path)
    screen.feed.want("one", 0)
    screen.feed.start()
    try:
        while len(screen.seen.get("one", [])) < 10:
            screen.take()
        screen.seen.clear()
        for log in ("-wal", "-shm"):
            Path(f"{path}{log}").unlink(missing_ok=True)
        other.rename(path)
        anew: list[str] = []
        while len(screen.seen.get("one", [])) < further:
            anew += screen.take().anew
        assert (anew, screen.seen["one"]) == (["one"], [*range(1, further + 1)])
    finally:
        screen.close()


def test_a_log_that_was_taken_away_and_kept_is_read_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    store = open_store(str(path))
    session(store, "one", 3)
    screen = Screen(path)
    screen.feed.want("one", 0)
    screen.feed.start()
    try:
        while len(screen.seen.get("one", [])) < 7:
            screen.take()
        Path(f"{path}-wal").unlink()
        time.sleep(0.06)
        with contextlib.suppress(Replaced):
            store.append(Event("note", "one", data={"text": "x"}))
        store.append(Event("note", "one", data={"text": "x"}))
        anew: list[str] = []
        last = store.last("one")
        while screen.seen["one"][-1] < last:
            anew += screen.take().anew
        assert (anew, screen.seen["one"]) == ([], [*range(1, last + 1)])
    finally:
        screen.close()
        store.close()


@pytest.mark.parametrize("further", [2, 30])
def test_what_a_log_that_was_cut_has_lost_is_said_on_the_screen(
    further: int, tmp_path: Path
) -> None:
    path = tmp_path / "e.db"
    store = open_store(str(path))
    live = running(store, "one")
    for n in range(10):
        call(live, args={"n": n})
    screen, desk = Screen(path), empty_desk()
    screen.feed.want("one", 0)
    screen.feed.start()
    try:
        while screen.seen.get("one", [0])[-1] < 21:
            desk.take(screen.take())
        os.truncate(f"{path}-wal", 0)
        time.sleep(0.06)
        for n in range(further):  # fewer than were read, or more
            call(live, args={"more": n})
        last = store.last("one")
        until = time.monotonic() + 20
        while (view := desk.views.get("one")) is None or view.recording.seq != last:
            assert time.monotonic() < until
            desk.take(screen.take())
        said = sum(e.data["count"] for e in store.read("one") if e.type == "gap")
        assert said >= 20
        assert (view.recording.lost, len(view.recording)) == (said, further)
    finally:
        screen.close()
        store.close()


def test_what_was_known_of_a_session_that_is_read_anew_is_forgotten() -> None:
    desk = empty_desk()
    log, _ = research()
    desk.take(batch(log))
    assert len(desk.views[log.session].recording) == log.calls
    begun = tuple(log.events[:4])
    desk.take(replace(batch(), anew=(log.session,), events={log.session: begun}))
    assert desk.views[log.session].recording.seq == 4
