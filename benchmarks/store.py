"""What the event store costs, as ratios within one run.

    PYTHONPATH=core python benchmarks/store.py [--quick]

1. Two appends of 1 kB, redaction included, against two bare prepared autocommit INSERTs of the same bytes
   through sqlite3, tight and paced at 2 ms.
2. How much 10,000 identical results of 100 kB make the file grow.
3. What a reader asks of a long log, against the same of a short one: all of it is to be constant.
4. The write-ahead log beside an open console during a long burst.

Exit code 1 where a bound is not met.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from percentiles import percentile

from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store

BOUNDS = {
    "two appends / two INSERTs, tight": 3.0,
    "two appends / two INSERTs, paced": 3.0,
    "p99 of two appends / their median, tight": 6.0,
    "MB for 10,000 identical results": 8.0,
    "MB of write-ahead log beside a console": 45.0,
}
#: Replaying is to reach at least this part of the rate at which rows are iterated.
REPLAY = 0.25
#: A long log may cost this much more than a short one: a level more of a tree, colder pages.
CONSTANT = 6.0

WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
    "incididunt",
    "ut",
    "labore",
    "et",
    "dolore",
    "magna",
    "aliqua",
    "ut",
    "enim",
    "ad",
    "minim",
    "veniam",
    "quis",
    "nostrud",
    "exercitation",
]


def text(n: int, size: int) -> str:
    """Some *size* characters of words, none like another."""
    words = [WORDS[(n * 7 + i * i) % len(WORDS)] for i in range(size // 6)]
    return f"{n} " + " ".join(words)


def call(n: int, tier: str = "allow", size: int = 700, session: str = "bench") -> list[Event]:
    """The two events of a call as a shim writes them."""
    signature = f"search:{n % 50:024x}"
    verdict = {"tier": tier, "policy": "graded", "signature": signature, "count": n % 50}
    ids = {"exact": {"a": f"{n % 50:024x}"}, "graded/1": {"a": f"{n % 50:024x}"}}
    start = {
        "call": f"{n:032x}",
        "tool": "search",
        "args": {"q": text(n, size)},
        "message": f"m{n}",
    }
    end = {"call": f"{n:032x}", "outcome": "ok", "result": text(n + 1, size), "duration": 0.1}
    results = {"exact": {"r": f"{n % 9:024x}"}, "graded/1": {"r": f"{n % 9:024x}"}}
    return [
        Event("call_start", session, ts=1e9 + n, data={**start, "ids": ids, "verdict": verdict}),
        Event("call_end", session, ts=1e9 + n, data={**end, "ids": results}),
    ]


def timed(act: Callable[[int], object], times: int, pace: float = 0.0) -> list[float]:
    taken = []
    for n in range(times):
        if pace:
            time.sleep(pace)
        begin = time.perf_counter()
        act(n)
        taken.append(time.perf_counter() - begin)
    return taken


def appends(folder: Path, times: int, found: dict[str, float]) -> None:
    for name, pace in (("tight", 0.0), ("paced", 0.002)):
        ratios, tails = [], []
        for turn in range(5):
            db = sqlite3.connect(folder / f"bare-{name}-{turn}.db", isolation_level=None)
            for pragma in (
                "journal_mode = WAL",
                "synchronous = NORMAL",
                "wal_autocheckpoint = 4096",
            ):
                db.execute(f"PRAGMA {pragma}")
            db.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, ts REAL, data TEXT)")
            sizes = [len(json.dumps(e.to_json())) for e in call(1)]

            def bare(n: int, db: Any = db, sizes: list[int] = sizes) -> None:
                for size in sizes:
                    db.execute(
                        "INSERT INTO event (ts, data) VALUES (?, ?)", (time.time(), "x" * size)
                    )

            store = open_store(str(folder / f"events-{name}-{turn}.db"))
            pairs = [call(n) for n in range(times)]
            last = 0

            def ours(n: int, store: Store = store, pairs: Any = pairs) -> None:
                nonlocal last
                for event in pairs[n]:
                    last = store.append(event, expect=last)

            one, two = timed(bare, times, pace), timed(ours, times, pace)
            ratios.append(statistics.median(two) / statistics.median(one))
            tails.append(percentile(two, 0.99) / statistics.median(two))
            db.close()
            store.close()
        found[f"two appends / two INSERTs, {name}"] = statistics.median(ratios)
        found[f"p99 of two appends / their median, {name}"] = statistics.median(tails)


def identical(folder: Path, found: dict[str, float]) -> None:
    place = folder / "identical.db"
    store = open_store(str(place))
    result = text(0, 100_000)
    for n in range(10_000):
        start, end = call(n, size=20)
        end.data["result"] = result
        store.append(start)
        store.append(end)
    store.close()
    found["MB for 10,000 identical results"] = place.stat().st_size / 1e6


def long_log(folder: Path, calls: int) -> tuple[dict[str, float], float]:
    """Seconds of each question to a log of *calls* calls in one session, with 200 other sessions."""
    store = open_store(str(folder / f"long-{calls}.db"))
    for n in range(200):
        store.append(Event("session_start", f"other-{n}", ts=1.0, data={"agent": "a"}))
    batch: list[Event] = []
    begin = time.perf_counter()
    for n in range(calls):
        if n % 1_000 == 0:
            batch.append(Event("user_message", "bench", ts=1e9 + n, data={"text": "go on"}))
        batch += call(n, "warn" if n % 1_000 == 999 else "allow", size=60)
        if len(batch) >= 800:
            store.extend(batch)
            batch.clear()
    store.extend(batch)
    filled = time.perf_counter() - begin
    last = store.last("bench")
    middle = last // 2
    asked: dict[str, Callable[[int], object]] = {
        "the last page of 100": lambda n: store.read("bench", after=last - 100),
        "any page of 100 by number": lambda n: store.read("bench", after=middle + n, limit=100),
        "the window: the last 60 without payloads": lambda n: store.read(
            "bench", after=last - 60, payloads=False
        ),
        "the next tier change": lambda n: store.next_change("bench", middle + n),
        "the last turn": lambda n: store.last_turn("bench"),
        "all sessions": lambda n: store.sessions(),
        "waiting requests": lambda n: store.requests(pending=True),
    }
    cost = {name: statistics.median(timed(act, 60)) for name, act in asked.items()}
    store.close()
    return cost, filled / (2 * calls)


def beside_a_console(folder: Path, events: int, found: dict[str, float]) -> None:
    place = folder / "console.db"
    agent, console = open_store(str(place)), open_store(str(place))
    wal, most = place.with_name("console.db-wal"), 0
    for n in range(events):
        agent.append(Event("note", "bench", ts=1.0, data={"text": text(n, 900)}))
        if n % 500 == 0:
            console.changed(0)
            console.sessions()
            console.beat(1.0)
            most = max(most, wal.stat().st_size)
    agent.close()
    console.close()
    found["MB of write-ahead log beside a console"] = most / 1e6


def replay(folder: Path, calls: int) -> float:
    """The rate of folding a stored session of *calls*, as a part of that of iterating its rows."""
    place = folder / "replay.db"
    with LoopGuard("replay", policy="hermes", store=open_store(str(place)), say=print) as guard:
        for n in range(calls):
            guard.after_call(guard.before_call("search", {"q": text(n, 700)}), text(n + 1, 700))
    store, db = open_store(str(place)), sqlite3.connect(place)
    session = store.sessions()[0].session
    rates = []
    for _ in range(3):
        begin = time.process_time()
        rows = sum(1 for _ in db.execute("SELECT * FROM event"))
        bare = time.process_time() - begin
        fold = Guard(Config({"policy": "hermes"}).make_policy())
        begin = time.process_time()
        for event in store.read_all(session, payloads=False):
            fold.apply(event)
        rates.append(bare / (time.process_time() - begin))
        assert fold.seq == rows
    db.close()
    store.close()
    return statistics.median(rates)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    quick = parser.parse_args().quick
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        appends(folder, 300 if quick else 2_000, found)
        identical(folder, found)
        beside_a_console(folder, 20_000 if quick else 200_000, found)
        short, _ = long_log(folder, 2_000)
        calls = 50_000 if quick else 1_000_000
        long, per_event = long_log(folder, calls)
        rate = replay(folder, calls)
    print("| | measured | bound |\n|---|---|---|")
    met = True
    for name, value in found.items():
        bound = BOUNDS.get(name)
        met = met and (bound is None or value <= bound)
        print(f"| {name} | {value:.2f} | {'' if bound is None else bound} |")
    print(f"\n| a log of {calls:,} calls | ms | of 2,000 calls | ratio |\n|---|---|---|---|")
    for name, cost in long.items():
        ratio = cost / short[name]
        met = met and ratio <= CONSTANT
        print(f"| {name} | {cost * 1e3:.3f} | {short[name] * 1e3:.3f} | {ratio:.1f} |")
    print(f"\nFilling it in batches: {per_event * 1e6:.0f} µs an event.")
    print(
        f"Replaying {calls:,} calls through hermes / iterating their rows: {rate:.3f} ({REPLAY})."
    )
    return 0 if met and rate >= REPLAY else 1


if __name__ == "__main__":
    sys.exit(main())
