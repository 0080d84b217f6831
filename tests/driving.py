"""A console without a terminal: a recording of a loop to show, and keys for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from loopguard_console.app import ConsoleApp
from loopguard_console.opening import replay_app
from loopguard_console.widgets.keys import KeyBar
from loopguard_core.config import Config
from loopguard_core.events import Event

Press = Callable[..., Awaitable[None]]
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


def cursor(app: ConsoleApp) -> int:
    assert app.desk.view is not None
    return app.desk.view.cursor


def drive(
    step: Step, app: ConsoleApp | None = None, size: tuple[int, int] = (120, 40)
) -> ConsoleApp:
    """Run *app*, a recording where none is given, and take *step* in it; the console as it was left."""
    made = app or recording()

    async def run() -> None:
        async with made.run_test(size=size) as pilot:
            await pilot.pause()
            while not str(made.screen.query_one(KeyBar).render()):  # drawn last
                await pilot.pause(0.01)
            await step(made, pilot)

    asyncio.run(run())
    return made


def insist(press: Press) -> Press:
    """*press* of Textual, made to come back when the console has answered the key, however busy the machine is."""

    async def pressed(pilot: Pilot[None], *keys: str) -> None:
        for key in keys:
            app = pilot.app
            before = app.keys.taken if isinstance(app, ConsoleApp) else 0
            await press(pilot, key)
            while isinstance(app, ConsoleApp) and app.is_running:
                if app.keys.taken > before and app.keys.idle:
                    break
                await asyncio.sleep(0.002)

    return pressed


async def carried(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """Wait until what a key began is done and drawn."""
    await app.workers.wait_for_complete()
    await pilot.pause()
