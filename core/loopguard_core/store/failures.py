"""What an error of SQLite means for a person: what is wrong with the store, and what to do."""

from __future__ import annotations

import os
import sqlite3

from loopguard_core.store.contract import CUT, TAKEN_BACK, Replaced, StoreError
from loopguard_core.store.paths import logs

_FULL = (
    "cannot grow: the disk is full",
    "make room (some megabytes), then loopguard-console prune lets old sessions go",
)
_WORDS = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another process",
        "if it stays so, see who has it open (fuser, lsof) and end that process",
    ),
    sqlite3.SQLITE_LOCKED: ("is locked by this process", "end the transaction that holds it"),
    sqlite3.SQLITE_PROTOCOL: ("is locked by another process", "try again"),
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: (
        "is read-only",
        "give this user write permission on the file and its directory",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "see that its directory exists and that this user may write there",
    ),
    sqlite3.SQLITE_PERM: ("cannot be opened", "mend its permissions"),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "move it away (a new one is made), or restore it from a copy",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a SQLite database",
        "name another file, or move this one away (a new one is made)",
    ),
    sqlite3.SQLITE_IOERR: ("cannot be read or written by the system", "look at the disk"),
}

#: What SQLite says where it cannot make a log, or the file that is shared beside it.
_UNMADE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
#: Bytes that these need, with some to spare.
_NEEDED = 100_000
#: Bytes that a file may still grow where a limit on its size need not be what kept it from that.
_ROOM = 2_000_000


def describe(path: str, error: sqlite3.Error, name: str = "the event store") -> str:
    """One line about *error* at the store *path*; the last part, after ``; ``, is what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    what, advice = _WORDS.get(code, (f"failed: {error}", "loopguard-console doctor looks closer"))
    if code in _UNMADE and _is_full(path):
        what, advice = _FULL
    if code == sqlite3.SQLITE_IOERR and (most := _limit(path)):
        what = f"cannot grow: no file of this process may be larger than {most:,} bytes (ulimit -f)"
        advice = "raise that limit where this process is started, or loopguard-console prune"
    return f"{name} {path} {what}; {advice}"


def _is_full(path: str) -> bool:
    """True where the disk of the store has no room for as much as its log."""
    try:
        found = os.statvfs(os.path.dirname(path) or ".")
    except (OSError, AttributeError):
        return False
    return found.f_bavail * found.f_frsize < _NEEDED


def _limit(path: str) -> int:
    """The most bytes that a file of this process may have, where one of the store's is near to it; else 0."""
    try:
        import resource  # not on every system
    except ImportError:
        return 0
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most == resource.RLIM_INFINITY:
        return 0
    largest = 0
    for name in (path, *logs(path)):
        try:
            largest = max(largest, os.stat(name).st_size)
        except OSError:
            pass  # there is none
    return most if largest + _ROOM > most else 0


def replaced(path: str, harm: str, kept: bool, *, left_open: bool = False) -> Replaced:
    """What became of the store at *path* while it was open: with its log (*harm*), or as a whole.

    *left_open*: nothing but what this process wrote last, in a transaction that an exception had left open.
    """
    if left_open and not harm:
        what = (
            f"an exception had left a transaction of the event store {path} open; "
            "what this process wrote since is lost"
        )
    elif not harm:
        what = f"the event store {path} was deleted or replaced; a new one is in use from here on"
    elif kept:
        what = f"the log of the event store {path} was {harm} while it was in use; nothing of it is lost"
    else:
        what = (
            f"the log of the event store {path} was {harm} while it was in use; "
            "what had not been written back into the store may be lost"
        )
    error = Replaced(what)
    error.kept = left_open or bool(harm)
    if error.kept:
        error.reason = CUT if harm else TAKEN_BACK
    return error


def cut_off(path: str) -> StoreError:
    """This process has no way to the store at *path* any more, nor will it have one."""
    return StoreError(
        f"this program has closed the file descriptors of the event store {path}, which it had not opened; "
        "start it again to have its events recorded"
    )
