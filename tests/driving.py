"""Keys for a console that runs without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from loopguard_console.app import ConsoleApp
from test_console_replay import recording

Press = Callable[..., Awaitable[None]]
Step = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]


def drive(
    step: Step, app: ConsoleApp | None = None, size: tuple[int, int] = (120, 40)
) -> ConsoleApp:
    """Run *app*, a recording where none is given, and take *step* in it; the console as it was left."""
    made = app or recording()

    async def run() -> None:
        async with made.run_test(size=size) as pilot:
            await pilot.pause()
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
