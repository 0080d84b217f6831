"""A line for those who found a store busy, so that none of them waits much longer than another.

SQLite has no line: whoever looks at the right moment writes next, and of many who look now and then one may
never be lucky. Here the one at the head looks often, the others seldom. The line is a lock that the system
lets go when its owner dies; it protects nothing, and a store without it is only less fair.
"""

from __future__ import annotations

import os
from time import sleep

from loopguard_core import files
from loopguard_core.clock import in_haste, monotonic_ns
from loopguard_core.interrupts import pass_on
from loopguard_core.store import connecting
from loopguard_core.store.driver import BUSY, code_of, sqlite3
from loopguard_core.store.paths import last_written, logs

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # a system without it
    flock = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Nanoseconds after which one who stands in line looks at the store all the same: the head may be asleep.
_OVERLOOKED = 20_000_000


class Line:
    """A place in the line before the store at *path*. Call ``wait`` before each look, ``leave`` at last."""

    __slots__ = ("_file", "_first", "_looked", "_path", "_written")

    def __init__(self, path: str) -> None:
        self._path = path
        self._written = last_written(path)
        self._first = False
        self._looked = monotonic_ns()
        self._file = -1
        if flock is not None:
            try:  # SQLite itself locks the other two files only
                self._file = files.opened(logs(path)[0])
            except OSError as error:
                pass_on(error)  # no log, or none to be opened: it looks as often as one at the head

    def wait(self) -> None:
        """Sleep until it is worth looking: a moment at the head, else until it is our turn or long ago."""
        while True:
            moment = monotonic_ns() // 64 % 64  # one that other waiters do not share
            sleep(0.0002 + moment * (0.000002 if self._first else 0.00003))
            now = monotonic_ns()
            if self._heads() or now - self._looked > _OVERLOOKED:
                self._looked = now
                return

    def _heads(self) -> bool:
        if not self._first:
            self._first = self._file < 0
            if not self._first:
                try:
                    flock(self._file, LOCK_EX | LOCK_NB)
                    self._first = True
                except OSError as error:
                    pass_on(error)  # somebody stands before this one
        return self._first

    def moves(self) -> bool:
        """True where somebody wrote since the last time: the store is not stuck, it is only wanted."""
        before, self._written = self._written, last_written(self._path)
        return self._written != before and not in_haste()

    def leave(self) -> None:
        """Let the next one look."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def in_line(path: str, run: Callable[[], sqlite3.Cursor], patience: float) -> sqlite3.Cursor:
    """What *run* gives once the store at *path*, which was found busy, is free for it.

    Raises ``sqlite3.Error``: what it says of another fault, or that the store is still busy after *patience* seconds
    in which nobody wrote to it.
    """
    most = int(patience * 1e9)
    until = monotonic_ns() + most
    longest = until + connecting.LONGEST
    line = Line(path)
    try:
        while True:
            line.wait()
            try:
                return run()
            except sqlite3.Error as error:
                now = monotonic_ns()
                stuck = now >= longest or (now >= until and not line.moves())
                if stuck or code_of(error) not in BUSY:
                    raise
                if now >= until:
                    until = now + most
    finally:
        line.leave()
