"""Several processes on one PostgreSQL store, killed or not: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import subprocess
import sys
import threading

import postgres
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from processes import environment
from test_store_processes import run

pytestmark = postgres.needs


def assert_whole(url: str, session: str) -> int:
    """No gap and no duplicate; the number of events."""
    store = open_store(url)
    events = store.read(session)
    store.close()
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    calls = [e.data["call"] for e in events if e.type == "call_start"]
    assert len(set(calls)) == len(calls)
    return len(events)


def test_kills_in_bursts_lose_nothing_that_was_acknowledged() -> None:
    url, times = postgres.emptied(), 8
    acknowledged = run("kill", url, times)
    assert len({writer for writer, _ in acknowledged}) == times
    count = assert_whole(url, "s")
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
    assert [assert_whole(url, f"s{n}") for n in range(4)] == [24] * 4


def test_threads_share_a_store() -> None:
    url = postgres.emptied()
    store = open_store(url)

    def work() -> None:
        for _ in range(30):
            store.append(Event("note", "s"))
            store.read("s", after=store.last("s") - 3)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert assert_whole(url, "s") == 240


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
    assert assert_whole(url, "s") == 2
