"""What pictures of the screens share: frozen data, sizes, and waiting until all is drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

import console_scene
from loopguard_console.app import ConsoleApp
from loopguard_console.screens.main import MainScreen
from loopguard_console.widgets.pane import Pane

Compare = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]
sized = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request on a picture counts as seen: whether a moment has passed must not show."""
    monkeypatch.setattr("loopguard_console.keys.arming.ON_SCREEN", -600.0)


def after(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Press *keys*, then wait until everything has been drawn."""

    async def run(pilot: Pilot[None]) -> None:
        await drawn(pilot)
        await pilot.press(*keys)
        await drawn(pilot)

    async def drawn(pilot: Pilot[None]) -> None:
        await pilot.pause()
        main = next(s for s in pilot.app.screen_stack if isinstance(s, MainScreen))
        while main._pause is not None or not main.query_one("#card", Pane).is_attached:
            await asyncio.sleep(0.01)
        await pilot.pause()

    return run


def app(theme: str = "") -> Any:
    made = console_scene.live()
    made._start_theme = theme
    return made


def late() -> Any:
    """The console on a session whose request expired, was approved late, and let the next such call run."""
    log, asked = console_scene.research()
    log.add("request_resolved", request="R7", resolution="expired", call=asked.call)
    log.add("call_end", call=asked.call, outcome="blocked", result="refused")
    said = {"grant": "R7-late", "scope": "signature", "key": asked.signature, "budget": 1}
    log.add("grant", **said, expires=log.ts + 600.0, request="R7", by="you@desk")
    log.call("read_file", {"path": "notes/sources.md"}, "# Sources\n" * 4)
    desk = console_scene.empty_desk()
    desk.take(console_scene.batch(log))
    return ConsoleApp(desk, source="~/events.db", decider=console_scene.Nobody())


def lossy(theme: str = "") -> Any:
    """The console beside two sessions of which events are missing."""
    made = app(theme)
    (one, waits), (two, halts) = console_scene.research(), console_scene.fixer()
    lost = {"b07d11e4": 3, "19aa34c0": 12}
    made.desk.take(console_scene.batch(one, two, waiting=(waits, halts), lost=lost))
    return made
