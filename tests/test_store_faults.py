"""Whatever happens to the file: one clear error, soon, and the store works on where it can."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Replaced, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.failures import describe
from processes import environment


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


def note(store: Store, session: str = "s") -> int:
    return store.append(Event("note", session, data={"text": "x"}))


def test_a_locked_store_is_given_up_soon_said_and_used_again(place: Path) -> None:
    store = open_store(str(place))
    note(store)
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(StoreError, match="locked by another process"):
            note(store)
        assert time.monotonic() - began < 5  # a second; the machine may be busy
    assert store.last("s") == 1  # reading needs no lock
    other.execute("ROLLBACK")
    assert note(store) == 2


def test_a_short_lock_is_waited_for(place: Path) -> None:
    store = open_store(str(place))
    program = f"""
import sqlite3, time
db = sqlite3.connect({str(place)!r}, isolation_level=None)
db.execute("BEGIN IMMEDIATE"); print(flush=True); time.sleep(0.2); db.execute("ROLLBACK")
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert note(store) == 1


def test_a_deleted_store_is_noticed_said_and_made_anew(place: Path) -> None:
    store = open_store(str(place))
    assert note(store) == 1
    before = store.generation
    for suffix in ("", "-wal", "-shm"):
        Path(f"{place}{suffix}").unlink(missing_ok=True)
    with pytest.raises(Replaced, match="deleted or replaced"):
        note(store)
    assert store.generation > before
    assert store.last("s") == 0
    assert note(store) == 1
    assert open_store(str(place)).last("s") == 1
    assert place.stat().st_mode & 0o777 == 0o600


def test_only_the_database_deleted_leaves_no_stale_log_behind(place: Path) -> None:
    store = open_store(str(place))
    for _ in range(5):
        note(store)
    place.unlink()
    with pytest.raises(Replaced):
        note(store)
    assert note(store) == 1
    with sqlite3.connect(place) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_replaced_store_is_the_one_that_is_written(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    theirs = open_store(str(other))
    note(theirs, "theirs")
    theirs.close()
    store = open_store(str(place))
    note(store)
    other.replace(place)
    assert [s.session for s in store.sessions()] == ["theirs"]  # a reader just sees the new one
    with pytest.raises(
        Replaced
    ):  # who wrote to the old one is told, also after reading the new one
        note(store, "theirs")
    assert note(store, "theirs") == 2


def test_a_writer_is_told_before_it_writes_to_a_replaced_store(place: Path, tmp_path: Path) -> None:
    store = open_store(str(place))
    note(store)
    theirs = open_store(str(tmp_path / "other.db"))
    note(theirs, "theirs")
    theirs.close()
    (tmp_path / "other.db").replace(place)
    with pytest.raises(Replaced):
        store.append(Event("note", "s"), expect=1)
    assert store.append(Event("note", "s"), expect=0) == 1


def test_a_store_that_was_moved_away_is_noticed(place: Path) -> None:
    store = open_store(str(place))
    note(store)
    time.sleep(0.06)
    place.rename(place.with_name("elsewhere.db"))
    with pytest.raises(Replaced):
        for _ in range(1_000_000):
            note(store)
    assert note(store) == 1


def test_a_log_that_was_taken_away_is_noticed_before_two_processes_write_apart(place: Path) -> None:
    store = open_store(str(place))
    for _ in range(5):
        note(store)
    time.sleep(0.06)
    place.with_name("events.db-wal").rename(place.with_name("taken"))
    with pytest.raises(Replaced):
        note(store)
    later = open_store(str(place))
    before = later.last("s")
    assert note(store) == before + 1
    assert note(later) == before + 2
    with sqlite3.connect(place) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_directory_that_vanished_is_made_again(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "er" / "events.db"
    store = open_store(str(place))
    note(store)
    shutil.rmtree(tmp_path / "deep")
    with pytest.raises(Replaced):
        note(store)
    assert note(store) == 1
    assert place.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be read" * 40, b"\0" * 5_000]
)
def test_a_file_that_is_no_database_is_said_and_left_alone(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    with pytest.raises(StoreError, match="is not a SQLite database"):
        open_store(str(place))
    assert place.read_bytes() == content


def test_a_header_that_is_damaged_while_it_is_open(place: Path) -> None:
    store = open_store(str(place))
    note(store)
    store.close()
    store = open_store(str(place))
    with place.open("r+b") as file:
        file.write(b"garbage!" * 20)
    other = open_store  # a process that comes later
    with pytest.raises(StoreError) as error:
        other(str(place))
    assert str(place) in str(error.value)
    with pytest.raises(StoreError):
        for _ in range(50):
            note(store)
            store._link._drop()  # type: ignore[attr-defined] # as after a fork


def test_a_newer_schema_is_refused_by_name(place: Path) -> None:
    open_store(str(place)).close()
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"newer loopguard \(schema 99"):
            open_store(str(place), read_only=read_only)


def test_another_programs_database_is_refused_and_left_alone(place: Path) -> None:
    with sqlite3.connect(place) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = place.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        open_store(str(place))
    assert place.read_bytes() == before


def test_a_missing_store_is_not_made_by_those_who_only_read(place: Path) -> None:
    for create, read_only in ((False, False), (True, True)):
        with pytest.raises(StoreError, match="no event store"):
            open_store(str(place), create=create, read_only=read_only)
    assert not place.exists()
    with pytest.raises(StoreError, match="is a directory"):
        open_store(str(place.parent))


@pytest.mark.parametrize("name", ["with space", "ünï→cödé", "a?b#c%20d", "quote'\"quote", "[b]"])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    place = tmp_path / name / f"{name}.db"
    store = open_store(str(place))
    note(store)
    assert open_store(str(place), read_only=True).last("s") == 1
    assert place.exists()


def test_a_store_that_may_only_be_read_says_so_when_written(place: Path) -> None:
    note(open_store(str(place)))
    store = open_store(str(place), read_only=True)
    with pytest.raises(StoreError, match="read-only"):
        note(store)
    assert store.last("s") == 1


def test_a_full_disk_is_said_and_the_store_goes_on_when_there_is_room(place: Path) -> None:
    store = open_store(str(place))
    note(store)
    size = max(f.stat().st_size for f in place.parent.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (size, hard)
    )  # the system then refuses to grow a file
    try:
        with pytest.raises(StoreError) as error:
            for _ in range(100):
                store.append(Event("note", "s", data={"text": "x" * 1_900}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"{place} cannot grow: no file of this process may be larger than {size:,} bytes" in str(
        error.value
    )
    assert "; raise that limit" in str(error.value)
    last = store.last("s")
    assert note(store) == last + 1
    with sqlite3.connect(place) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_CANTOPEN])
def test_a_disk_without_room_for_a_log_is_called_full(
    place: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Where no agent runs there is no log yet: SQLite fails to make one, and does not say why."""
    found = os.statvfs(place.parent)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    assert "full" not in describe(str(place), error)
    full = os.statvfs_result((*found[:4], 0, *found[5:]))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    assert "cannot grow: the disk is full; make room" in describe(str(place), error)


@pytest.mark.parametrize("most", [resource.RLIM_INFINITY, 10**12])
def test_a_disk_that_fails_is_not_taken_for_a_limit_that_is_far(
    place: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    store = open_store(str(place))
    note(store)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (most, most))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    assert "cannot be read or written by the system; look at the disk" in describe(
        str(place), error
    )


READ = """
import os, sys
import loopguard_core.store.sqlite
from loopguard_core.store.door import open_store
from loopguard_core.store.contract import StoreError
if os.geteuid() == 0:
    os.seteuid(65534)
print(open_store(sys.argv[1], read_only=True).last("s"))
try:
    open_store(sys.argv[1])
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_store_in_a_folder_where_nothing_can_be_written(mode: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "events.db"
        store = open_store(str(place))
        note(store)
        store.close()
        (folder / "machine.key").unlink()  # samples ship without
        with contextlib.closing(sqlite3.connect(place)) as db:
            db.execute(f"PRAGMA journal_mode = {mode}")
        assert [f.name for f in folder.iterdir()] == ["events.db"]
        place.chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ, str(place)]
        try:
            done = subprocess.run(
                command, env=environment(), capture_output=True, text=True, timeout=60
            )
        finally:
            folder.chmod(0o700)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "1" and len(lines) == 2
    assert name in lines[1]


def test_the_clock_may_go_backwards(place: Path) -> None:
    store = open_store(str(place))
    for ts in (5.0, 3.0, 9.0, 1.0):
        store.append(Event("assistant_text", "s", ts=ts))
    assert [(e.seq, e.ts) for e in store.read("s")] == [(1, 5.0), (2, 3.0), (3, 9.0), (4, 1.0)]
    session = store.session("s")
    assert session is not None and session.last_ts == 1.0


AGAIN = """
import os, sys
import loopguard_core.store.sqlite
from loopguard_core.events import Event
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
place = sys.argv[1]
open_store(f"{place}-other/events.db").append(Event("note", "s"))  # what is imported, once it is needed
if os.geteuid() == 0:
    os.chown(os.path.dirname(place), 65534, 65534)
    os.setuid(65534)
open_store(place).close()
os.chmod(place, 0o400)
try:
    open_store(place).append(Event("note", "s"))
except StoreError as error:
    print(error)
for log in sys.argv[2:]:  # as an older program left them
    os.close(os.open(place + log, os.O_CREAT, 0o400))
os.chmod(place, 0o600)
print(open_store(place).append(Event("note", "s")))
"""


@pytest.mark.parametrize("left", [(), ("-wal", "-shm")])
def test_a_store_that_may_be_written_again_is_written(left: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", AGAIN, f"{name}/events.db", *left]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=60
        )
    assert done.stderr == ""
    refused, written = done.stdout.splitlines()
    assert "is read-only; give this user write permission" in refused
    assert written == "1"


def test_a_store_that_a_newer_program_takes_over_is_left_alone(place: Path) -> None:
    store = open_store(str(place))
    note(store)
    with contextlib.closing(sqlite3.connect(place)) as db:
        db.execute("PRAGMA user_version = 99")
    time.sleep(0.06)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"newer loopguard \(schema 99"):
            note(store)
