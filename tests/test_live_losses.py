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
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.live import LiveSession
from loopguard_core.store.sqlite import SqliteStore
from sessions import GRADED, call

STEPS = ("work", "work", "delete", "keep", "restore", "lock", "unlock")


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

    def work(self) -> None:
        """A call, of two events."""
        self.calls += 1
        call(self.live, args={"n": self.calls})

    def delete(self) -> None:
        for path in self.path.parent.glob("events.db*"):
            path.unlink()

    def keep(self) -> None:
        """Have a copy of the store as it is now."""
        self.copy.unlink(missing_ok=True)
        if self.path.exists():
            with closing(sqlite3.connect(self.path)) as db:
                db.execute("VACUUM INTO ?", (str(self.copy),))

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
        return said, self.real.beside + 2 * self.calls - len(log)


@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
@example(steps=["work", "delete", "work", "delete"])
@example(steps=["work", "delete", "work", "work", "delete", "work", "delete"])
@example(steps=["work", "delete", "work", "keep", "work", "delete", "work", "restore", "work"])
@example(steps=["work", "lock", "work", "unlock", "work", "keep", "delete", "work", "restore"])
@example(steps=["work", "delete", "lock", "work", "delete", "unlock", "delete"])
@settings(max_examples=25, deadline=None)
def test_what_is_said_to_be_missing_is_what_is_missing(steps: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("loopguard_core.journal._FIRST_PAUSE", 0.0)
        patch.setattr("loopguard_core.journal._LONGEST_PAUSE", 0.0)
        place = Place(Path(folder))
        for step in steps:
            getattr(place, step)()
        said, are = place.missing()
        assert said == are
        place.real.close()
