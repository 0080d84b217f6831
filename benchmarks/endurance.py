"""Long runs: many guarded agents beside one console, and a console that is left open.

    PYTHONPATH=core:console python benchmarks/endurance.py [--agents 16] [--seconds 60] [--events 200000]

1. So many agents, each a process with a shim of its own, make calls as fast as they can for so long, while a
   console is open on their store. Told: calls, events that are missing, appends that failed, the longest
   that one step of a call took, the largest write-ahead log.
2. One agent writes so many events while a console is open. Told: the largest write-ahead log, and whether
   the console has every event at the end.

The machine is shared by all of them, so the longest step includes waiting for a processor. Exit code 1 where
an event is missing, an append failed, or a step took more than a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store

#: Seconds that the console has to read on after the last agent ended.
PATIENCE = 300.0


def agent(place: str, name: str, seconds: float, calls: int) -> None:
    """Make calls for so long, or so many; print what happened as JSON."""
    said: list[str] = []
    longest, made, began = 0.0, 0, time.monotonic()
    guard = LoopGuard(name, session=name, store=place, say=said.append, raise_on_halt=False)
    with guard:
        while made < calls if calls else time.monotonic() - began < seconds:
            args = {"query": f"question {made}", "context": "lorem ipsum " * 50}
            begin = time.monotonic()
            decision = guard.before_call("search", args)
            middle = time.monotonic()
            guard.after_call(decision, f"answer {made} " * 60)
            longest = max(longest, middle - begin, time.monotonic() - middle)
            made += 1
    print(json.dumps({"session": name, "calls": made, "longest": longest, "said": said}))


def start(place: Path, name: str, seconds: float, calls: int) -> subprocess.Popen[str]:
    argv = [sys.executable, __file__, "agent", str(place), name, str(seconds), str(calls)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


@contextmanager
def largest_log(place: Path) -> Iterator[list[int]]:
    """The bytes of the write-ahead log, looked at often; the list holds the most that there were."""
    log, most, done = place.with_name(place.name + "-wal"), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            if log.exists():
                most[0] = max(most[0], log.stat().st_size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


async def beside_console(place: Path, count: int, seconds: float, calls: int) -> dict[str, Any]:
    """Run *count* agents beside an open console; what they said, and what the console has at the end."""
    from loopguard_console.opening import live_app

    app = live_app(str(place))
    async with app.run_test(size=(120, 40)):
        agents = [start(place, f"agent-{n}", seconds, calls) for n in range(count)]
        while any(a.poll() is None for a in agents):
            await asyncio.sleep(0.1)
        said = [json.loads(a.stdout.read()) for a in agents if a.stdout is not None]
        ended, store = time.monotonic(), open_store(str(place))
        last = {s["session"]: store.last(s["session"]) for s in said}
        store.close()
        view = app.desk.view
        missed = -1
        if view is not None and app.desk.current in last:
            while (
                view.recording.seq < last[app.desk.current] and time.monotonic() - ended < PATIENCE
            ):
                await asyncio.sleep(0.05)
            missed = last[app.desk.current] - view.recording.seq
        return {"agents": said, "missed": missed, "behind": time.monotonic() - ended}


def missing(place: Path, said: list[dict[str, Any]]) -> int:
    """Events that the agents were told are stored, and that are not there; gaps count as well."""
    store = open_store(str(place))
    lost = 0
    for each in said:
        events = store.read(each["session"], payloads=False)
        lost += abs(len(events) - (2 * each["calls"] + 2))  # its start and its end
        lost += sum(e.type == "gap" for e in events)
        lost += [e.seq for e in events] != list(range(1, len(events) + 1))
    store.close()
    return lost


def run(count: int, seconds: float, calls: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "events.db"
        with largest_log(place) as most:
            found = asyncio.run(beside_console(place, count, seconds, calls))
        said = found["agents"]
        lost = missing(place, said)
        failed = [line for each in said for line in each["said"]]
        longest = max(each["longest"] for each in said)
        print(
            f"{count} agents, {sum(each['calls'] for each in said):,} calls: {lost} events missing, "
            f"{len(failed)} failures said, longest step {longest * 1e3:.0f} ms, largest log "
            f"{most[0] / 1e6:.1f} MB; the console missed {found['missed']} and had the last "
            f"{found['behind']:.1f} s after the end"
        )
        for line in failed[:5]:
            print(f"  {line}")
        return not (lost or failed or longest > 1.0 or found["missed"])


def main() -> int:
    if sys.argv[1:2] == ["agent"]:
        agent(sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--events", type=int, default=200_000)
    given = parser.parse_args()
    together = run(given.agents, given.seconds, 0)
    alone = run(1, 0.0, given.events // 2)
    return 0 if together and alone else 1


if __name__ == "__main__":
    sys.exit(main())
