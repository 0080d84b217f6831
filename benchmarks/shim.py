"""What the shim costs an agent, as ratios within one run.

    python benchmarks/shim.py [--calls 2000] [--rounds 5] [--policy NAME] [--payload KIND]

1. One call through the shim (before and after: identity, guard, redaction, two events of 1 kB in the
   store) against two bare prepared autocommit INSERTs of the same bytes through sqlite3, tight and paced.
   *KIND*: what a call carries (plain, prose, shell, object); the bounds are for plain.
2. From a human's commit to the agent's hands, against a bare datagram between two processes.

Exit code 1 where a bound is not met.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from percentiles import percentile

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store

PACE = 0.002
BOUNDS = {
    "shim / two INSERTs, tight": 3.0,
    "shim / two INSERTs, paced": 3.0,
    "shim p99 / its median, tight": 6.0,
    "shim p99 / its median, paced": 6.0,
    "wake p99 / datagram median": 50.0,
    "processor while waiting, percent": 0.5,
}


Payload = tuple[str, dict[str, object], object]


def plain(n: int) -> Payload:
    return (
        "search",
        {"query": f"question {n} ", "context": "lorem ipsum " * 50},
        f"answer {n} " * 60,
    )


def prose(n: int) -> Payload:
    """Texts with every letter in them, so that the search for secrets has to look."""
    words = "the quick brown fox jumps over a lazy dog while nobody asks whether it works "
    return "ask", {"text": f"question {n}: {words * 7}"}, f"answer {n}: {words * 8}"


def shell(n: int) -> Payload:
    command = f"cd /srv/app && grep -rn 'needle{n}' src | head -20 && python -m pytest tests/test_{n}.py -x -q"
    args: dict[str, object] = {"command": command, "description": "Find it and run its tests " * 15}
    return "Bash", args, f"src/a.py:{n}: needle found here in this line\n" * 15


def objects(n: int) -> Payload:
    """Arguments and a result with structure, which have to be written as JSON."""
    items = [{"id": i, "name": f"item {i} of {n}", "price": i * 1.5, "tags": []} for i in range(12)]
    filters = {"ids": list(range(60)), "near": {"x": 1.5, "y": n}, "words": ["lorem ipsum"] * 30}
    return "list_items", {"page": n, "filters": filters}, {"items": items, "next": n + 1}


PAYLOADS = {"plain": plain, "prose": prose, "shell": shell, "object": objects}


def timed(
    act: Callable[[Payload], object], make: Callable[[int], Payload], times: int, pace: float
) -> list[float]:
    """Seconds of each *act* upon a call's arguments and result, which its agent has made before.

    What is made has about 1 kB an event, and none is like another.
    """
    taken = []
    for n in range(times):
        if pace:
            time.sleep(pace)
        made = make(n)
        begin = time.perf_counter()
        act(made)
        taken.append(time.perf_counter() - begin)
    return taken


def bare(
    folder: Path,
    sizes: tuple[int, int],
    make: Callable[[int], Payload],
    times: int,
    pace: float,
) -> list[float]:
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 8192")
    db.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, ts REAL, data TEXT)")
    one, two = ("x" * size for size in sizes)
    sql = "INSERT INTO event (ts, data) VALUES (?, ?)"

    def act(made: Payload) -> None:
        db.execute(sql, (time.time(), one))
        db.execute(sql, (time.time(), two))

    taken = timed(act, make, times, pace)
    db.close()
    return taken


def guarded(
    folder: Path, policy: str, make: Callable[[int], Payload], times: int, pace: float
) -> list[float]:
    place = str(folder / "events.db")
    with LoopGuard("bench", policy=policy, store=open_store(place), say=lambda line: None) as guard:

        def act(made: Payload) -> None:
            tool, args, result = made
            guard.after_call(guard.before_call(tool, args), result)

        return timed(act, make, times, pace)


def sizes(folder: Path) -> tuple[int, int]:
    """Bytes of the two events of a call as they stand in the store."""
    store = open_store(str(folder / "events.db"))
    events = store.read(store.sessions()[0].session)

    def usual(kind: str) -> int:
        found = [len(json.dumps(e.to_json())) for e in events if e.type == kind]
        return int(statistics.median(found))

    return usual("call_start"), usual("call_end")


def answer(folder: str, times: int, gate: multiprocessing.connection.Connection) -> None:
    """Approve what waits, *times* times, and send the moment after each commit."""
    store = open_store(f"{folder}/wake.db")
    for _ in range(times):
        request = gate.recv()
        time.sleep(0.02)
        begin = time.monotonic()
        escape.approve(store, request, by="bench")
        gate.send((begin, time.monotonic()))


def wake(folder: Path, times: int) -> tuple[list[float], float]:
    """Seconds from commit to the agent's hands, and the processor's share while nothing happens."""
    settings = {"policy": "graded", "unattended_wait_seconds": 60.0}
    config = Config({**settings, "store": str(folder / "wake.db")})
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(
        target=answer, args=(str(folder), times, there)
    )
    taken: list[float] = []
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if "request=" in line:
            here.send(line.partition("request=")[2].partition(":")[0])

    with LiveSession(config, "wake", say=say) as live:
        child.start()
        for _ in range(2):
            live.after(live.before("search", {"q": 1}), "r")
        for _ in range(times):
            decision = live.before("search", {"q": 1})
            got = time.monotonic()
            assert decision.run
            _, committed = here.recv()
            taken.append(max(0.0, got - committed))
            live.after(decision, "r")
    child.join()
    config = Config({**settings, "unattended_wait_seconds": 10.0, "store": str(folder / "idle.db")})
    with LiveSession(config, "idle", say=lambda line: None) as live:
        for _ in range(2):
            live.after(live.before("search", {"q": 1}), "r")
        before, begin = _cpu(), time.monotonic()
        live.before("search", {"q": 1})
        share = (_cpu() - before) / (time.monotonic() - begin)
    return taken, share


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def echo(path: str, times: int) -> None:
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(times):
        time.sleep(0.02)
        sender.sendto(str(time.monotonic()).encode(), path)


def datagram(folder: Path, times: int) -> list[float]:
    """Seconds from a send to the receiver's hands, in another process."""
    path = str(folder / "wake.sock")
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(path)
    child = multiprocessing.get_context("spawn").Process(target=echo, args=(path, times))
    child.start()
    taken = []
    for _ in range(times):
        sent = float(receiver.recv(64))
        taken.append(time.monotonic() - sent)
    child.join()
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wakes", type=int, default=100)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--payload", choices=PAYLOADS, default="plain")
    given = parser.parse_args()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = PAYLOADS[given.payload]
        guarded(folder, given.policy, make, 200, 0)
        wide = sizes(folder)
        print(
            f"events of {wide[0]} and {wide[1]} bytes, {given.payload}, policy {given.policy}, times in µs"
        )
        for word, pace in (("tight", 0.0), ("paced", PACE)):
            times = given.calls if not pace else given.calls // 4
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(given.rounds):
                theirs += bare(folder, wide, make, times, pace)
                ours += guarded(folder, given.policy, make, times, pace)
            middle, floor = statistics.median(ours), statistics.median(theirs)
            found[f"shim / two INSERTs, {word}"] = middle / floor
            found[f"shim p99 / its median, {word}"] = percentile(ours, 0.99) / middle
            print(
                f"{word}: two INSERTs {floor * 1e6:.0f}, shim {middle * 1e6:.0f}, "
                f"p99 {percentile(ours, 0.99) * 1e6:.0f}"
            )
        base = datagram(folder, given.wakes)
        woken, share = wake(folder, given.wakes)
        print(
            f"wake: datagram {statistics.median(base) * 1e6:.0f}, "
            f"ours {statistics.median(woken) * 1e6:.0f}, p99 {percentile(woken, 0.99) * 1e6:.0f}"
        )
        found["wake p99 / datagram median"] = percentile(woken, 0.99) / statistics.median(base)
        found["processor while waiting, percent"] = share * 100
    failed = False
    for name, bound in BOUNDS.items():
        met = found[name] <= bound
        failed = failed or not met
        print(f"{'ok  ' if met else 'over'} {name:36} {found[name]:7.2f} (at most {bound:g})")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("LOOPGUARD_SESSION", None)
    sys.exit(main())
