"""The console on a long recording, beside a bare Line-API list over the same rows.

    python benchmarks/console_scale.py [CALLS]

For 1,000 calls and for CALLS (default 1,000,000), each in a process of its own: seconds until the first
call is on the screen, megabytes of memory when everything is read, and milliseconds from a key to the
picture (median and p95). The terminal is headless at 120x40, so what is measured is the console.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.scroll_view import ScrollView
from textual.strip import Strip

from loopguard_console.opening import stored_app
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store

SESSION = "long"
KEYS = ("j", "k", "pagedown", "pageup", "G", "g", "right_square_bracket", "left_square_bracket")
ROUNDS = 12


def write_store(path: Path, calls: int) -> None:
    """A session of *calls* calls: mostly a few that come again, some new, a turn every 200."""
    store = open_store(str(path))
    try:
        start = {"agent": "long", "policy": "graded", "mode": "observe"}
        store.append(Event("session_start", SESSION, ts=0.0, data=start))
        for number in range(calls):
            ts = float(number)
            if number % 200 == 0:
                store.append(Event("user_message", SESSION, ts=ts, data={"text": "go on"}))
            kind = number % 7 if number % 50 else number
            call, digest = f"c{number}", f"{kind:024x}"
            ids = {"exact": {"a": digest}, "graded/1": {"a": digest}}
            data: dict[str, Any] = {"call": call, "tool": f"tool_{kind % 5}", "message": call}
            data |= {"args": {"query": f"words {kind}"}, "ids": ids}
            store.append(Event("call_start", SESSION, ts=ts, data=data))
            end = {"call": call, "outcome": "ok", "result": f"answer {kind}", "duration": 0.1}
            ids = {"exact": {"r": digest}, "graded/1": {"r": digest}}
            store.append(Event("call_end", SESSION, ts=ts + 0.1, data={**end, "ids": ids}))
    finally:
        store.close()


class BareList(ScrollView, can_focus=True):
    """One line an event, read when it is drawn, and a cursor: nothing else."""

    BINDINGS = [(key, f"go('{key}')", "") for key in KEYS]  # noqa: RUF012

    def __init__(self, store: Store, lines: int) -> None:
        super().__init__()
        self._store = store
        self._lines = lines
        self._at = 0

    def on_mount(self) -> None:
        self.virtual_size = Size(100, self._lines)

    def action_go(self, key: str) -> None:
        by = {"j": 1, "k": -1, "pagedown": 30, "pageup": -30, "G": self._lines, "g": -self._lines}
        self._at += by.get(key, 1 if key.startswith("right") else -1)
        self._at = max(0, min(self._lines - 1, self._at))
        region = Region(0, self._at, 1, 1)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = y + round(self.scroll_offset.y)
        found = self._store.read(SESSION, after=2 * line, limit=1)
        text = str(found[0].data.get("tool", "")) if found else ""
        return Strip([Segment(f"{line:>8} {text}")]).adjust_cell_length(self.size.width)


class BareApp(App[None]):
    """The bare list alone."""

    def __init__(self, store: Store, lines: int) -> None:
        super().__init__()
        self._list = BareList(store, lines)

    def compose(self) -> ComposeResult:
        yield self._list


async def key_times(app: App[None], pilot: Pilot[None]) -> list[float]:
    """Milliseconds from each key until what it changed has been drawn."""
    times = []
    for _ in range(ROUNDS):
        for key in KEYS:
            drawn = asyncio.Event()
            start = time.perf_counter()
            press(app, key)
            app.screen.call_after_refresh(drawn.set)
            await drawn.wait()
            times.append((time.perf_counter() - start) * 1000)
    return times


def press(app: App[None], key: str) -> None:
    """Put a key into the application's queue, as the driver does."""
    from textual import events

    characters = {"right_square_bracket": "]", "left_square_bracket": "["}
    app.post_message(events.Key(key, characters.get(key, key if len(key) == 1 else None)))


async def measure_console(path: str) -> dict[str, float]:
    begun = time.perf_counter()
    app = stored_app(SESSION, path)
    async with app.run_test(size=(120, 40)) as pilot:
        while app.desk.view is None or not len(app.desk.view.recording):
            await asyncio.sleep(0.002)
        drawn = asyncio.Event()
        app.screen.call_after_refresh(drawn.set)
        await drawn.wait()
        first = time.perf_counter() - begun
        await asyncio.sleep(0.5)
        busy = await key_times(app, pilot)
        while app._loading:
            await asyncio.sleep(0.05)
        loaded = time.perf_counter() - begun
        await asyncio.sleep(0.5)
        return {
            "first": first,
            "loaded": loaded,
            **quantiles("busy", busy),
            **quantiles("key", await key_times(app, pilot)),
        }


async def measure_bare(path: str, calls: int) -> dict[str, float]:
    store = open_store(path, create=False, read_only=True)
    app = BareApp(store, calls)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        return quantiles("key", await key_times(app, pilot))


def quantiles(name: str, times: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {
        f"{name}_ms": statistics.median(times),
        f"{name}_p95_ms": statistics.quantiles(times, n=20)[18],
    }


def child(kind: str, path: str, calls: int) -> None:
    """One measurement in this process, printed as JSON."""
    run = measure_console(path) if kind == "console" else measure_bare(path, calls)
    found = asyncio.run(run)
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({k: round(v, 3) for k, v in found.items()}))


def main() -> None:
    if len(sys.argv) == 4:
        child(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        return
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for calls in (1_000, many):
            path = Path(folder) / f"{calls}.db"
            write_store(path, calls)
            for kind in ("bare", "console"):
                argv = [sys.executable, __file__, kind, str(path), str(calls)]
                done = subprocess.run(argv, capture_output=True, text=True, check=True)
                print(f"{calls:>9,} calls  {kind:<8} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
