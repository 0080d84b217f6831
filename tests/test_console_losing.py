"""Sessions that lost events are marked in the list, without their chains being opened."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

import pytest

from commands import command
from console_scene import batch, empty_desk, live, research
from loopguard_console import losing
from loopguard_console.app import ConsoleApp
from loopguard_console.feed import Feed
from loopguard_console.losing import Losing
from loopguard_console.opening import replay_app
from loopguard_console.widgets.sessions import SessionList
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store


def filled(place: Path) -> Store:
    """A store with a session that lost events twice, one that arrived late, and a calm one."""
    store = open_store(str(place))
    for name in ("calm", "late", "lossy"):
        store.append(Event("session_start", name, data={"agent": "a"}))
        for number in range(20):
            store.append(Event("note", name, data={"text": str(number)}))
    for count in (3, 4):
        store.append(Event("gap", "lossy", data={"count": count, "reason": "disk full"}))
    store.append(Event("gap", "late", data={"count": 0, "reason": "server away"}))
    return store


@pytest.mark.parametrize("piece", [1, 7, 20_000])
def test_logs_are_looked_through_once_and_go_on(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losing, "PIECE", piece)
    with closing(filled(tmp_path / "e.db")) as store:
        found = Losing()
        found.look(store, store.sessions(), 0.0)
        assert found.counts == {}, "no time, no look"
        found.look(store, store.sessions(), 60.0)
        assert found.counts == {"lossy": 7}
        store.append(Event("gap", "lossy", data={"count": 1, "reason": "again"}))
        store.append(Event("gap", "calm", data={"count": 2, "reason": "again"}))
        found.look(store, store.sessions(), 60.0)
        assert found.counts == {"lossy": 8, "calm": 2}
        found.begin()
        assert found.counts == {}


def test_a_session_that_begins_anew_is_looked_through_anew(tmp_path: Path) -> None:
    with closing(filled(tmp_path / "e.db")) as store:
        found = Losing()
        found.look(store, store.sessions(), 60.0)
        store.forget("lossy")
        store.append(Event("session_start", "lossy", data={"agent": "a"}))
        found.look(store, store.sessions(), 60.0)
        assert found.counts == {}


def test_the_feed_says_it_of_sessions_that_nobody_opened(tmp_path: Path) -> None:
    import queue

    filled(tmp_path / "e.db").close()
    batches: queue.SimpleQueue[dict[str, int]] = queue.SimpleQueue()
    feed = Feed(
        lambda: open_store(str(tmp_path / "e.db")),
        lambda made: batches.put(made.lost),
        host="here",
        beats=False,
    )
    feed.start()
    try:
        while not (lost := batches.get(timeout=30)):
            feed.taken()
        assert lost == {"lossy": 7}
    finally:
        feed.stop()
        feed.join(10)


def listed(app: ConsoleApp) -> list[str]:
    async def run() -> list[str]:
        async with app.run_test(size=(120, 30)) as pilot:
            shown = app.screen.query_one(SessionList)
            found: list[str] = []
            while not found:
                await pilot.pause(0.02)
                strips = shown.render_lines(shown.size.region)
                found = [strip.text.rstrip() for strip in strips if strip.text.strip()]
            return found

    return asyncio.run(run())


def test_the_list_has_a_mark_and_the_filter_a_word() -> None:
    app = live()
    one, _ = research()
    app.desk.take(batch(one, lost={"19aa34c0": 12}))
    marked = [line for line in listed(app) if " ? " in line]
    assert len(marked) == 1 and "writ" in marked[0]
    app.desk.arrange(filter="gap")
    assert [s.session for _, s in app.desk.tree()] == ["19aa34c0"]


def test_a_recording_has_the_mark_too() -> None:
    events = [
        Event("session_start", "s", data={"agent": "writer"}),
        Event("gap", "s", data={"count": 2, "reason": "disk full"}),
        Event("call", "s", data={"tool": "ls", "args": {}, "result": "", "ok": True}),
    ]
    (line,) = listed(replay_app(events, title="file.jsonl"))
    assert " ? " in line


def test_what_an_open_session_lost_counts_before_its_log_was_looked_through() -> None:
    desk, (log, _) = empty_desk(), research()
    log.add("gap", count=5, reason="disk full")
    desk.take(batch(log))
    assert desk.lost_of(log.session) == 5


def test_the_command_says_how_many_events_are_missing(tmp_path: Path) -> None:
    place = tmp_path / "e.db"
    filled(place).close()
    told = command(place, "sessions", "--json").objects
    assert {s["session"]: s["missing"] for s in told} == {"calm": 0, "late": 0, "lossy": 7}
    lines = command(place, "sessions", "--all").out.splitlines()
    assert [line.split()[0] for line in lines if "missing" in line] == ["lossy"]
    assert "ended, 7 events missing" in next(line for line in lines if "lossy" in line)
    with closing(open_store(str(place))) as store:
        store.append(Event("gap", "calm", ts=time.time(), data={"count": 1, "reason": "again"}))
    assert "live, 1 event missing" in command(place, "sessions").out
