"""The console while an agent writes fast, beside a bare Line-API list under the same load.

    python benchmarks/console_live.py [SECONDS [EVENTS_PER_SECOND [CALLS_BEFORE]]]

A process of its own appends events (60 seconds, 1,000 a second, over 100,000 calls by default) while keys
are pressed four times a second. Printed: milliseconds from a key to the picture (median, p95), processor
seconds used, whether anything was missed, and seconds from the last event until the console had it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from console_scale import KEYS, SESSION, BareApp, press, quantiles, write_store
from textual.app import App

from loopguard_console.opening import live_app
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

EVERY = 0.25


def writer(path: str, seconds: float, rate: float, before: int) -> None:
    """Append calls at an even pace; the last sequence number is printed at the end."""
    store = open_store(path)
    begun = time.monotonic()
    seq = number = 0
    while time.monotonic() - begun < seconds:
        name = f"c{before + number}"
        kind = number % 7
        ids: dict[str, Any] = {"exact": {"a": f"{kind:024x}"}, "graded/1": {"a": f"{kind:024x}"}}
        data = {"call": name, "tool": f"tool_{kind}", "args": {"query": kind}, "message": name}
        store.append(Event("call_start", SESSION, ts=time.time(), data={**data, "ids": ids}))
        ids = {"exact": {"r": f"{number:024x}"}, "graded/1": {"r": f"{number:024x}"}}
        data = {"call": name, "outcome": "ok", "result": number, "ids": ids}
        seq = store.append(Event("call_end", SESSION, ts=time.time(), data=data))
        number += 1
        time.sleep(max(0.0, begun + 2 * number / rate - time.monotonic()))
    print(seq, flush=True)


async def measure(
    app: App[Any], path: str, seconds: float, rate: float, before: int
) -> dict[str, Any]:
    async with app.run_test(size=(120, 40)):
        view = await loaded(app, before)
        argv = [sys.executable, __file__, "write", path, str(seconds), str(rate), str(before)]
        agent = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        used, times, number = time.process_time(), [], 0
        while agent.poll() is None:
            drawn = asyncio.Event()
            start = time.perf_counter()
            press(app, KEYS[number % len(KEYS)])
            app.screen.call_after_refresh(drawn.set)
            await drawn.wait()
            times.append((time.perf_counter() - start) * 1000)
            number += 1
            await asyncio.sleep(EVERY)
        used = time.process_time() - used
        assert agent.stdout is not None
        last, ended = int(agent.stdout.read()), time.perf_counter()
        found: dict[str, Any] = {**quantiles("key", times), "cpu_s": round(used, 2)}
        if view is not None:
            while view.recording.seq < last and time.perf_counter() - ended < 30:
                await asyncio.sleep(0.01)
            found["caught_up_s"] = round(time.perf_counter() - ended, 2)
            found["missed"] = last - view.recording.seq
        return found


async def loaded(app: App[Any], calls: int) -> Any:
    """Wait until a console has read what was there before; None for a bare list."""
    desk = getattr(app, "desk", None)
    if desk is None:
        return None
    while desk.view is None or len(desk.view.recording) < calls:
        await asyncio.sleep(0.05)
    return desk.view


def main() -> None:
    if sys.argv[1:2] == ["write"]:
        writer(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
        return
    if sys.argv[1:2] in (["bare"], ["console"]):
        kind, path, before = sys.argv[1], sys.argv[2], int(sys.argv[5])
        app: App[Any] = live_app(path) if kind == "console" else BareApp(open_store(path), before)
        print(
            json.dumps(
                asyncio.run(measure(app, path, float(sys.argv[3]), float(sys.argv[4]), before))
            )
        )
        return
    given = sys.argv[1:] + ["60", "1000", "100000"][len(sys.argv) - 1 :]
    for kind in ("bare", "console"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "live.db"
            write_store(path, int(given[2]))
            argv = [sys.executable, __file__, kind, str(path), *given]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            print(f"{kind:<8} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
