"""One disaster after the other: what the log says is missing is all that is missing."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from faulty import Faulty
from loopguard_core import escape
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.policies.registry import create
from loopguard_core.recording.replay import Recording
from loopguard_core.session.live import LiveSession
from loopguard_core.store.sqlite import SqliteStore
from sessions import GRADED, call

STEPS = ("work", "work", "delete", "keep", "branch", "restore", "lock", "unlock")


class Noted(SqliteStore):
    """Counts what is written beside the calls: how sessions begin, and what is missing."""

    beside = 0

    def append(self, event: Event, *, expect: int | None = None) -> int:
        seq = super().append(event, expect=expect)
        self.beside += event.type in ("session_start", "gap")
        return seq

    def extend(self, events: Sequence[Event], *, expect: int | None = None) -> int:
        done = super().extend(events, expect=expect)
        self.beside += sum(event.type in ("session_start", "gap") for event in events)
        return done


class Place:
    """An agent whose store has bad luck."""

    def __init__(self, folder: Path) -> None:
        self.path, self.copy = folder / "events.db", folder / "copy.db"
        self.real = Noted(str(self.path))
        self.store = Faulty(self.real)
        self.live = LiveSession(Config(GRADED), "s", store=self.store, say=lambda line: None)
        self.calls = 0
        self.elsewhere: set[tuple[str, float | None]] = set()
        self.met = 0

    def work(self) -> None:
        """A call, of two events."""
        self.calls += 1
        call(self.live, args={"n": self.calls})
        if not self.store.broken:
            met = {(e.type, e.ts) for e in self.real.read("s")} & self.elsewhere
            self.elsewhere -= met
            self.met += len(met)

    def delete(self) -> None:
        for path in self.path.parent.glob("events.db*"):
            path.unlink()

    def keep(self) -> None:
        """Have a copy of the store as it is now."""
        self.copy.unlink(missing_ok=True)
        if self.path.exists():
            with closing(sqlite3.connect(self.path)) as db:
                db.execute("VACUUM INTO ?", (str(self.copy),))

    def branch(self) -> None:
        """Another process of the session goes on in the copy."""
        if self.copy.exists():
            with closing(SqliteStore(str(self.copy))) as store:
                before = store.last("s")
                other = LiveSession(Config(GRADED), "s", store=store, say=print)
                call(other, args={"elsewhere": True})
                self.elsewhere |= {(e.type, e.ts) for e in store.read("s", after=before)}

    def restore(self) -> None:
        """The copy takes the place of the store, which has more by now."""
        if self.copy.exists():
            self.work()
            self.delete()
            shutil.copy(self.copy, self.path)

    def lock(self) -> None:
        self.store.broken = True

    def unlock(self) -> None:
        self.store.broken = False

    def missing(self) -> tuple[int, int]:
        """How many events the log says are missing from it, and how many are."""
        self.unlock()
        self.work()
        log = self.real.read("s")
        said = sum(e.data["count"] for e in log if e.type == "gap")
        return said, self.real.beside + 2 * self.calls + self.met - len(log)


@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
@example(steps=["work", "delete", "work", "delete"])
@example(steps=["work", "delete", "work", "work", "delete", "work", "delete"])
@example(steps=["work", "delete", "work", "keep", "work", "delete", "work", "restore", "work"])
@example(steps=["work", "lock", "work", "unlock", "work", "keep", "delete", "work", "restore"])
@example(steps=["work", "keep", "branch", "work", "restore"])
@example(steps=["keep", "branch", "branch", "work", "restore", "delete"])
@example(steps=["work", "delete", "lock", "work", "delete", "unlock", "delete"])
@settings(max_examples=25, deadline=None)
def test_what_is_said_to_be_missing_is_what_is_missing(steps: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.0)
        patch.setattr("loopguard_core.session.journal._LONGEST_PAUSE", 0.0)
        place = Place(Path(folder))
        for step in steps:
            getattr(place, step)()
        said, are = place.missing()
        assert said == are
        place.real.close()


def test_two_processes_of_a_session_count_each_missing_event_once(tmp_path: Path) -> None:
    said: list[str] = []
    stores = [Noted(str(tmp_path / "events.db")) for _ in range(2)]
    one, two = (
        LiveSession(Config(GRADED), "s", store=store, attach=attach, say=said.append)
        for store, attach in zip(stores, (False, True), strict=True)
    )
    for n in range(4):
        call(one, args={"one": n})
        call(two, args={"two": n})
    open_ = two.before("read", {"n": 1})
    for path in tmp_path.glob("events.db*"):
        path.unlink()
    call(one, args={"one": "new"})
    two.after(open_, "text")
    call(two, args={"two": "new"})
    log = stores[0].read("s")
    written = sum(store.beside for store in stores) + 2 * (8 + 2 + 1)
    assert sum(e.data["count"] for e in log if e.type == "gap") == written - len(log)
    for store in stores:
        store.close()


@pytest.mark.parametrize("during", ["a call", "nothing"])
@pytest.mark.parametrize("spoke", [False, True])
def test_what_a_person_says_in_a_store_that_took_the_place_holds(
    tmp_path: Path, during: str, spoke: bool
) -> None:
    place = Place(tmp_path)
    place.work()
    if spoke:
        escape.override(place.store, session="s", scope="session", calls=9)
        place.work()
    place.keep()
    place.work()
    running = place.live.before("read", {"n": 1}) if during == "a call" else None
    place.delete()
    shutil.copy(place.copy, place.path)
    with closing(SqliteStore(str(place.path))) as desk:
        escape.halt(desk, session="s", by="you")
    if running is not None:
        place.live.after(running, "text")
    decision = place.live.before("read", {"n": 2})
    assert not decision.run
    assert "human halted" in decision.message
    place.real.close()


def test_a_call_of_another_process_runs_on_where_one_begins_the_store_anew(tmp_path: Path) -> None:
    place = Place(tmp_path)
    other = LiveSession(
        Config(GRADED), "s", store=SqliteStore(str(place.path)), attach=True, say=print
    )
    place.work()
    place.delete()
    call(other, args={"n": 2})
    running = other.before("read", {"n": 1})
    place.work()  # it begins the store anew as well
    call(other, args={"n": 3})
    assert other.guard.open_calls() == [running.call]
    other.after(running, "text")
    log = place.real.read("s")
    recording = Recording.of(log, Guard(create("graded"), unique=True))
    assert [recording.row(n).outcome for n in range(len(recording))] == ["ok"] * 4
    assert [e.data.get("reason") for e in log if e.type == "session_start"] == ["replaced"] * 2
