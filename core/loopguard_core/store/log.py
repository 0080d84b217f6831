"""The write-ahead log of a SQLite store: how much of it is in use, and writing it back into the file.

SQLite's own checkpoints run beside writers, so under steady writing they never come to the end of the log,
and it grows for ever. Here writers are kept out meanwhile. That also keeps clear of a fault of most
versions, where a checkpoint beside a writer that begins the log anew may damage the file
(https://sqlite.org/wal.html#walresetbug). Then the log begins anew in the same place: to overwrite costs an
append less than to lengthen a file that was cut.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.driver import sqlite3

#: Milliseconds that it waits for writers and readers to step aside.
_STEP_ASIDE = 150
# https://www.sqlite.org/fileformat2.html#the_write_ahead_log: a header of 32 bytes, then frames, each a
# header of 24 and a page. A frame is in use if it has the two salts of the log's header.
_HEADER = 32
_FRAME_HEADER = 24


def exceeds(store: str, size: int) -> bool:
    """True where more than *size* bytes of the log of *store* are in use, or would be read by the next
    one to open it. Raises ``OSError``."""
    log = os.open(f"{store}-wal", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(log).st_size <= size:
            return False
        header = os.pread(log, _HEADER, 0)
        frame = _FRAME_HEADER + (int.from_bytes(header[8:12], "big") or 65_536)
        salts = os.pread(log, 8, _HEADER + size // frame * frame + 8)
        return salts == header[16:24]
    finally:
        os.close(log)  # SQLite keeps no lock on this file that this could drop


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
