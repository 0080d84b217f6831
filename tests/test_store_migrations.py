"""An older file is brought up to date in one transaction, or left as it was."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store import migrations, schema
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store

STEP = "CREATE TABLE later (x);\nALTER TABLE session ADD COLUMN colour TEXT;\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file of today's version, with an event."""
    place = tmp_path / "events.db"
    store = open_store(str(place))
    store.append(Event("note", "s", data={"text": "kept"}))
    store.close()
    return place


def tomorrow(monkeypatch: pytest.MonkeyPatch, step: str = STEP) -> None:
    """From here on there is one more step."""
    version = len(migrations.STEPS) + 1
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, ("later", step)))
    monkeypatch.setattr(migrations, "VERSION", version)
    monkeypatch.setattr(schema, "VERSION", version)


def version_of(place: Path) -> int:
    with sqlite3.connect(place) as db:
        return schema.version_of(db)


def test_the_version_is_the_number_of_steps(place: Path) -> None:
    assert len(migrations.STEPS) == schema.VERSION == version_of(place)


def test_an_older_file_is_brought_up_to_date_and_keeps_what_it_has(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version_of(place)
    tomorrow(monkeypatch)
    with pytest.raises(StoreError, match="older version"):
        open_store(str(place), read_only=True)
    assert version_of(place) == before
    store = open_store(str(place))
    assert version_of(place) == before + 1
    assert store.read("s")[0].data == {"text": "kept"}
    assert store.append(Event("note", "s")) == 2
    assert open_store(str(place), read_only=True).last("s") == 2


def test_a_step_that_fails_leaves_the_file_as_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version_of(place)
    with monkeypatch.context() as patched:
        tomorrow(patched, STEP + "CREATE TABLE session (again);\n")
        with pytest.raises(StoreError):
            open_store(str(place))
    assert version_of(place) == before
    with sqlite3.connect(place) as db:
        assert not db.execute("SELECT * FROM sqlite_master WHERE name = 'later'").fetchall()
    assert open_store(str(place)).last("s") == 1


def test_all_steps_and_the_version_are_one_transaction(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tomorrow(monkeypatch)
    for path in (place, place.with_name("new.db")):
        said: list[str] = []
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.set_trace_callback(said.append)
            assert "later" in migrations.migrate(db)
        bounds = [n for n, sql in enumerate(said) if sql.startswith(("BEGIN", "COMMIT"))]
        written = [
            n for n, sql in enumerate(said) if sql.startswith(("CREATE", "PRAGMA user_version ="))
        ]
        assert len(bounds) == 2
        assert bounds[0] < min(written) <= max(written) < bounds[1]


def test_many_that_open_a_new_or_an_old_file_at_once_all_can(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tomorrow(monkeypatch)
    for path in (place, tmp_path / "new" / "events.db"):
        failed: list[Exception] = []

        def work(path: Path = path, failed: list[Exception] = failed) -> None:
            try:
                open_store(str(path)).append(Event("note", "t"))
            except Exception as error:  # noqa: BLE001 - told below
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert open_store(str(path)).last("t") == 8
