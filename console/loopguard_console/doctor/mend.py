"""What ``doctor --mend`` puts right by itself: nothing that a person would miss."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from loopguard_console.doctor.sessions import dead_sessions
from loopguard_console.doctor.store import (
    WAL_BOUND,
    in_reach,
    is_default,
    may_be_replaced,
    ours,
    private_files,
)
from loopguard_core import inbox
from loopguard_core.events import Event
from loopguard_core.store.contract import Absent, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file, logs, machine_key
from loopguard_core.urls import is_url


def mend(place: str) -> Iterator[str | StoreError]:
    """Put the store at *place* right: what was done, one line each, and once each what kept something from it.

    What cannot be mended keeps nothing else from it.
    """
    said = set()
    for step in _steps(place):
        try:
            yield from step
        except Absent:
            return
        except (StoreError, OSError) as error:
            why = str(error)
            if isinstance(error, OSError):
                why = f"{error.filename}: {error.strerror}"
            if why not in said:
                said.add(why)
                yield StoreError(why)


def _steps(place: str) -> Iterator[Iterator[str]]:
    path = Path(place)
    if not is_url(place):
        if not in_reach(path):
            return
        if ours(path):
            yield from map(_file, private_files(path))
            yield _folder(path)
    yield _key(place)
    yield _requests(place)
    yield _sessions(place)
    if not is_url(place):
        yield _wal(path)


def _file(file: Path) -> Iterator[str]:
    if file.stat().st_mode & 0o777 != 0o600 and file.stat().st_uid == os.getuid():
        file.chmod(0o600)
        yield f"{file} is yours alone"


def _folder(path: Path) -> Iterator[str]:
    folder = path.parent
    if is_default(path) and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
        yield f"{folder} is yours alone"
    elif may_be_replaced(mode := folder.stat().st_mode) and folder.stat().st_uid == os.getuid():
        folder.chmod(stat.S_IMODE(mode) & ~stat.S_IWOTH)
        yield f"nobody else may write in {folder}"


def _key(place: str) -> Iterator[str]:
    if not machine_key(place, create=False):
        with contextlib.closing(open_store(place, create=False)):
            yield f"{key_file(place)} is made anew: what repeats is counted afresh"


def _requests(place: str) -> Iterator[str]:
    with contextlib.closing(open_store(place, create=False)) as store:
        for request, resolution in inbox.sweep(store):
            yield f"{request} is {resolution}"


def _sessions(place: str) -> Iterator[str]:
    with contextlib.closing(open_store(place, create=False)) as store:
        for session in dead_sessions(store):
            data = {"reason": "its process was gone", "by": inbox.whoami()}
            store.append(Event("session_end", session.session, ts=time.time(), data=data))
            yield f"{session.session} has ended"


def _wal(path: Path) -> Iterator[str]:
    wal = Path(logs(str(path))[0])
    if not wal.exists() or wal.stat().st_size <= WAL_BOUND:
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as db:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:
        raise StoreError(f"{path}: its write-ahead log cannot be written back: {error}") from None
    if not busy:
        yield "the write-ahead log is empty"
