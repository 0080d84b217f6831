"""Several processes on one store, killed or not: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store import wake
from loopguard_core.store.contract import Stale
from loopguard_core.store.door import open_store
from loopguard_core.store.sqlite import SqliteStore
from processes import environment
from store_writers import assert_whole, run, write_from_threads


def test_fifty_kills_in_bursts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    acknowledged = run("kill", place, 50)
    assert len({writer for writer, _ in acknowledged}) == 50
    count = assert_whole(place, "s")
    store = open_store(str(place))
    there = {e.seq: int(e.data["call"].split("-")[0]) for e in store.read("s", payloads=False)}
    assert all(there[seq] == writer for writer, seq in acknowledged)
    assert len(acknowledged) <= count <= len(acknowledged) + 50
    whole = {len(e.data["args"]["text"]) for e in store.read("s")}
    assert whole == {500, 50_000}


@pytest.mark.parametrize("writers", [16])
def test_many_writers_and_a_reader_lose_nothing_and_never_fail(
    tmp_path: Path, writers: int
) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    done = threading.Event()
    seen = [0]

    def watch() -> None:
        while not done.is_set():
            store.changed(0.05)
            store.beat(time.time())
            seen[0] = max(seen[0], sum(s.calls for s in store.sessions()))

    reader = threading.Thread(target=watch)
    reader.start()
    each = 120
    try:
        assert run("together", place, writers, each) == [[0]]
    finally:
        done.set()
        reader.join()
    store.close()
    assert sum(assert_whole(place, f"s{n}") for n in range(4)) == writers * each
    assert seen[0] > 0


def test_steady_writers_keep_the_log_bounded_among_themselves(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    log = place.with_name("events.db-wal")
    done = threading.Event()
    most = [0]

    def watch() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], log.stat().st_size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert run("together", place, 4, 1_800) == [[0]]
    finally:
        done.set()
        watcher.join()
    assert most[0] < 50_000_000  # SQLite's own checkpoints let it grow to 80 MB here, without end
    store.close()


def test_two_processes_cannot_both_append_what_they_expect(tmp_path: Path) -> None:
    one, two = (open_store(str(tmp_path / "events.db")) for _ in range(2))
    assert one.append(Event("note", "s"), expect=0) == 1
    with pytest.raises(Stale):
        two.append(Event("note", "s"), expect=0)
    assert two.append(Event("note", "s"), expect=1) == 2


@pytest.mark.parametrize("alone", ["hints", "looks", ""])
def test_another_process_is_woken_by_a_commit_and_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: str
) -> None:
    """By the hint, though the next look would come much later; by that look, though no hint comes; by both."""
    silent, _end = os.pipe()
    if alone == "hints":
        monkeypatch.setattr(wake, "SLOW", 60.0)
    elif alone == "looks":
        monkeypatch.setattr(wake, "_inotify", lambda directory: os.dup(silent))
    mine, theirs = (open_store(str(tmp_path / "events.db")) for _ in range(2))
    theirs.changed(0)
    for n in range(1, 4 if alone == "looks" else 20):  # a look comes four times a second
        threading.Timer(0.01, mine.append, (Event("note", "s"),)).start()
        deadline = time.monotonic() + 20
        while theirs.last("s") < n:
            assert theirs.changed(20), f"woken neither by a hint nor by a look: {alone}"
            assert time.monotonic() < deadline


def test_waiting_costs_no_processor_time(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    store.changed(0)
    before = time.process_time()
    store.changed(1.0)
    assert time.process_time() - before < 0.25


def test_a_child_after_fork_and_its_parent_both_write_on(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    store = open_store(str(place))
    store.append(Event("note", "s"))
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(50):
                    store.append(Event("note", "s"))
                code = 0
            finally:
                os._exit(code)
        for _ in range(50):
            store.append(Event("note", "s"))
        assert os.waitpid(child, 0)[1] == 0
    assert store.last("s") == 301
    store.close()
    assert assert_whole(place, "s") == 301


def test_a_child_that_no_handler_heard_of_has_a_connection_of_its_own(tmp_path: Path) -> None:
    """As some servers fork: in C, so that nothing of Python's runs before."""
    place = tmp_path / "events.db"
    store = open_store(str(place))
    assert isinstance(store, SqliteStore)
    store.append(Event("note", "s"))
    parents = store._link._db
    child: int = ctypes.PyDLL(None).fork()
    if child == 0:
        code = 1
        try:
            store.append(Event("note", "s"))
            code = int(store._link._db is parents)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert store.append(Event("note", "s")) == 3
    store.close()
    assert assert_whole(place, "s") == 3


def test_threads_share_a_store(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    write_from_threads(str(place), 60)
    assert assert_whole(place, "s") == 480


def test_the_log_stays_small_beside_an_open_console(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    agent, console = open_store(str(place)), open_store(str(place))
    wal = place.with_name("events.db-wal")
    most = 0
    for i in range(2_000):
        agent.append(Event("note", "s", data={"text": "x" * 1_500}))
        if i % 50 == 0:
            console.changed(0)
            console.sessions()
            console.read("s", after=i - 10)
            console.beat(1.0)
            most = max(most, wal.stat().st_size)
    assert most < 8_000_000  # without checkpoints: more than 16 MB
    agent.close()
    console.close()
    assert not wal.exists() or wal.stat().st_size == 0


def test_a_writer_alone_bounds_the_log_too(tmp_path: Path) -> None:
    place = tmp_path / "events.db"
    agent = open_store(str(place), limit=100_000)
    for i in range(1_200):
        agent.append(Event("note", "s", data={"text": f"{i} " + "x" * 60_000}))
    assert place.with_name("events.db-wal").stat().st_size < 45_000_000


def test_a_store_is_usable_to_the_very_end_of_the_interpreter(tmp_path: Path) -> None:
    program = f"""
import atexit
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
store = open_store({str(tmp_path / "events.db")!r})
class Late:
    def __del__(self):
        store.append(Event("note", "s"))
late = Late()
late.me = late
atexit.register(lambda: store.append(Event("note", "s")))
store.append(Event("note", "s"))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert assert_whole(tmp_path / "events.db", "s") >= 2


def test_a_child_is_free_of_what_other_threads_were_doing_in_their_stores(tmp_path: Path) -> None:
    argv = [sys.executable, str(Path(__file__).with_name("forking.py")), str(tmp_path), "60"]
    done = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("60\n", 0), done.stderr
