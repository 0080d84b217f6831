"""A store that is named by a link: its log lies beside the file, and is cared for as any."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Replaced, Store
from loopguard_core.store.door import open_store
from loopguard_core.store.link import WAL_BOUND

TEXT = "x" * 1900


class Linked:
    """A store in a folder of its own, and a link to it in another."""

    def __init__(self, folder: Path) -> None:
        self.real, self.link = folder / "disk" / "events.db", folder / "state" / "events.db"
        for path in (self.real, self.link):
            path.parent.mkdir()
        with contextlib.closing(open_store(str(self.real))) as store:
            note(store)
        self.link.symlink_to(self.real)

    @property
    def wal(self) -> Path:
        return self.real.with_name("events.db-wal")


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path)


def note(store: Store) -> int:
    return store.append(Event("note", "s", data={"text": TEXT}))


def test_its_log_stays_bounded(linked: Linked) -> None:
    store = open_store(str(linked.link))
    for _ in range(6 * WAL_BOUND // 10_000):
        note(store)
    assert WAL_BOUND / 4 < linked.wal.stat().st_size < 1.3 * WAL_BOUND
    store.tidy()
    assert linked.wal.stat().st_size == 0
    store.close()


def test_a_log_that_is_cut_is_noticed_by_whoever_names_the_store_as_they_like(
    linked: Linked,
) -> None:
    stores = [open_store(str(linked.link)), open_store(str(linked.real))]
    for store in stores * 10:
        note(store)
    time.sleep(0.06)
    for store in stores:
        store.last("s")
    os.truncate(linked.wal, linked.wal.stat().st_size // 2)
    time.sleep(0.06)
    for store in stores:
        with pytest.raises(Replaced, match="the log of the event store"):
            note(store)
        note(store)
    for store in stores:
        store.close()
    with contextlib.closing(sqlite3.connect(linked.real)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_link_that_leads_elsewhere_is_another_store_and_the_first_stays_whole(
    linked: Linked, tmp_path: Path
) -> None:
    store = open_store(str(linked.link))
    for _ in range(5):
        last = note(store)
    other = tmp_path / "other.db"
    open_store(str(other)).close()
    linked.link.unlink()
    linked.link.symlink_to(other)
    time.sleep(0.06)
    with pytest.raises(Replaced, match="deleted or replaced"):
        note(store)
    assert note(store) == 1
    store.close()
    assert open_store(str(linked.real)).last("s") == last
