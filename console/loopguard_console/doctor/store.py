"""Is the store sound? What ``store.health`` finds, and whether it can be written right now."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.liveness import liveness
from loopguard_core import inbox
from loopguard_core.events import Event
from loopguard_core.store import health
from loopguard_core.store.sqlite import open_store

AREA = "store"
MEND = "loopguard-console doctor --mend"
_DEEP_BYTES = 200_000_000
#: findings with which one can live, and that ``doctor`` cannot change
_NOTES = frozenset({"missing", "sqlite"})
_SWEPT = frozenset({"dead-sessions", "orphaned-requests"})


def examine(place: str) -> Iterator[Finding]:
    """What is to be said of the store at *place*."""
    found = _look(place)
    for one in found:
        mend = f"{MEND}, or: {one.mend}" if one.fix or one.name in _SWEPT else one.mend
        yield Finding(AREA, NOTE if one.name in _NOTES else WRONG, one.what, mend)
    if not any(one.fatal or one.name == "missing" for one in found):
        yield from _write(place)
    if not any(one.name not in _NOTES for one in found) and os.path.lexists(place):
        yield Finding(AREA, OK, f"{place} is yours alone, whole, and nothing dead is in it")


def mend(place: str) -> Iterator[str]:
    """Put right what can be put right without loss; what was done, one line each."""
    for one in _look(place):
        if one.fix is not None:
            one.fix()
            yield one.what
    if not os.path.lexists(place):
        return
    with contextlib.closing(open_store(place, create=False)) as store:
        for request, resolution in inbox.sweep(store):
            yield f"{request} is {resolution}"
        now, host = time.time(), os.uname().nodename
        for session in store.sessions():
            if liveness(session, now, host) == "lost":
                data = {"reason": "its process was gone", "by": inbox.whoami()}
                store.append(Event("session_end", session.session, ts=now, data=data))
                yield f"{session.session} has ended"


def _look(place: str) -> list[health.Finding]:
    small = not os.path.lexists(place) or Path(place).stat().st_size < _DEEP_BYTES
    return health.examine(place, host=os.uname().nodename, deep=small)


def _write(place: str) -> Iterator[Finding]:
    """Take the write lock and let it go again. The mode is looked at too: to root all is writable."""
    path = Path(place)
    if not path.stat().st_mode & 0o200:
        yield Finding(AREA, WRONG, f"{place} is read-only", f"chmod 600 '{place}'")
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=2, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        said = "end the program that holds it (fuser, lsof)"
        yield Finding(AREA, WRONG, f"{place} cannot be written: {error}", said)
    else:
        yield Finding(AREA, OK, f"{place} can be written")
