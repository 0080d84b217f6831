"""Milliseconds from a key to the picture that answers it.

A key is answered when its action has run, the list has painted its lines anew after that, and the picture
has been handed to the driver. What is drawn for another reason before the action does not count.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from textual import events
from textual.app import App
from textual.scroll_view import ScrollView

_CHARACTERS = {"right_square_bracket": "]", "left_square_bracket": "["}


class KeyTimer:
    """Presses keys in *app*, a running one, and watches *lines*, the list that they move in."""

    def __init__(self, app: App[Any], lines: ScrollView) -> None:
        self._app = app
        self._acted = self._painted = False
        self._drawn = asyncio.Event()
        run_action, render_lines, displayed = (
            app.run_action,
            lines.render_lines,
            app.post_display_hook,
        )

        async def acting(*args: Any, **kwargs: Any) -> bool:
            done = await run_action(*args, **kwargs)
            self._acted = True
            return done

        def painting(*args: Any) -> Any:
            self._painted = self._acted
            return render_lines(*args)

        def displaying() -> None:
            displayed()
            if self._painted:
                self._drawn.set()

        app.run_action = acting
        lines.render_lines = painting
        app.post_display_hook = displaying

    async def press(self, key: str) -> tuple[float, float]:
        """Press *key*; milliseconds until the list has been drawn with what it changed, and of those
        the ones in which this process had a processor."""
        self._acted = self._painted = False
        self._drawn.clear()
        character = _CHARACTERS.get(key, key if len(key) == 1 else None)
        begun, used = time.perf_counter(), time.process_time()
        self._app.post_message(events.Key(key, character))
        await asyncio.wait_for(self._drawn.wait(), 30)
        return (time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000

    async def press_all(self, keys: list[str], pause: float) -> list[tuple[float, float]]:
        """Press *keys* one after another, *pause* seconds between a picture and the next key."""
        times = []
        for key in keys:
            times.append(await self.press(key))
            await asyncio.sleep(pause)
        return times


def quantiles(name: str, times: list[tuple[float, float]]) -> dict[str, float]:
    """Median and 95th percentile of the time; the latter of the processor's time, which other programs
    that run meanwhile disturb less."""
    found = {f"{name}_ms": statistics.median(wall for wall, _ in times)}
    for what, place in ((f"{name}_p95_ms", 0), (f"{name}_cpu_p95_ms", 1)):
        found[what] = statistics.quantiles([pair[place] for pair in times], n=20)[18]
    return {what: round(value, 2) for what, value in found.items()}
