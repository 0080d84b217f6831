"""A console that is held up goes on: what a timer was set for happens late, not never."""

from __future__ import annotations

import asyncio
import time
from itertools import count

import pytest
from textual import _time
from textual.pilot import Pilot

import driving
from loopguard_console.app import ConsoleApp


@pytest.mark.parametrize("keys", ["", "/"])
def test_a_timer_that_starts_too_late_fires(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def step(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        fired = [asyncio.Event() for _ in range(2)]
        held_up = count()  # each look at the clock finds it a second later, twenty times
        with monkeypatch.context() as patched:
            patched.setattr(_time, "get_time", lambda: time.monotonic() + min(20, next(held_up)))
            app.set_timer(0.001, fired[0].set)
            app.screen.set_timer(0.001, fired[1].set)
            for event in fired:
                await asyncio.wait_for(event.wait(), 30)

    driving.drive(step)
