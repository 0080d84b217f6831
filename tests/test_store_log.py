"""A write-ahead log that is cut or taken away under who writes: noticed, said, counted, and no damage done."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store import log
from loopguard_core.store.contract import Replaced, Store, StoreError
from loopguard_core.store.door import open_store
from processes import environment
from sessions import call, session


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


def note(store: Store, session: str = "s") -> int:
    return store.append(Event("note", session, data={"text": "x"}))


def wal(place: Path) -> Path:
    return place.with_name(f"{place.name}-wal")


def cut_to_nothing(place: Path) -> None:
    os.truncate(wal(place), 0)


def cut_in_half(place: Path) -> None:
    os.truncate(wal(place), wal(place).stat().st_size // 2)


def take_the_log(place: Path) -> None:
    wal(place).unlink()


def index(place: Path) -> Path:
    return place.with_name(f"{place.name}-shm")


def take_the_index(place: Path) -> None:
    index(place).unlink()


def take_both(place: Path) -> None:
    take_the_log(place)
    take_the_index(place)


CUTS = [cut_to_nothing, cut_in_half]
TAKES = [take_the_log, take_the_index, take_both]


def filled(place: Path, events: int = 60) -> Store:
    with contextlib.closing(open_store(str(place))) as made:
        note(made)  # the tables are in the file once it is closed
    store = open_store(str(place))
    for _ in range(events - 1):
        store.append(Event("note", "s", data={"text": "x" * 500}))
    time.sleep(0.06)
    store.last("s")  # looks at the files
    return store


def sound(place: Path) -> int:
    """How many events are in the file, which is whole, once everybody has let go of it."""
    with contextlib.closing(sqlite3.connect(place)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(db.execute("SELECT count(*) FROM event").fetchone()[0])


def told(store: Store) -> tuple[Replaced, int]:
    """What a writer is told soon, and how many events were taken without a word before it."""
    for taken in range(1_000_000):
        try:
            note(store)
        except Replaced as error:
            return error, taken
        time.sleep(0.001)
    raise AssertionError("nobody was told")


@pytest.mark.parametrize("harm", [*CUTS, *TAKES])
@pytest.mark.parametrize("others", [0, 1])
def test_a_log_that_is_cut_or_taken_away_is_noticed_and_damages_nothing(
    place: Path, harm: Callable[[Path], None], others: int
) -> None:
    store = filled(place)
    idle = [open_store(str(place)) for _ in range(others)]
    for other in idle:
        note(other, "another")
    harm(place)
    error, taken = told(store)
    saved = harm in TAKES
    assert ("nothing of it is lost" in str(error)) == saved
    last = store.last("s")
    assert last == 60 + taken if saved else last < 60 + taken
    for n in range(1, 6):
        assert note(store) == last + n
    for other in idle:
        assert other.last("s") == last + 5  # nobody reads on in what is gone
        time.sleep(0.06)
        with pytest.raises(Replaced, match=str(error)):
            note(other, "another")
        note(other, "another")
    for open_ in (store, *idle):
        open_.close()
    assert sound(place) == last + 5 + (2 if saved else 1) * others


@pytest.mark.parametrize("harm", CUTS)
@pytest.mark.parametrize("writes", [0, 40])
def test_who_lets_go_of_a_log_that_was_cut_does_not_damage_the_store(
    place: Path, harm: Callable[[Path], None], writes: int
) -> None:
    store = filled(place)
    harm(place)
    for _ in range(writes):  # all of them before anybody looks again
        with contextlib.suppress(Replaced):
            note(store)
    store.close()
    assert sound(place) <= 60 + writes


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("take", [take_the_log, take_both])
@pytest.mark.parametrize("writes", [0, 1, 30])
@pytest.mark.parametrize("others", [0, 1])
def test_a_log_that_is_cut_and_then_taken_away_is_not_said_to_be_whole(
    place: Path, cut: Callable[[Path], None], take: Callable[[Path], None], writes: int, others: int
) -> None:
    """Both before anybody looks again, with *writes* between them."""
    store = filled(place)
    idle = [open_store(str(place)) for _ in range(others)]
    for other in idle:
        note(other, "another")
    time.sleep(0.06)
    store.last("s")
    cut(place)
    try:
        for _ in range(writes):
            note(store)
        take(place)
        error, _ = told(store)
    except Replaced as early:  # on a slow machine somebody looked between the two
        error = early
    assert "may be lost" in str(error)
    for _ in range(3):
        time.sleep(0.06)
        note(store)
    for other in idle:
        with contextlib.suppress(Replaced):
            note(other, "another")
    for open_ in (store, *idle):
        open_.close()
    sound(place)


@pytest.mark.parametrize("size", [0, 100_000])
def test_writing_a_log_back_never_brings_a_hole_into_the_store(place: Path, size: int) -> None:
    store = filled(place)
    cut_to_nothing(place)
    with contextlib.suppress(Replaced):  # where somebody has looked already
        note(store)
    log.write_back(sqlite3.connect(place, isolation_level=None), str(place), size, cut=True)
    store.close()
    sound(place)


def test_a_log_that_another_process_writes_back_is_no_fault(place: Path) -> None:
    store, other = filled(place), filled(place)
    for cut in (True, False, True, True):
        other._link.tidy(0, cut=cut)  # type: ignore[attr-defined]
        for _ in range(3):
            time.sleep(0.06)
            note(store)
            note(other)
    assert store.last("s") == 120 + 24


def test_a_log_that_was_of_no_use_when_it_was_found_is_no_fault(place: Path) -> None:
    filled(place, 3).close()
    wal(place).write_bytes(b"\0" * 50_000)
    store = open_store(str(place))
    for _ in range(3):
        time.sleep(0.06)
        store.last("s")
    for n in range(4, 8):
        assert note(store) == n
        time.sleep(0.06)
    store.close()
    assert sound(place) == 7


@pytest.mark.parametrize(("harm", "lost"), [(cut_to_nothing, True), (take_both, False)])
def test_an_agent_goes_on_says_it_once_and_counts_what_is_lost(
    place: Path, harm: Callable[[Path], None], lost: bool
) -> None:
    said: list[str] = []
    store = open_store(str(place))
    live = session(store, said=said)
    for n in range(10):
        call(live, args={"n": n})
    time.sleep(0.06)
    harm(place)
    for n in range(10, 20):
        assert call(live, args={"n": n}).run
        time.sleep(0.01)
    assert len(said) == 1 and "the log of the event store" in said[0]
    gaps = [e for e in store.read("s") if e.type == "gap"]
    assert [e.data["count"] >= 20 for e in gaps] == ([True] if lost else [])
    events = store.read("s")
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    if not lost:
        assert sum(e.type == "call_end" for e in events) == 20
    live.end()
    store.close()
    sound(place)


@pytest.mark.parametrize("harm", [*CUTS, *TAKES])
def test_who_has_the_store_open_by_another_name_lets_go_of_such_a_log_too(
    place: Path, harm: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    store, idle = filled(place), open_store(str(tmp_path / "link" / place.name))
    note(idle, "another")
    harm(place)
    told(store)
    time.sleep(0.06)
    with pytest.raises(Replaced, match="the log of the event store"):
        note(idle, "another")
    note(idle, "another")
    for open_ in (store, idle):
        open_.close()
    sound(place)


@pytest.mark.parametrize("harm", [cut_to_nothing, take_both])
def test_an_idle_connection_does_not_keep_its_process_in_a_log_that_is_gone(
    place: Path, harm: Callable[[Path], None]
) -> None:
    """Another process begins the log anew, as the first to notice; this one has two connections."""
    store, idle = filled(place), filled(place)
    harm(place)
    program = f"""
import os
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
for log in ({str(wal(place))!r}, {str(index(place))!r}):
    if os.path.exists(log): os.unlink(log)
store = open_store({str(place)!r})
store.append(Event("note", "theirs"))
print(flush=True); input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        until = time.monotonic() + 20
        found = 0
        while not found and time.monotonic() < until:
            with contextlib.suppress(StoreError):
                found = store.last("theirs")
            time.sleep(0.01)
        assert found == 1
        with contextlib.suppress(Replaced):
            note(idle)
        note(idle)
        other.communicate(b"\n", timeout=30)
    for open_ in (store, idle):
        open_.close()
    assert sound(place) >= 2


def tailed(place: Path, tmp_path: Path, events: int) -> Path:
    """The store as a machine may leave it that lost its power: behind the frames of its log lies a hole."""
    store = filled(place, events)
    there = tmp_path / "there"
    there.mkdir()
    left = there / place.name
    for file in (place, wal(place)):
        shutil.copy(file, there / file.name)
    store.close()
    os.truncate(wal(left), wal(left).stat().st_size + 200_000)
    return left


def test_a_hole_that_a_lost_power_left_behind_the_frames_is_no_fault(
    place: Path, tmp_path: Path
) -> None:
    left = tailed(place, tmp_path, 20)
    store = open_store(str(left))
    assert store.last("s") == 20
    for n in range(21, 140):  # over the hole and beyond it
        assert note(store) == n
        if n % 10 == 0:
            time.sleep(0.06)
    store.close()
    assert sound(left) == 139


def test_a_cut_before_such_a_hole_is_noticed(place: Path, tmp_path: Path) -> None:
    left = tailed(place, tmp_path, 20)
    store = open_store(str(left))
    assert store.last("s") == 20
    time.sleep(0.06)
    note(store)
    cut_in_half(left)
    assert "may be lost" in str(told(store)[0])
    store.close()
    sound(left)


class Busy:
    """A connection whose log somebody else is writing back."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def execute(self, _: str) -> Busy:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self

    def fetchone(self) -> object:
        return self.answer


@pytest.mark.parametrize(
    "answer", [(1, -1, -1), (0, 9, 3), (0, 0, 0), sqlite3.OperationalError("database is locked")]
)
def test_a_log_that_is_just_written_back_by_another_is_no_fault(
    place: Path, answer: object
) -> None:
    store = filled(place)
    before = log.mark(str(place))
    os.truncate(wal(place), 0)
    assert log.look(str(place), before, Busy(answer)) == log.EMPTY  # type: ignore[arg-type]
    store.close()


def test_a_session_that_lost_nothing_has_no_gap_though_others_did(place: Path) -> None:
    said: list[str] = []
    other = filled(place, 3)
    store = open_store(str(place))
    live = session(store, said=said)
    call(live)
    other._link.tidy(0, cut=True)  # type: ignore[attr-defined]
    note(other)
    time.sleep(0.06)
    store.last("s")
    cut_to_nothing(place)
    for n in range(3):
        time.sleep(0.06)
        assert call(live, args={"n": n}).run
    assert len(said) == 1 and "may be lost" in said[0]
    events = store.read("s")
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert not [e for e in events if e.type == "gap"]
    live.end()
    for open_ in (store, other):
        open_.close()
    sound(place)
