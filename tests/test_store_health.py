"""Each fault of a store is named, with what to do; a healthy store has none."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.processes import started
from loopguard_core.store import health
from loopguard_core.store.contract import Store
from loopguard_core.store.health import Finding, check_sqlite, examine
from loopguard_core.store.paths import key_file
from loopguard_core.store.sqlite import open_store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "state" / "events.db"


@pytest.fixture
def store(place: Path) -> Store:
    made = open_store(str(place))
    me = {"pid": os.getpid(), "pid_started": started(os.getpid()), "host": "h"}
    made.append(Event("session_start", "s", ts=1.0, data=me))
    made.append(Event("call_start", "s", ts=1.0, data={"call": "c", "tool": "t"}))
    made.append(Event("request_opened", "s", ts=1.0, data={"call": "c", "tier": "block", **me}))
    return made


def found(place: Path, *, deep: bool = False) -> dict[str, Finding]:
    """What is found beside the version of SQLite, by name; every finding says what to do."""
    findings = [f for f in examine(str(place), host="h", deep=deep) if f.name != "sqlite"]
    assert all(f.what and f.mend and "\n" not in f.what + f.mend for f in findings)
    return {f.name: f for f in findings}


def test_a_healthy_store_has_no_fault(place: Path, store: Store) -> None:
    assert found(place, deep=True) == {}


def test_a_missing_store_is_no_fault_but_said(place: Path) -> None:
    assert list(found(place)) == ["missing"]
    assert not found(place)["missing"].fatal


@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ((3, 40, 1), True), ((3, 44, 5), True), ((3, 44, 6), False), ((3, 45, 0), True),
        ((3, 50, 6), True), ((3, 50, 7), False), ((3, 51, 2), True), ((3, 51, 3), False),
        ((3, 52, 0), False), ((4, 0, 0), False),
    ],
)  # fmt: skip
def test_a_sqlite_that_may_damage_a_file_is_named(version: tuple[int, ...], faulty: bool) -> None:
    assert [f.name for f in check_sqlite(version)] == ["sqlite"] * faulty


def test_wrong_permissions_are_named_and_mended(place: Path, store: Store) -> None:
    place.chmod(0o644)
    Path(key_file(str(place))).chmod(0o640)
    place.parent.chmod(0o755)
    findings = [f for f in examine(str(place)) if f.name == "permissions"]
    assert len(findings) == 3
    for finding in findings:
        assert "chmod" in finding.mend and finding.fix is not None
        finding.fix()
    assert found(place) == {}
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may write everything")
def test_a_read_only_store_is_named(place: Path, store: Store) -> None:
    place.chmod(0o400)
    assert found(place)["read-only"].fatal


def test_a_read_only_store_is_named_whoever_looks(
    place: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    can = os.access
    monkeypatch.setattr(os, "access", lambda p, m, **k: m != os.W_OK and can(p, m, **k))
    assert found(place)["read-only"].fatal


def test_a_newer_schema_is_named(place: Path, store: Store) -> None:
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA user_version = 99")
    finding = found(place)["newer"]
    assert finding.fatal and "update loopguard-console" in finding.mend


def test_another_programs_database_is_named(place: Path) -> None:
    place.parent.mkdir(mode=0o700)
    with sqlite3.connect(place) as db:
        db.execute("CREATE TABLE t (x)")
    place.chmod(0o600)
    assert found(place)["foreign"].fatal


def test_a_damaged_store_is_named(place: Path, store: Store) -> None:
    store.close()
    size = place.stat().st_size
    with place.open("r+b") as file:
        file.seek(4_096 * 3)
        file.write(b"\xff" * (size - 4_096 * 4))
    assert found(place, deep=True)["damaged"].fatal
    place.write_bytes(b"no database" * 1_000)
    assert found(place)["damaged"].fatal


def test_a_log_that_something_holds_is_named_and_mended(
    place: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WAL_BOUND", 4_500_000)
    reader = sqlite3.connect(place, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    store.extend([Event("note", "s", data={"text": f"{i}" + "x" * 9_000}) for i in range(800)])
    store.tidy()
    finding = found(place)["wal"]
    reader.close()
    assert finding.fix is not None
    finding.fix()
    assert "wal" not in found(place)


def test_a_key_that_cannot_be_used_is_named(place: Path, store: Store) -> None:
    key = Path(key_file(str(place)))
    key.write_bytes(b"short")
    assert found(place)["key"].fatal
    key.unlink()
    assert not found(place)["key"].fatal


def test_a_full_disk_is_named(place: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LITTLE_ROOM", 10**18)
    assert "prune" in found(place)["disk"].mend


def test_dead_sessions_and_orphaned_requests_are_named(place: Path, store: Store) -> None:
    gone = {"pid": os.getpid(), "pid_started": "long ago", "host": "h"}
    store.append(Event("session_start", "lost", ts=1.0, data=gone))
    store.append(Event("call_start", "lost", ts=1.0, data={"call": "c", "tool": "t"}))
    store.append(Event("request_opened", "lost", ts=1.0, data={"call": "c", "tier": "block"}))
    store.append(Event("session_start", "elsewhere", ts=1.0, data={**gone, "host": "other"}))
    findings = found(place)
    assert (
        "1 session " in findings["dead-sessions"].what and "lost" in findings["dead-sessions"].what
    )
    assert "R2" in findings["orphaned-requests"].what
    assert "R1" not in findings["orphaned-requests"].what
