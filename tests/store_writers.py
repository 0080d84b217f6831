"""Many writers on one store, in processes and threads, and whether it has all of theirs."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from processes import environment

SCRIPT = Path(__file__).with_name("store_processes.py")


def run(*args: str | Path | int) -> list[list[int]]:
    """What the script says when it is run with *args*: a line of numbers each."""
    command = [sys.executable, str(SCRIPT), *map(str, args)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=110)
    assert done.stderr == "" and done.returncode == 0
    return [[int(x) for x in line.split()] for line in done.stdout.splitlines()]


def assert_whole(place: Path, session: str) -> int:
    """No gap, no duplicate, and SQLite finds nothing wrong; the number of events."""
    with sqlite3.connect(place) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return assert_numbered(str(place), session)


def assert_numbered(place: str, session: str) -> int:
    """No gap and no duplicate; the number of events."""
    store = open_store(place)
    events = store.read(session)
    store.close()
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    calls = [e.data["call"] for e in events if e.type == "call_start"]
    assert len(set(calls)) == len(calls)
    return len(events)


def write_from_threads(place: str, times: int) -> None:
    """Eight threads write *times* events each through one store, and read meanwhile."""
    store = open_store(place)

    def work() -> None:
        for _ in range(times):
            store.append(Event("note", "s"))
            store.read("s", after=store.last("s") - 3)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
