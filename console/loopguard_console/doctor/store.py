"""Is the store sound: there, writable, private, of this version, in bounds, and without dead weight?"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import tempfile
from pathlib import Path

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.doctor.sessions import AREA, MEND, dead_weight, failure, left_behind
from loopguard_console.render import size
from loopguard_core import files
from loopguard_core.store import link
from loopguard_core.store.connecting import is_foreign, readable
from loopguard_core.store.contract import Older, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store, is_there, key_file, logs, misnamed
from loopguard_core.urls import MISNAMED, is_url

#: bytes of write-ahead log that say that checkpoints do not get through
WAL_BOUND = 4 * link.WAL_BOUND
#: the first versions in which SQLite's WAL-reset fault is mended, one a line of releases
_WAL_RESET_MENDED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
_CHECKED_BYTES = 200_000_000


def examine(place: str) -> list[Finding]:
    """What is to be said of the store at *place*."""
    if is_url(place):
        from loopguard_console.doctor import database  # needs psycopg

        return [*database.examine(place), *left_behind()]
    if place == MISNAMED:
        return [failure(misnamed())]
    return [*_of_file(Path(place)), *_version(), *left_behind()]


def _of_file(path: Path) -> list[Finding]:
    """What is to be said of the store at *path*. It is only read: neither tables nor a key are made."""
    try:
        if not is_there(str(path)) or (path.is_file() and not path.stat().st_size):
            return _absent(path)
    except StoreError as error:
        return [failure(error)]
    if not in_reach(path):  # a link that leads nowhere, where the first agent makes the store
        wrong = files.odd_database(str(path))
        return [failure(StoreError(wrong))] if wrong else _of_file(Path(os.path.realpath(path)))
    try:
        with contextlib.closing(open_store(str(path), create=False, read_only=True)) as store:
            found = dead_weight(store)
    except Older as error:
        what, _, _ = str(error).partition(" and was opened")
        found = [Finding(AREA, NOTE, what, "the next agent or console brings it up to date")]
    except StoreError as error:
        return [*_read_only(path), failure(error), *(_permissions(path) if ours(path) else ())]
    # what writes comes last: so nothing is left that SQLite makes beside a file to read it
    return [
        *(_read_only(path) or _writable(path)),
        *_permissions(path),
        *_bounds(path),
        *_sound(path),
        *found,
    ]


def _absent(path: Path) -> list[Finding]:
    """Say whether the first agent can make the store, as something can be made where it would be."""
    folder = next(p for p in path.parents if p.exists())
    try:
        tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder).cleanup()
    except OSError as error:
        what = f"there is no store yet at {path}, and nothing can be made in {folder}: {error.strerror}"
        mend = "mend its permissions, or name another with --store or LOOPGUARD_STORE"
        return [Finding(AREA, WRONG, what, mend)]
    return [Finding(AREA, NOTE, f"there is no store yet at {path}; the first agent makes it")]


def in_reach(path: Path) -> bool:
    """Whether something stands at *path* and this user may look at it."""
    try:
        return path.exists()
    except PermissionError:
        return False


def ours(path: Path) -> bool:
    """Whether the file at *path* is an event store, as far as can be told, or stands where ours does by default."""
    return is_default(path) or not is_foreign(str(path))


def is_default(path: Path) -> bool:
    """Whether *path* is where the store is that nobody names."""
    return str(path) == default_store({**os.environ, "LOOPGUARD_STORE": ""})


def _writable(path: Path) -> list[Finding]:
    """Take the write lock and let it go again."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=2, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        mend = "end the program that holds it (fuser, lsof), or mend its permissions"
        return [Finding(AREA, WRONG, f"{path} cannot be written: {error}", mend)]
    return [Finding(AREA, OK, f"{path} can be written")]


def _read_only(path: Path) -> list[Finding]:
    """Say that this user cannot write there, where its permissions or its file system keep them from it."""
    mend = "give this user write permission on the file and its directory, or mount it for writing"
    return [
        Finding(AREA, WRONG, f"{place} is read-only for this user", mend)
        for place in (path, path.parent)
        if not os.access(place, os.W_OK)
    ][:1]


def _permissions(path: Path) -> list[Finding]:
    wrong = []
    for file in private_files(path):
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & 0o077:
                what = f"{file} can be read by others ({mode:04o})"
                wrong.append(Finding(AREA, WRONG, what, f"{MEND}, or chmod 600 {file}"))
            elif not mode & 0o200:
                what = f"{file} is read-only ({mode:04o})"
                wrong.append(Finding(AREA, WRONG, what, f"{MEND}, or chmod 600 {file}"))
    folder = path.parent
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077 and is_default(path):
            what = f"{folder} is open to others ({mode:04o})"
            wrong.append(Finding(AREA, WRONG, what, f"{MEND}, or chmod 700 {folder}"))
        elif may_be_replaced(mode):
            what = f"anybody may replace the store in {folder} ({mode:04o})"
            wrong.append(Finding(AREA, WRONG, what, f"{MEND}, or chmod o-w {folder}"))
    return wrong or [Finding(AREA, OK, "the store and its key are yours alone")]


def may_be_replaced(mode: int) -> bool:
    """True for the mode of a folder in which everybody may replace everybody's files."""
    return bool(mode & stat.S_IWOTH and not mode & stat.S_ISVTX)


def private_files(path: Path) -> list[Path]:
    """The store's files that nobody else may read. The mode of what is no file is not what is wrong with it."""
    there = (path, *map(Path, logs(str(path))), Path(key_file(str(path))))
    return [p for p in there if p.exists() and not files.odd(str(p), follow=p == path)]


def _bounds(path: Path) -> list[Finding]:
    wal = Path(logs(str(path))[0])
    length = wal.stat().st_size if wal.exists() else 0
    if length > WAL_BOUND:
        what = f"the write-ahead log has grown to {size(length)}B: something keeps it from being emptied"
        return [Finding(AREA, WRONG, what, f"close programs that hold the store open, then {MEND}")]
    return [Finding(AREA, OK, f"{size(path.stat().st_size)}B, write-ahead log {size(length)}B")]


def _sound(path: Path) -> list[Finding]:
    if path.stat().st_size > _CHECKED_BYTES:
        return [Finding(AREA, NOTE, "too large for a quick check of its integrity")]
    try:
        with contextlib.closing(_to_check(path)) as db:
            said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        said = str(error)
    if said == "ok":
        return [Finding(AREA, OK, "its integrity is sound")]
    mend = "export what can be read, move the file away; a new one is made"
    return [Finding(AREA, WRONG, f"{path} is damaged: {said}", mend)]


def _to_check(path: Path) -> sqlite3.Connection:
    return readable(str(path)) if _read_only(path) else sqlite3.connect(path, timeout=2)


def _version() -> list[Finding]:
    version = sqlite3.sqlite_version_info
    if has_wal_reset_fault(version):
        what = (
            f"SQLite {sqlite3.sqlite_version} has the WAL-reset fault: in rare cases a checkpoint "
            "that meets a write damages the file"
        )
        mend = "a Python with SQLite 3.44.6, 3.50.7, 3.51.3 or later does not have it"
        return [Finding(AREA, NOTE, what, mend)]
    return [Finding(AREA, OK, f"SQLite {sqlite3.sqlite_version}")]


def has_wal_reset_fault(version: tuple[int, ...]) -> bool:
    """Whether this SQLite can damage a database in WAL mode (https://sqlite.org/wal.html#walresetbug)."""
    return not any(
        version >= mended and (version[:2] == mended[:2] or mended == _WAL_RESET_MENDED[-1])
        for mended in _WAL_RESET_MENDED
    )
