"""A hundred agents on one PostgreSQL server, with a console and a person who decides, on one machine.

    python benchmarks/fleet.py [--agents 100] [--rate 5] [--seconds 60] [--url postgresql://…]

1. Every agent makes so many calls a second. Some of them repeat themselves until they are stopped; a person
   approves. Counted at the end: what is missing, what is there twice. Measured: from the return of the
   person's decision to the return of the agent's call, and what a call that is not stopped takes.
2. In the same run, on the same server: events a second through the store's ``append``, as fast as several
   processes can, against bare prepared INSERTs of the same bytes through psycopg, in alternation.

Without ``--url`` a server is started from the wheel that the tests use. Exit code 1 where a bound is not met.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from percentiles import percentile

from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.session.returning import drain_all
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import place_of
from loopguard_core.store.spool import open_spool

PROCESSES = 4
RESULT = "a result of some length " * 30
BOUNDS = {
    "events missing or there twice": 0.0,
    "decision to agent, p99, ms": 50.0,
    "store / bare INSERTs, events a second": 0.5,
}


# -- 1. the fleet ----------------------------------------------------------------------------------


def agent(
    url: str, name: str, rate: float, seconds: float, together: bool, out: dict[str, Any]
) -> None:
    """One agent: calls at its pace; every tenth second it repeats itself until it is stopped.

    Each at a time of its own, or with *together* all in the same fifth of a second.
    """
    settings = {"policy": "graded", "store": url, "wait_seconds": 30}
    live = LiveSession(
        Config(settings), name, agent="bench", say=lambda line: out["said"].append(line)
    )
    began = time.monotonic()
    number = int(name.rpartition("-")[2])
    offset, phase = (number % 10) / 10 / rate, 0 if together else number * 7 % 50
    made = 0
    while (now := time.monotonic()) < began + seconds:
        at = began + offset + made / rate
        if at > now:
            time.sleep(at - now)
        looping = (made + phase) % 50 >= 47
        begin = time.monotonic()
        decision = live.before(
            "work", {"n": 0 if looping else made, "why": "x" * 100}, call=f"c{made}"
        )
        judged = time.monotonic()
        live.after(decision, RESULT)
        if decision.request:
            out["taken"][decision.request] = judged
            live.turn("go on")
        else:
            out["calls"].append((time.monotonic() - begin, judged - begin))
        made += 1
    live.end()
    out["made"] = made


def agents(
    url: str, names: list[str], rate: float, seconds: float, together: bool, say: Connection
) -> None:
    """Several agents, each in a thread of this process."""
    outs: list[dict[str, Any]] = [{"said": [], "taken": {}, "calls": []} for _ in names]
    threads = [
        threading.Thread(target=agent, args=(url, name, rate, seconds, together, out))
        for name, out in zip(names, outs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = resource.getrusage(resource.RUSAGE_SELF)
    say.send((dict(zip(names, outs, strict=True)), used.ru_utime + used.ru_stime))


def person(url: str, over: Any, say: Connection) -> None:
    """Approves what waits, as soon as it is seen; says when each decision had been written."""
    store = open_store(url)
    decided: dict[str, float] = {}
    while not over.is_set():
        time.sleep(0.05)
        for asked in store.requests(pending=True):
            with contextlib.suppress(escape.DecisionError, StoreError):
                escape.approve(store, asked.request, by="you@desk")
                decided[asked.request] = time.monotonic()
    say.send(decided)


@contextlib.contextmanager
def console(url: str) -> Any:
    """The real console in a terminal that nobody looks at."""
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "loopguard_console", "--store", url]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "160", "LINES": "50"}
    running = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)

    def drain() -> None:
        with contextlib.suppress(OSError):
            while os.read(ours, 65_536):
                pass

    threading.Thread(target=drain, daemon=True).start()
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        os.close(ours)


def ticks(pid: int) -> float:
    """Seconds of processor that process *pid* and its children took."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return own + sum(ticks(int(child)) for child in children.read_text().split())


def server_process() -> int:
    """The server's first process, where it is one of this machine's that the tests' helper started."""
    postgres = sys.modules.get("postgres")
    if postgres is None:
        return 0
    return int(Path(postgres.server().socket, "data", "postmaster.pid").read_text().split()[0])


def fleet(url: str, count: int, rate: float, seconds: float, together: bool) -> dict[str, float]:
    open_store(url).close()
    over = multiprocessing.Event()
    here, there = multiprocessing.Pipe()
    human = multiprocessing.Process(target=person, args=(url, over, there))
    human.start()
    names = [f"agent-{n}" for n in range(count)]
    with console(url) as terminal:
        time.sleep(3.0)
        pipes, running = [], []
        for part in range(PROCESSES):
            mine, theirs = multiprocessing.Pipe()
            args = (url, names[part::PROCESSES], rate, seconds, together, theirs)
            running.append(multiprocessing.Process(target=agents, args=args))
            running[-1].start()
            pipes.append(mine)
        began, server = time.monotonic(), server_process()
        before = ticks(server), ticks(terminal.pid)
        outs: dict[str, dict[str, Any]] = {}
        processor = 0.0
        for pipe in pipes:
            part_of, used = pipe.recv()
            outs.update(part_of)
            processor += used
        took = time.monotonic() - began
        busy = {
            "processor of the server, percent": (ticks(server) - before[0]) / took * 100,
            "processor of the console, percent": (ticks(terminal.pid) - before[1]) / took * 100,
        }
        assert terminal.poll() is None, "the console ended"
    over.set()
    decided: dict[str, float] = here.recv()
    human.join()
    for process in running:
        process.join()
    return report(url, outs, decided, took, processor) | busy


def send_what_waits(url: str) -> int:
    """As the next agent of the machine does, where agents ended while the server was away for them."""
    spool = open_spool(place_of(url), create=False)
    sent = 0
    while spool is not None and spool.backlog():
        sent += drain_all(spool, open_store(url))
    return sent


def report(
    url: str,
    outs: dict[str, dict[str, Any]],
    decided: dict[str, float],
    took: float,
    processor: float,
) -> dict[str, float]:
    late = send_what_waits(url)
    store = open_store(url)
    wrong = events = made = 0
    for name, out in outs.items():
        log = store.read(name, payloads=False)
        events += len(log)
        made += out["made"]
        wrong += [e.seq for e in log] != [*range(1, len(log) + 1)]
        for kind in ("call_start", "call_end"):
            seen = [e.text("call") for e in log if e.type == kind]
            missing = set(range(out["made"])) ^ {int(c[1:]) for c in seen}
            if missing:
                print(f"{kind} missing in {name}: {sorted(missing)[:9]}")
            wrong += len(missing)
            wrong += len(seen) - len(set(seen))
    pending = [r for name in outs for r in store.requests(session=name, pending=True)]
    for asked in pending:
        print(f"left open: {asked.request} of {asked.session}, call {asked.call}")
    wrong += len(pending)
    store.close()
    waits = [
        max(0.0, judged - decided[request])
        for out in outs.values()
        for request, judged in out["taken"].items()
        if request in decided
    ]
    calls = [whole for out in outs.values() for whole, _ in out["calls"]]
    said = [
        line for out in outs.values() for line in out["said"] if "away" in line or "store" in line
    ]
    return {
        "calls": made,
        "events": events,
        "events a second": events / took,
        "decisions": len(waits),
        "events missing or there twice": wrong,
        "decision to agent, median, ms": statistics.median(waits) * 1e3,
        "decision to agent, p99, ms": percentile(waits, 0.99) * 1e3,
        "a call, median, ms": statistics.median(calls) * 1e3,
        "a call, p99, ms": percentile(calls, 0.99) * 1e3,
        "events that came after their agents had ended": late,
        "times an agent found the server away": sum(
            "kept on this machine" in line for line in said
        ),
        "processor of all agents, percent": processor / took * 100,
    }


# -- 2. how many events a second -------------------------------------------------------------------


def written_by_store(url: str, part: int, round_: int, seconds: float, say: Connection) -> None:
    """Events as an agent writes them, as fast as it goes."""
    store = open_store(url, patience=30.0)
    session = f"tight-{round_}-{part}"
    seq = store.append(Event("session_start", session, ts=time.time(), data={"agent": "bench"}))
    say.send("ready")
    say.recv()
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        event = pair(session, count)
        seq = store.append(event, expect=seq)
        count += 1
    say.send(count)


def pair(session: str, count: int) -> Event:
    call = f"c{count // 2}"
    if count % 2 == 0:
        data: dict[str, Any] = {
            "call": call,
            "tool": "work",
            "args": {"n": count, "why": "x" * 100},
            "message": call,
            "ids": {"exact": {"a": "0" * 24}},
            "verdict": {"tier": "allow", "policy": "graded", "signature": "work:" + "0" * 24},
        }
        return Event("call_start", session, ts=time.time(), data=data)
    data = {"call": call, "outcome": "ok", "result": RESULT, "duration": 0.001}
    data["ids"] = {"exact": {"r": "0" * 24}}
    return Event("call_end", session, ts=time.time(), data=data)


def written_barely(url: str, part: int, round_: int, seconds: float, say: Connection) -> None:
    """The same bytes in one row each, by one prepared statement, committed one by one."""
    import psycopg

    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as db:
        say.send("ready")
        say.recv()
        count, end = 0, time.monotonic() + seconds
        cursor = db.cursor()
        while time.monotonic() < end:
            event = pair("bare", count)
            payload = {k: event.data.pop(k) for k in ("args", "result") if k in event.data}
            cursor.execute(
                b"INSERT INTO bare (part, seq, ts, type, data, payload) VALUES (%s, %s, %s, %s, %s, %s)",
                (
                    part + 100 * round_,
                    count,
                    event.ts,
                    event.type,
                    json.dumps(event.data),
                    json.dumps(payload),
                ),
            )
            count += 1
    say.send(count)


def tight(url: str, writers: int, seconds: float, rounds: int) -> dict[str, float]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            b"CREATE TABLE bare (part bigint, seq bigint, ts double precision, type text, data text,"
            b" payload text, PRIMARY KEY (part, seq))"
        )
    rates: dict[str, list[float]] = {"store": [], "bare": []}
    for round_ in range(rounds):
        for name, work in (("store", written_by_store), ("bare", written_barely)):
            pipes, running = [], []
            for part in range(writers):
                mine, theirs = multiprocessing.Pipe()
                args = (url, part, round_, seconds, theirs)
                running.append(multiprocessing.Process(target=work, args=args))
                running[-1].start()
                pipes.append(mine)
            for pipe in pipes:
                pipe.recv()
            for pipe in pipes:
                pipe.send("go")
            rates[name].append(sum(pipe.recv() for pipe in pipes) / seconds)
            for process in running:
                process.join()
    store, bare = (statistics.median(rates[name]) for name in ("store", "bare"))
    ratios = [a / b for a, b in zip(rates["store"], rates["bare"], strict=True)]
    return {
        "store, events a second": store,
        "bare INSERTs, events a second": bare,
        "store / bare INSERTs, events a second": statistics.median(ratios),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rate", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--together", action="store_true", help="all agents end up in a loop at the same moment"
    )
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    url = chosen.url
    if not url:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        import postgres

        url = postgres.server().database()
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        found = fleet(url, chosen.agents, chosen.rate, chosen.seconds, chosen.together)
        with contextlib.suppress(StoreError):
            found |= tight(url, chosen.writers, 2.0, chosen.rounds)
    failed = False
    for name, value in found.items():
        bound = BOUNDS.get(name)
        met = bound is None or (value >= bound if "bare" in name else value <= bound)
        failed |= not met
        shown = "" if bound is None else f"   bound {bound:g}{'' if met else '   NOT MET'}"
        print(f"{name:<40} {value:>12.2f}{shown}")
    sys.exit(failed)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
