"""An override from the console keeps to the ceiling of the session's folder, and says where nobody is there to use it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from loopguard_console.deciding import Decider, Permission
from loopguard_core.escape import DecisionError
from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "loopguard.toml").write_text("[ceiling]\ncalls = 5\nseconds = 60\n")
    store = SqliteStore(str(tmp_path / "events.db"))
    store.append(Event("session_start", "s", data={"agent": "bot", "cwd": str(tmp_path)}))
    return store


def granted(store: Store) -> Event:
    return next(e for e in store.read("s") if e.type == "grant")


def test_what_is_not_limited_ends_at_the_configured_ceiling(store: Store) -> None:
    said = Decider(store).override("s", Permission("session", calls=None))
    assert "nobody runs" not in said
    grant = granted(store).data
    assert grant["budget"] == 5
    assert grant["expires"] <= time.time() + 60


def test_more_than_the_configured_ceiling_is_refused(store: Store) -> None:
    with pytest.raises(DecisionError):
        Decider(store).override("s", Permission("session", calls=10))
    assert all(e.type != "grant" for e in store.read("s"))


def test_settings_that_cannot_be_read_are_said(store: Store, tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text("[ceiling\n")
    with pytest.raises(DecisionError, match=r"loopguard\.toml"):
        Decider(store).override("s", Permission("session"))


def test_an_override_of_a_session_that_has_ended_says_so(store: Store) -> None:
    store.append(Event("session_end", "s"))
    said = Decider(store).override("s", Permission("session"))
    assert "nobody runs the session now" in said
    assert granted(store).data["budget"] == 3
