"""Several processes on one PostgreSQL store, killed or not: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import subprocess
import sys

import postgres
from loopguard_core.store.door import open_store
from processes import environment
from store_writers import assert_numbered, run, write_from_threads

pytestmark = postgres.needs


def test_kills_in_bursts_lose_nothing_that_was_acknowledged() -> None:
    url, times = postgres.emptied(), 8
    acknowledged = run("kill", url, times)
    assert len({writer for writer, _ in acknowledged}) == times
    count = assert_numbered(url, "s")
    store = open_store(url)
    events = store.read("s")
    store.close()
    there = {e.seq: int(e.data["call"].split("-")[0]) for e in events}
    assert all(there[seq] == writer for writer, seq in acknowledged)
    assert len(acknowledged) <= count <= len(acknowledged) + times
    assert {len(e.data["args"]["text"]) for e in events} <= {500, 50_000}


def test_many_writing_processes_lose_nothing_and_never_fail() -> None:
    url = postgres.emptied()
    assert run("together", url, 12, 8) == [[0]]
    assert [assert_numbered(url, f"s{n}") for n in range(4)] == [24] * 4


def test_threads_share_a_store() -> None:
    url = postgres.emptied()
    write_from_threads(url, 30)
    assert assert_numbered(url, "s") == 240


def test_a_store_is_usable_to_the_very_end_of_the_interpreter() -> None:
    url = postgres.emptied()
    program = f"""
import atexit
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
store = open_store({url!r})
atexit.register(lambda: store.append(Event("note", "s")))
store.append(Event("note", "s"))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert assert_numbered(url, "s") == 2
