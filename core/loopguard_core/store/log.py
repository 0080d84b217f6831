"""The write-ahead log of a SQLite store: how much of it is in use, and writing it back into the file.

SQLite's own checkpoints run beside writers, so under steady writing they never come to the end of the log,
and it grows for ever. Here writers are kept out meanwhile. That also keeps clear of a fault of most
versions, where a checkpoint beside a writer that begins the log anew may damage the file
(https://sqlite.org/wal.html#walresetbug). Then the log begins anew in the same place: to overwrite costs an
append less than to lengthen a file that was cut.
"""

from __future__ import annotations

import os

from loopguard_core import files
from loopguard_core.interrupts import pass_on
from loopguard_core.store.driver import code_of, sqlite3
from loopguard_core.store.paths import file_id, logs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.paths import FileId

    #: How a log stood: its bytes, the salts of its header, and where frames lie in a hole (-1: nowhere).
    Mark = tuple[int, bytes, int]

#: Bytes of it above which whoever has the time writes it back; and above which a process that ends at
#: once does, since the next one to open the file has to read what it left.
WAL_SIZE = 4_000_000
LEFT_BEHIND = 1_000_000
#: Milliseconds that it waits for writers and readers to step aside.
_STEP_ASIDE = 150
# https://www.sqlite.org/fileformat2.html#the_write_ahead_log: a header of 32 bytes, then frames, each a
# header of 24 and a page. A frame is in use if it has the two salts of the log's header.
_HEADER = 32
_FRAME_HEADER = 24
_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_HOLE = bytes(8)
_UNREADABLE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
#: A log in which nothing stands; and in place of salts, that SQLite passed over what stands in it.
EMPTY: Mark = (0, b"", -1)
_PASSED_OVER = b"?"
#: Where a process finds what it has open, on systems that tell.
_HELD = "/proc/self/fd"


def exceeds(store: str, size: int) -> bool:
    """True where more than *size* bytes of the log of *store* are in use, or would be read by the next
    one to open it. Raises ``OSError``."""
    log = files.opened(logs(store)[0])
    try:
        if os.fstat(log).st_size <= size:
            return False
        header = os.pread(log, _HEADER, 0)
        if header[:4] not in _MAGIC:
            return False  # it was cut: what stands in it must not get into the file
        frame = _frame(header)
        salts = os.pread(log, 8, _HEADER + size // frame * frame + 8)
        return salts == header[16:24]
    finally:
        os.close(log)  # SQLite keeps no lock on this file that this could drop


def _frame(header: bytes) -> int:
    """The bytes of a frame with its header."""
    return _FRAME_HEADER + (int.from_bytes(header[8:12], "big") or 65_536)


def mark(store: str) -> Mark:
    """How the log of *store* stands for who has just opened it."""
    try:
        log = files.opened(logs(store)[0])
    except OSError as error:
        pass_on(error)
        return EMPTY
    try:
        size, header = os.fstat(log).st_size, os.pread(log, _HEADER, 0)
        if header[:4] not in _MAGIC:
            return size, _PASSED_OVER, -1
        return size, header[16:24], _hole(log, size, _frame(header))
    finally:
        os.close(log)


def look(store: str, before: Mark, db: sqlite3.Connection | None = None) -> Mark | None:
    """How the log of *store* stands; None where somebody cut it since it stood as *before*.

    SQLite cuts a log to nothing, once all of it is in the file, and gives the next one other salts. An
    empty one is asked for through *db*, which would read what it knows to be there. A machine that lost its
    power may leave a hole behind the frames: it only grows less. Raises ``OSError``.
    """
    return _look_twice(logs(store)[0], before, db)


def _look_twice(path: str, before: Mark, db: sqlite3.Connection | None) -> Mark | None:
    found = _look(path, before, db)
    return _look(path, before, db) if found is None else found  # it may have begun anew meanwhile


def _look(path: str, before: Mark, db: sqlite3.Connection | None) -> Mark | None:
    log = files.opened(path, follow=path.startswith(_HELD))
    try:
        size = os.fstat(log).st_size
        if not size:
            return None if before[0] and db is not None and _misses(db) else EMPTY
        header = os.pread(log, _HEADER, 0)
        if header[:4] not in _MAGIC:
            # what was written after a cut stands behind a hole
            return before if before[:2] == (size, _PASSED_OVER) else None
        salts, hole = header[16:24], _hole(log, size, _frame(header))
        if salts == before[1] and (size < before[0] or (hole >= 0 and not 0 <= before[2] <= hole)):
            return None
        return size, salts, hole
    finally:
        os.close(log)


def _hole(log: int, size: int, frame: int) -> int:
    """Where frames of the log lie in a hole of its file, -1 for nowhere. Some systems take any zeros for one."""
    if not hasattr(os, "SEEK_HOLE"):
        return -1
    hole = os.lseek(log, 0, os.SEEK_HOLE)
    first = _HEADER + (max(0, hole - _HEADER) // frame + 1) * frame
    return hole if first + _FRAME_HEADER <= size and os.pread(log, 8, first + 8) == _HOLE else -1


def _misses(db: sqlite3.Connection) -> bool:
    """Whether *db* knows of what should stand in its log, and does not."""
    try:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        return code_of(error) in _UNREADABLE
    return False


def _all_in_file(db: sqlite3.Connection) -> bool:
    """Bring what stands in the log of *db* into the file; whether all of it is there."""
    try:
        busy, total, done = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error:  # it cannot be read any more
        return False
    return not busy and total == done


def save(db: sqlite3.Connection, store: str, known: FileId, before: Mark) -> bool:
    """Bring a log that was taken away, the *known* one, into the file; whether all of it is there.

    Not where another one was begun: older pages must not get under newer ones. Nor where it was cut as well, since
    it stood as *before*: what was written behind the cut would bring a hole into the file. Raises ``OSError``.
    """
    if file_id(logs(store)[0]) not in ((0, 0), known) or _cut(store, known, before, db):
        return False
    return _all_in_file(db)


def _cut(store: str, known: FileId, before: Mark, db: sqlite3.Connection | None) -> str:
    """Where the *known* log can be reached, if somebody cut it since it stood as *before*; else empty.

    One that was taken away still stands behind the descriptor by which SQLite holds it. Raises ``OSError``.
    """
    path = logs(store)[0]
    if file_id(path) != known:
        held = os.listdir(_HELD) if known != (0, 0) and os.path.isdir(_HELD) else []
        path = next((f"{_HELD}/{fd}" for fd in held if file_id(f"{_HELD}/{fd}") == known), "")
    return path if path and _look_twice(path, before, db) is None else ""


def void(store: str, known: FileId, before: Mark, db: sqlite3.Connection | None = None) -> bool:
    """Empty a log that was cut, if it is the *known* one; whether it was.

    Who lets go of it last brings it into the file, holes and all, and would damage it.
    """
    try:
        path = _cut(store, known, before, db)
        if path:
            os.truncate(path, 0)
    except OSError as error:
        pass_on(error)
        return False
    return bool(path)


def write_back(db: sqlite3.Connection, store: str, size: int, *, cut: bool) -> None:
    """Write the log back if it exceeds *size* and nobody is in the way; *cut*: and leave an empty file.

    Raises ``sqlite3.Error``.
    """
    from loopguard_core.store.queueing import Line

    line = Line(store)
    db.execute(f"PRAGMA busy_timeout = {_STEP_ASIDE}")
    try:
        line.wait()  # at the head of the line there are fewer to step aside
        if exceeds(store, size):  # nobody else did it meanwhile
            db.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if cut else 'RESTART'})").fetchall()
    finally:
        db.execute("PRAGMA busy_timeout = 0")
        line.leave()
