"""The configured retention is carried out beside an open console, and said."""

from __future__ import annotations

import time
from pathlib import Path

from loopguard_console.retention import Retention
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.store.door import open_store


def test_what_is_older_goes_and_is_reported(tmp_path: Path) -> None:
    place = str(tmp_path / "events.db")
    store = open_store(place)
    for name, days in (("old", 40), ("older", 50), ("new", 2)):
        store.append(Event("session_start", name, ts=time.time() - days * 86_400))
        store.append(Event("session_end", name, ts=time.time() - days * 86_400))
    retention = Retention(place, Config({"retention": {"days": 30}}))
    assert retention.wanted
    retention.start()
    retention.join()
    assert retention.leave().startswith("retention: 2 sessions forgotten, 4 events")
    assert [s.session for s in store.sessions()] == ["new"]


def test_without_a_retention_nothing_goes(tmp_path: Path) -> None:
    retention = Retention(str(tmp_path / "events.db"), Config())
    assert not retention.wanted
    assert retention.leave() == ""


def test_a_store_that_fails_is_said(tmp_path: Path) -> None:
    retention = Retention(str(tmp_path / "missing.db"), Config({"retention": {"megabytes": 1}}))
    retention.start()
    retention.join()
    assert "no event store" in retention.leave()
