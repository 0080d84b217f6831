"""A transcript that an agent still writes to, as a source that never ends until it is closed.

Read-only. Whoever reads it is held at the end of the file until there is more. A last line without its
end is taken only where it is a whole JSON object, which the beginning of a longer line never is.
"""

from __future__ import annotations

import os
import threading

from loopguard_core import files
from loopguard_core.events import load
from loopguard_core.importers.head import Head
from loopguard_core.importers.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from loopguard_core.importers.report import Report

_CHUNK = 262_144


class Tail(Source):
    """The lines of the file at *path* as they are written.

    *at_end* is called by the reading thread each time it has read everything there is. Where *alone*, files
    that belong to the transcript (a subagent's) are followed by themselves and not read with it. Raises
    ``OSError`` where it cannot be opened.
    """

    def __init__(self, path: Path, at_end: Callable[[], None], *, alone: bool = True) -> None:
        self.place = str(path)
        self.path = None if alone else path
        self.file = path
        self._name = path.name
        self._at_end = at_end
        self._documents = None
        self._events = None
        self._inflated = None
        self._lines = []
        self.head = Head("lines", path.name, b"", [])
        self._fd = files.opened(str(path), follow=True)
        self._inode = os.fstat(self._fd).st_ino
        self._read = 0
        self._rest = b""
        self._more = threading.Event()
        self.closed = False

    # -- for whoever watches the file --------------------------------------------------------------

    def wake(self) -> None:
        """There may be more."""
        self._more.set()

    def close(self) -> None:
        """Let the reader come to its end."""
        self.closed = True
        self._more.set()

    @property
    def replaced(self) -> bool:
        """True where the file is another one than before, or was cut: it has to be read anew."""
        try:
            about = os.stat(self.file)
        except OSError:
            return True
        return about.st_ino != self._inode or about.st_size < self._read

    # -- for the reading thread --------------------------------------------------------------------

    def _all_lines(self, report: Report) -> Iterator[bytes]:
        try:
            while True:
                last = self.closed  # what was written before the closing is still to be read
                yield from self._new_lines()
                if last:
                    return
                if self.closed:
                    continue
                self._at_end()
                self._more.wait()
                self._more.clear()
        finally:
            os.close(self._fd)

    def _new_lines(self) -> Iterator[bytes]:
        while chunk := self._chunk():
            self._read += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if _whole(self._rest):
            line, self._rest = self._rest, b""
            yield line

    def _chunk(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:
            return b""  # gone with its file system: it is found out as replaced


def _whole(line: bytes) -> bool:
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        return isinstance(load(line), dict)
    except ValueError:
        return False
