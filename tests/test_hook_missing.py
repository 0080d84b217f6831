"""What hooks could not write is counted in the log, once, when the store is back."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from hooks import Host
from loopguard_core.events import Event
from loopguard_core.session import missing
from loopguard_core.store.door import open_store


@contextmanager
def locked(place: Path) -> Iterator[None]:
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def events(host: Host) -> list[Event]:
    with closing(open_store(str(host.store))) as store:
        return store.read("s1")


def test_what_hooks_could_not_write_is_a_gap_once_they_can(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.before()
    with locked(host.store):
        assert "locked" in host.after().err
        assert "locked" in host.before("ls").err
        assert "locked" in host.send("UserPromptSubmit", prompt="go on").err
    host.before("pwd")
    host.after("pwd")
    log = events(host)
    assert [e.type for e in log[1:]] == ["call_start", "gap", "call_start", "call_end"]
    assert log[2].data["count"] == 3 and "locked" in log[2].text("reason")


def test_a_store_that_is_no_database_is_missed_too(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.store.write_bytes(b"this is a text, and a long one" * 100)
    host.before()
    host.store.unlink()
    host.before()
    gap = next(e for e in events(host) if e.type == "gap")
    assert gap.data["count"] == 1 and "not a SQLite database" in gap.text("reason")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path)}


def test_many_count_at_once_and_one_says_so(environ: dict[str, str]) -> None:
    with ThreadPool(8) as pool:
        pool.map(lambda _: missing.count("s", "it was\nlocked", environ), range(200))
        found = pool.map(lambda _: missing.claim("s", environ), range(8))
    assert sorted(found)[:-1] == [(0, "")] * 7
    events, why = max(found)
    assert (events, why[:13]) == (200, "it was locked")
    missing.count("other", "gone", environ, 3)
    assert missing.claim("s", environ) == (0, "")
    assert missing.claim("other", environ) == (3, "gone")


@pytest.mark.parametrize("planted", ["a pipe", "a link", "a folder", "a file for the folder"])
def test_what_was_put_there_instead_is_left_alone(
    tmp_path: Path, environ: dict[str, str], planted: str
) -> None:
    missing.count("s", "locked", environ)
    (counted,) = (tmp_path / "loopguard" / "missing").iterdir()
    assert counted.stat().st_mode & 0o777 == 0o600
    counted.unlink()
    other = tmp_path / "other"
    other.write_text("mine")
    if planted == "a pipe":
        os.mkfifo(counted)
    elif planted == "a link":
        counted.symlink_to(other)
    elif planted == "a folder":
        counted.mkdir()
    else:
        counted.parent.rmdir()
        counted.parent.write_text("mine")
    missing.count("s", "locked", environ)
    assert missing.claim("s", environ)[0] == 0
    assert other.read_text() == "mine"
