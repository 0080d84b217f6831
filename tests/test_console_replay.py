"""The console on a recording: the keys that move, and what is on the screen after each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from loopguard_console.app import ConsoleApp
from loopguard_console.opening import replay_app
from loopguard_core.config import Config
from loopguard_core.events import Event

Step = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]


def call(tool: str, args: Any, **more: Any) -> Event:
    return Event("call", data={"tool": tool, "args": args, "result": "a page", **more})


def loop() -> list[Event]:
    return [
        Event("session_start", data={"agent": "researcher"}),
        Event("user_message", data={"text": "find out"}),
        call("read", {"path": "a"}),
        call("fetch", {"url": "b"}, ok=False),
        *[call("search", {"query": "quantum computing"}) for _ in range(8)],
        call("write", {"path": "c"}),
    ]


def labelled() -> list[Event]:
    """The loop with what a person said: its third search was fine, the sixth and the read were stuck."""
    calls = [e for e in loop() if e.type == "call"]
    for number, event in enumerate(calls):
        event.data["call"] = f"c{number}"
    words = {"c0": "stuck", "c6": "was fine", "c7": "stuck"}
    labels = [Event("label", data={"on": c, "text": text}) for c, text in words.items()]
    return [*loop()[:2], *calls, *labels]


def priced() -> list[Event]:
    """The loop of an agent that says what its model's answers use up: 120,000 tokens and 41 cents each."""
    out: list[Event] = []
    for event in loop():
        if event.type == "call":
            used = {"input": 2_000, "cache_read": 117_000, "output": 1_000, "cost_usd": 0.41}
            out.append(Event("usage", data=used))
        out.append(event)
    return out


def recording() -> ConsoleApp:
    return replay_app(loop(), title="loop.jsonl", config=Config({"policy": "graded"}))


def drive(step: Step, size: tuple[int, int] = (120, 40)) -> None:
    """Run *step* against the console on the loop."""

    async def run() -> None:
        app = recording()
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await step(app, pilot)

    asyncio.run(run())


def cursor(app: ConsoleApp) -> int:
    assert app.desk.view is not None
    return app.desk.view.cursor


def test_keys_that_move() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        places = []
        for key in ("right_square_bracket", "e", "e", "E", "exclamation_mark", "G", "g", "j", "k"):
            await pilot.press(key)
            places.append(cursor(app))
        assert places[:4] == [1, 3, 4, 3]
        assert places[5:] == [10, 0, 1, 0]

    drive(step)


def test_counters_and_tiers_are_those_of_the_step() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("g")
        assert view.recording.row(0).tier.word == "allow"
        assert all(count.tool != "search" for count in view.guard.counts())
        await pilot.press("e")
        assert [c.count for c in view.guard.counts() if c.tool == "search"] == [2]

    drive(step)


def test_nothing_can_be_decided_in_a_recording() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for key in "adomrxu":
            await pilot.press(key)
            assert len(app.screen_stack) == 2

    drive(step)


def test_help_search_and_folding() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        view = app.desk.view
        assert view is not None
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 3
        await pilot.press("escape", "slash", *"tool:write", "enter")
        assert cursor(app) == 10
        lines = len(view.lines)
        await pilot.press("k", "enter")
        assert len(view.lines) == lines + 8
        await pilot.press("z")
        assert len(view.lines) == 12

    drive(step)


def test_every_size_paints() -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        for size in ((60, 16), (80, 24), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()

    drive(step)
