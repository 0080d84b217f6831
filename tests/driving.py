"""Keys for a console that runs without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from loopguard_console.app import ConsoleApp
from test_console_replay import recording

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


async def carried(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """Wait until what a key began is done and drawn."""
    await app.workers.wait_for_complete()
    await pilot.pause()
