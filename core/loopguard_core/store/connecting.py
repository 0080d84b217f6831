"""A connection to a SQLite file that is an event store of ours, of a version that is known here.

Every function raises ``StoreError`` for a file that is another thing, ``sqlite3.Error`` for what SQLite
says; whoever calls waits where the file is only busy.
"""

from __future__ import annotations

import os
from functools import partial
from time import sleep

from loopguard_core import files
from loopguard_core.clock import monotonic_ns
from loopguard_core.interrupts import pass_on
from loopguard_core.store import schema
from loopguard_core.store.contract import Foreign, Older, StoreError
from loopguard_core.store.driver import BUSY, code_of, sqlite3
from loopguard_core.store.paths import last_written, logs, make_directory, make_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.paths import FileId


#: Nanoseconds for which a busy store is waited for beyond patience, while others do write: on a machine that is
#: overloaded, turns come late.
LONGEST = 2_000_000_000


def patiently(path: str, *, create: bool, read_only: bool, patience: float) -> sqlite3.Connection:
    """The store at *path*; one that is busy, or may just be made, is waited for: *patience* is in seconds."""
    most = int(patience * 1e9)
    until = monotonic_ns() + most
    longest, written = until + LONGEST, last_written(path)
    while True:
        try:
            db = to_read(path) if read_only else to_write(path, create=create)
            if db is not None:
                return db
        except sqlite3.Error as error:
            # the last one to leave a store, and who brings it up to date, lock it for a moment
            now, last = monotonic_ns(), last_written(path)
            moves = last != written or being_made(path)
            if until < now < longest and moves:
                until, written = now + most, last
            if code_of(error) not in BUSY or now > until:
                raise
        else:
            if monotonic_ns() > until:
                raise StoreError(f"the event store {path} is empty; nothing was recorded in it yet")
        sleep(0.002 + (monotonic_ns() // 64 % 64) * 0.0001)


def to_write(path: str, *, create: bool) -> sqlite3.Connection:
    """The store at *path*, brought up to date; where *create*, made if it is missing."""
    if create:
        make_directory(path)
        make_file(path)
        _check_writable(path)
    elif not os.path.exists(path):
        raise StoreError(f"there is no event store at {path}")
    _check_files(path)
    db = _connect(path)
    try:
        _check_kind(db, path)
        if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        if schema.version_of(db) < schema.VERSION:
            from loopguard_core.store import migrations  # once a file

            migrations.migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def is_open(db: sqlite3.Connection) -> bool:
    """False once *db* was closed, as an interpreter that ends does."""
    try:
        db.total_changes  # noqa: B018 - it raises where the connection is closed
    except sqlite3.ProgrammingError:
        return False
    return True


def being_made(path: str) -> bool:
    """True for a store that has at most its first page in its file. Who makes it keeps it locked, however long that takes."""
    try:
        return os.stat(path).st_size <= 4096
    except OSError as error:
        pass_on(error)
        return False


def _check_files(path: str) -> None:
    """Raises ``Foreign`` where something else stands under the name of a file of the store."""
    wrong = files.odd_database(path)
    if wrong:
        raise Foreign(f"the event store cannot be opened: {wrong}")


def _check_writable(path: str) -> None:
    """Raises ``StoreError`` for a file that may only be read: SQLite would give its log the same permissions.

    A log that has them already, beside a file that may be written again, gets those of the file.
    """
    may = partial(os.access, mode=os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    if not may(path):
        raise StoreError(
            f"the event store {path} is read-only; "
            "give this user write permission on the file and its directory"
        )
    for log in logs(path):
        if os.path.exists(log) and not may(log):
            try:
                os.chmod(log, os.stat(path).st_mode & 0o777)
            except OSError as error:
                pass_on(error)  # it is somebody else's: SQLite says so when it is written


def to_read(path: str) -> sqlite3.Connection | None:
    """The store at *path*, which nothing is written to; None while it is empty and may just be made."""
    if not os.path.exists(path):
        raise StoreError(f"there is no event store at {path}")
    refuse_foreign(path)
    db = readable(path)
    try:
        _check_kind(db, path)
        version = schema.version_of(db)
        if 0 < version < schema.VERSION:
            raise Older(
                f"the event store {path} is of an older version ({version}) and was opened to "
                "be read only; open it once with write access to bring it up to date"
            )
    except BaseException:
        db.close()
        raise
    if version:
        return db
    db.close()
    return None


def refuse_foreign(path: str) -> None:
    """Raises ``Foreign`` for what is no event store and cannot become one; what cannot be told passes.

    It is looked at only: nothing is left beside it either, as SQLite leaves it beside what it reads.
    """
    _check_files(path)
    try:
        db = readable(path) if _has_log(path) else _connect(f"{_uri(path)}&immutable=1", uri=True)
        try:
            _check_ours(db, path)
        finally:
            db.close()
    except sqlite3.Error as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            from loopguard_core.store.failures import describe  # only where something failed

            raise Foreign(describe(path, error)) from None


def is_foreign(path: str) -> bool:
    """True where ``refuse_foreign`` raises ``Foreign``: no event store, of whatever version and however damaged."""
    try:
        refuse_foreign(path)
    except Foreign:
        return True
    return False


def _has_log(path: str) -> bool:
    try:
        return os.stat(logs(path)[0]).st_size > 0
    except OSError as error:
        pass_on(error)
        return False


def sweep(path: str) -> None:
    """Take away the empty log that reading leaves beside a store, where nobody has it open.

    Only a connection that may write does so, if it is the last one to close the file.
    """
    try:
        if os.access(path, os.W_OK) and os.stat(logs(path)[0]).st_size == 0:
            db = _connect(_uri(path, "rw"), uri=True)
            try:
                db.execute("SELECT 1 FROM sqlite_master").fetchall()
            finally:
                db.close()
    except (OSError, sqlite3.Error) as error:
        pass_on(error)  # somebody is in the way, and leaves after us


def _uri(path: str, mode: str = "ro") -> str:
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{place}?mode={mode}"


def readable(path: str) -> sqlite3.Connection:
    """A connection to the file at *path* that only reads, also where SQLite can make nothing beside it.

    Raises ``sqlite3.Error``.
    """
    db = _connect(_uri(path), uri=True)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        db.close()
        folder = os.path.dirname(path)
        writable = os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        if not isinstance(error, sqlite3.OperationalError) or code_of(error) in BUSY or writable:
            raise
        # A WAL cannot be made beside it, so nobody can be writing to it either.
        return _connect(f"{_uri(path)}&immutable=1", uri=True)
    return db


def _check_kind(db: sqlite3.Connection, path: str) -> None:
    _check_ours(db, path)
    check_version(db, path)


def _check_ours(db: sqlite3.Connection, path: str) -> None:
    foreign = not _is_ours(db) and (
        schema.version_of(db) or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    )
    if foreign and not _is_ours(db):  # looked at again: it may just have been made
        raise Foreign(
            f"{path} is a SQLite database of another program, not an event store; "
            "name another file with --store or LOOPGUARD_STORE"
        )


def check_version(db: sqlite3.Connection, path: str, version: int | None = None) -> None:
    """Raises ``StoreError`` for a store that a newer program wrote."""
    if version is None:
        version = schema.version_of(db)
    if version > schema.VERSION:
        raise StoreError(
            f"the event store {path} was written by a newer loopguard (schema {version}, "
            f"this one knows {schema.VERSION}); update loopguard-console, or name another store"
        )


def _is_ours(db: sqlite3.Connection) -> bool:
    kind: int = db.execute("PRAGMA application_id").fetchone()[0]
    return kind == schema.APPLICATION_ID


def _connect(place: str, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(place, timeout=0, isolation_level=None, check_same_thread=False, uri=uri)


def anchor(path: str, file: FileId) -> int:
    """A descriptor that only names the *file* at *path*, where the system has such; -1 elsewhere.

    Closing it leaves SQLite's locks alone, which closing any other descriptor of the file would not.
    """
    if not hasattr(os, "O_PATH"):
        return -1
    try:
        anchor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        pass_on(error)
        return -1
    stat = os.fstat(anchor)
    if (stat.st_dev, stat.st_ino) == file:
        return anchor
    os.close(anchor)
    return -1


def has_name(anchor: int, file: FileId) -> bool | None:
    """Whether the *file* that is named by *anchor* is still called something; None where *anchor* names it no more.

    True where there is no anchor.
    """
    if anchor < 0:
        return True
    try:
        found = os.fstat(anchor)
    except OSError as error:
        pass_on(error)
        return None
    return found.st_nlink > 0 if (found.st_dev, found.st_ino) == file else None
