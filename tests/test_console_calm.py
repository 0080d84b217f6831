"""Where nothing happens the console does nothing, but for what changes with the time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import console_scene
from console_scene import NOW, batch, empty_desk, fixer, research
from loopguard_console.app import Arrived
from loopguard_console.feed import Batch, Feed
from loopguard_console.screens.main import MainScreen
from loopguard_core.events import Event
from loopguard_core.store.door import open_store


def test_a_store_in_which_nothing_happens_is_no_news(tmp_path: Path) -> None:
    path = str(tmp_path / "e.db")
    store = open_store(path)
    store.append(Event("session_start", "one", ts=time.time(), data={"agent": "a"}))
    posted: list[Batch] = []
    feed = Feed(lambda: open_store(path), posted.append, host="here")
    feed.start()

    def take() -> bool:
        until = time.monotonic() + 20
        while not posted:
            assert time.monotonic() < until
            time.sleep(0.005)
        told = desk.take(posted.pop())
        feed.taken()
        return told

    desk = empty_desk()
    try:
        assert take()
        feed.want("one", 0)
        while take() or "one" not in desk.views:
            pass
        was = desk.sessions, desk.now
        assert not take()
        assert desk.sessions is was[0] and desk.now > was[1]
        store.append(Event("note", "one", ts=time.time(), data={"text": "x"}))
        until = time.monotonic() + 20
        while not take():
            assert time.monotonic() < until
    finally:
        feed.stop()
        feed.taken()
        feed.join(10)
        store.close()


def test_news_is_all_but_the_time() -> None:
    desk = empty_desk()
    log, waits = research()
    first = replace(batch(log, waiting=(waits,)), events={})
    assert desk.take(batch(log, waiting=(waits,)))
    desk.take(first)
    assert not desk.take(replace(first, now=NOW + 5))
    assert desk.now == NOW + 5
    changes: list[dict[str, Any]] = [{"waiting": ()}, {"state": {}}, {"more": True}]
    for change in [*changes, {"error": "gone"}, {"denied": True}]:
        assert desk.take(replace(first, **change)), change
        assert desk.take(first)
    assert desk.take(batch(log, waiting=(waits,)))


@pytest.mark.parametrize("keys", ["", "i"])
def test_time_moves_on_the_screen_and_nothing_else_is_drawn(
    monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    async def look() -> None:
        app = console_scene.live()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*keys)
            one, waits = research()
            two, halts = fixer()
            same = replace(batch(one, two, waiting=(waits, halts)), events={})
            app.post_message(Arrived(same))
            await pilot.pause(0.4)
            drawn: list[str] = []
            monkeypatch.setattr(MainScreen, "arrived", lambda _: drawn.append("all"))
            card = app.screen.query_one("#card")
            assert " 43s left" in str(card.render())
            app.post_message(Arrived(replace(same, now=NOW + 13)))
            await pilot.pause(0.4)
            assert " 30s left" in str(card.render())
            assert not drawn

    asyncio.run(look())
