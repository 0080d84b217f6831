"""Waiting for other processes' commits without burning time.

The database is the truth; a wake-up is only a hint. Linux tells of every write to the files through
inotify; a change is seen there before its commit is, so after each hint the data version is looked at
again for a moment. Under it lies a slow poll that catches whatever no hint told.
"""

from __future__ import annotations

import os
import sys
from time import sleep

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two looks without a hint: where there are hints, and where there are none.
SLOW = 0.25
POLL = 0.01
#: How long after a hint the commit is looked for, and how often.
SETTLE = 0.02
STEP = 0.0005

_MODIFY, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x80, 0x100, 0x200


class Wake:
    """Tells when *version* gives another answer. For one thread."""

    __slots__ = ("_notify", "_path", "_pid", "_seen", "_version")

    def __init__(self, path: str, version: Callable[[], tuple[int, int, int]]) -> None:
        self._path = os.path.realpath(path)  # a link's folder hears nothing of the file
        self._version = version
        self._seen: tuple[int, int, int] | None = None
        self._notify = -1
        self._pid = 0

    def wait(self, timeout: float) -> bool:
        """True as soon as anything may have changed since the last call, False after *timeout*."""
        until = monotonic() + timeout
        self._watch()
        while True:
            if self._moved():
                return True
            left = until - monotonic()
            if left <= 0:
                return False
            if self._notify < 0:
                sleep(min(left, POLL))
            elif self._hinted(min(left, SLOW)):
                settled = min(until, monotonic() + SETTLE)
                while not self._moved():
                    if monotonic() >= settled:
                        break
                    sleep(STEP)
                else:
                    return True

    def __del__(self) -> None:
        if self._notify >= 0 and self._pid == os.getpid():
            os.close(self._notify)

    def _moved(self) -> bool:
        try:
            now = self._version()
        except StoreError:
            return True  # whoever reads now is told what is wrong
        if now == self._seen:
            return False
        self._seen = now
        return True

    def _hinted(self, seconds: float) -> bool:
        import select  # only who waits needs it

        ready, _, _ = select.select([self._notify], [], [], seconds)
        if not ready:
            return False
        name = os.fsencode(os.path.basename(self._path))
        try:
            return name in os.read(self._notify, 65_536)
        except BlockingIOError:
            return False

    def _watch(self) -> None:
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        self._notify = _inotify(os.path.dirname(self._path))


def _inotify(directory: str) -> int:
    """A descriptor that tells of changes in *directory*; -1 where the system has none."""
    if not sys.platform.startswith("linux"):
        return -1
    import ctypes

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        handle = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if handle < 0:
            return -1
        mask = _MODIFY | _MOVED_TO | _CREATE | _DELETE
        if libc.inotify_add_watch(handle, os.fsencode(directory), mask) < 0:
            os.close(handle)
            return -1
    except (OSError, AttributeError):
        return -1
    return handle
