"""The console while an agent writes fast, beside a bare Line-API list under the same load.

    python benchmarks/console_live.py [SECONDS [EVENTS_PER_SECOND [CALLS_BEFORE]]]

A process of its own appends events (60 seconds, 1,000 a second, over 100,000 calls by default) while keys
are pressed about four times a second. Three processes are measured one after the other, each over a store of its
own: a bare list that reads nothing new (``still``), one that tails the store (``bare``), and the console.
Printed: milliseconds from a key to the picture (median, p95), processor seconds used, whether anything was
missed, and seconds from the writer's end until the last event was there.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from bare_list import KEYS, BareApp
from console_scale import SESSION, write_store
from key_times import KeyTimer, quantiles
from textual.app import App

from loopguard_console.opening import live_app
from loopguard_console.widgets.chain import Chain
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

#: Seconds between a picture and the next key; no multiple of what any list takes between two looks.
EVERY = 0.237


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


class Bare:
    """The bare list as this benchmark drives it."""

    def __init__(self, path: str, before: int, *, tails: bool) -> None:
        self.app: App[Any] = BareApp(open_store(path), SESSION, before, tails=tails)
        self._tails = tails

    async def loaded(self) -> KeyTimer:
        assert isinstance(self.app, BareApp)
        return KeyTimer(self.app, self.app.list)

    def seq(self) -> int | None:
        """How far it has read, None where it does not."""
        assert isinstance(self.app, BareApp)
        return self.app.list.seq if self._tails else None


class Console:
    """The console as this benchmark drives it."""

    def __init__(self, path: str, before: int) -> None:
        self._console = live_app(path)
        self.app: App[Any] = self._console
        self._before = before

    async def loaded(self) -> KeyTimer:
        desk = self._console.desk
        while desk.view is None or len(desk.view.recording) < self._before:
            await asyncio.sleep(0.05)
        return KeyTimer(self.app, self.app.screen.query_one(Chain))

    def seq(self) -> int | None:
        """How far it has read."""
        view = self._console.desk.view
        return 0 if view is None else view.recording.seq


async def measure(
    what: Bare | Console, path: str, seconds: float, rate: float, before: int
) -> dict[str, Any]:
    async with what.app.run_test(size=(120, 40)):
        keys = await what.loaded()
        await asyncio.sleep(1.0)
        argv = [sys.executable, __file__, "write", path, str(seconds), str(rate), str(before)]
        agent = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        used, times = time.process_time(), []
        for key in cycle(KEYS):
            times.append(await keys.press(key))
            await asyncio.sleep(EVERY)
            if agent.poll() is not None:
                break
        used = time.process_time() - used
        assert agent.stdout is not None
        last, ended = int(agent.stdout.read()), time.perf_counter()
        found: dict[str, Any] = {**quantiles("key", times), "cpu_s": round(used, 2)}
        found["longest_ms"] = round(max(times)[0], 1)
        if what.seq() is not None:
            while (what.seq() or 0) < last and time.perf_counter() - ended < 30:
                await asyncio.sleep(0.01)
            found["caught_up_s"] = round(time.perf_counter() - ended, 2)
            found["missed"] = last - (what.seq() or 0)
        found["events"] = last - 2 * before
        return found


def main() -> None:
    if sys.argv[1:2] == ["write"]:
        writer(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
        return
    kinds = ("still", "bare", "console")
    if sys.argv[1:2] and sys.argv[1] in kinds:
        kind, path, before = sys.argv[1], sys.argv[2], int(sys.argv[5])
        what = (
            Console(path, before) if kind == "console" else Bare(path, before, tails=kind == "bare")
        )
        run = measure(what, path, float(sys.argv[3]), float(sys.argv[4]), before)
        print(json.dumps(asyncio.run(run)))
        return
    given = sys.argv[1:] + ["60", "1000", "100000"][len(sys.argv) - 1 :]
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "live.db"
            write_store(path, int(given[2]))
            argv = [sys.executable, __file__, kind, str(path), *given]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            print(f"{kind:<8} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
