"""The console on a long recording, beside a bare Line-API list over the same rows.

    python benchmarks/console_scale.py [CALLS]

For 1,000 calls and for CALLS (default 1,000,000), each in a process of its own: seconds until the first
call is on the screen, megabytes of memory when everything is read, and milliseconds from a key to the
picture (median and p95): typed while the recording is still being read (``busy``), typed afterwards (``key``),
and pressed as fast as they are answered (``key_held``), where both wait for the next of 60 pictures a second. The terminal is headless at 120x40, so what is measured is the console.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bare_list import KEYS, BareApp
from key_times import KeyTimer, quantiles

from loopguard_console.opening import stored_app
from loopguard_console.widgets.chain import Chain
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

SESSION = "long"
ROUNDS = 12
PAUSE = 0.035  # seconds between a picture and the next key, where keys are typed


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


async def both_paces(keys: KeyTimer, name: str) -> dict[str, float]:
    """Keys typed with pauses between them, and keys that come as fast as they are answered."""
    typed = await keys.press_all([*KEYS] * ROUNDS, PAUSE)
    held = await keys.press_all([*KEYS] * ROUNDS, 0.0)
    return {**quantiles(name, typed), **quantiles(f"{name}_held", held)}


async def measure_console(path: str) -> dict[str, float]:
    begun = time.perf_counter()
    app = stored_app(SESSION, path)
    async with app.run_test(size=(120, 40)):
        while app.desk.view is None or not len(app.desk.view.recording):
            await asyncio.sleep(0.002)
        drawn = asyncio.Event()
        app.screen.call_after_refresh(drawn.set)
        await drawn.wait()
        first = time.perf_counter() - begun
        await asyncio.sleep(0.5)
        keys = KeyTimer(app, app.screen.query_one(Chain))
        busy = await keys.press_all([*KEYS] * ROUNDS, PAUSE)
        while app._loading:
            await asyncio.sleep(0.05)
        loaded = time.perf_counter() - begun
        await asyncio.sleep(0.5)
        return {
            "first": first,
            "loaded": loaded,
            **quantiles("busy", busy),
            **await both_paces(keys, "key"),
        }


async def measure_bare(path: str, calls: int) -> dict[str, float]:
    store = open_store(path, create=False, read_only=True)
    app = BareApp(store, SESSION, calls)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        return await both_paces(KeyTimer(app, app.list), "key")


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
