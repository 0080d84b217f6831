"""``doctor`` looks and makes nothing; with ``--mend`` it leaves alone what is not ours."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commands import Done, command
from loopguard_core.events import Event
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store
from processes import environment


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, and a folder without settings to stand in."""
    (tmp_path / "home" / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path / "home" / "work")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "store"
    made.mkdir(0o755)
    return made


def wrong(done: Done) -> list[dict[str, Any]]:
    return [f for f in done.objects if f.get("state") == "wrong"]


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What stands in *folder*, with its mode and content."""
    return {f.name: (f.stat().st_mode, f.read_bytes()) for f in folder.iterdir()}


def recorded(place: Path) -> Path:
    """A store with one session."""
    with closing(open_store(str(place))) as store:
        store.append(Event("session_start", "s", ts=1.0))
        store.append(Event("session_end", "s", ts=2.0))
    return place


@pytest.mark.parametrize("named", [True, False])
def test_a_missing_key_is_a_fault_and_is_not_made(folder: Path, named: bool) -> None:
    place = recorded(folder / "events.db" if named else Path(default_store()))
    key = place.with_name("machine.key")
    key.unlink()
    before = listing(place.parent)
    store = place if named else None
    (found,) = wrong(command(store, "doctor", "--json"))
    assert f"{key} is missing" in found["what"] and "counted afresh" in found["what"]
    assert "--mend" in found["mend"]
    assert listing(place.parent) == before
    done = command(store, "doctor", "--mend")
    assert done.code == 0 and f"mended: {key} is made anew" in done.out
    assert key.stat().st_size == 32


def test_before_anything_was_recorded_a_key_is_not_missed(folder: Path) -> None:
    place = folder / "events.db"
    open_store(str(place)).close()
    (folder / "machine.key").unlink()
    before = listing(folder)
    assert command(place, "doctor").out.endswith("All is well.\n")
    assert listing(folder) == before


def test_an_empty_file_is_left_empty(folder: Path) -> None:
    place = folder / "events.db"
    place.touch(0o644)
    before = listing(folder)
    assert command(place, "doctor").code == 0
    assert listing(folder) == before


def foreign(place: Path, kind: str) -> None:
    """What is no event store, readable by everybody."""
    if kind == "text":
        place.write_text("a letter to a friend\n" * 30)
    else:
        with closing(sqlite3.connect(place)) as db:
            if kind == "database with a log":
                db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE theirs (x)")
    place.chmod(0o644)


@pytest.mark.parametrize("kind", ["text", "database", "database with a log"])
def test_what_is_not_ours_is_one_fault_and_stays_as_it_is(folder: Path, kind: str) -> None:
    place = folder / "theirs.db"
    foreign(place, kind)
    folder.chmod(0o777)
    before = listing(folder)
    for options in ((), ("--mend",)):
        (found,) = wrong(command(place, "doctor", *options, "--json"))
        assert ("not a SQLite" if kind == "text" else "another program") in found["what"]
        assert "chmod" not in found["mend"] and "--mend" not in found["mend"]
        assert command(place, "doctor", *options).out.endswith("1 wrong.\n")
    assert listing(folder) == before
    assert folder.stat().st_mode & 0o777 == 0o777


@pytest.mark.parametrize("kind", ["text", "database"])
@pytest.mark.parametrize("line", ["halt s", "approve R1", "watch"])
def test_no_key_is_made_beside_what_is_not_ours(folder: Path, kind: str, line: str) -> None:
    place = folder / "theirs.db"
    foreign(place, kind)
    before = listing(folder)
    assert command(place, *line.split()).code in (1, 2)
    assert listing(folder) == before


def test_an_agent_makes_no_key_beside_what_is_not_ours(folder: Path) -> None:
    place = folder / "theirs.db"
    foreign(place, "database")
    before = listing(folder)
    script = (
        "from loopguard_core.shim import LoopGuard\n"
        "with LoopGuard('a') as guard:\n    print(guard.before_call('t', {}).run)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(LOOPGUARD_STORE=str(place)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "True\n" and "another program" in done.stderr
    assert listing(folder) == before


@pytest.mark.parametrize("place", ["/proc/nope/events.db", "file/events.db", "file/in/events.db"])
def test_a_store_that_cannot_be_made_is_a_fault(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    done = command(tmp_path / place, "doctor", "--json")
    (found,) = wrong(done)
    assert (
        done.code == 1 and "nothing can be made in" in found["what"] and "--store" in found["mend"]
    )
    if os.geteuid():  # whoever is root may write everywhere else
        (tmp_path / "closed").mkdir(0o500)
        (found,) = wrong(command(tmp_path / "closed" / "events.db", "doctor", "--json"))
        assert "Permission denied" in found["what"]
