"""Waiting for what others commit: the server tells of what somebody waits for, a slow look finds the rest.

NOTIFY makes commits queue behind each other, so it goes out with a human's word, with requests, and with the
beginning and end of sessions; not with every call. For those a number that every append draws is looked at.
It is drawn before the append is committed, so after a move is told, one more is told a moment later.
"""

from __future__ import annotations

import os
import select
from time import monotonic, sleep

from loopguard_core.store.contract import StoreError
from loopguard_core.store.postgres import statements as sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.postgres.link import Link

#: Seconds between two looks.
POLL = 0.1


class Wake:
    """Tells when anything may have changed. For one thread."""

    __slots__ = ("_connections", "_link", "_looked", "_notified", "_owed", "_pid", "_seen")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._seen = -1
        self._owed = False
        self._notified = 0
        self._connections = 0
        self._looked = 0.0
        self._pid = 0

    def wait(self, timeout: float) -> bool:
        """True as soon as anything may have changed since the last call, False after *timeout*."""
        until = monotonic() + timeout
        if self._pid != os.getpid():
            self._pid, self._seen = os.getpid(), -1
        while True:
            try:
                if self._moved():
                    return True
            except StoreError:
                return True  # whoever reads now is told what is wrong
            left = until - monotonic()
            if left <= 0:
                return False
            self._hinted(min(left, POLL))

    def _moved(self) -> bool:
        link = self._link
        link.listen()
        link.hear()
        told = link.notified != self._notified or link.connections != self._connections
        self._notified, self._connections = link.notified, link.connections
        now = int(link.rows(sql.VERSION)[0][0])
        moved = now != self._seen
        owed, self._owed = self._owed, moved and self._seen >= 0
        self._seen = now
        return told or moved or owed

    def _hinted(self, seconds: float) -> None:
        """Wait until the server says something, at most *seconds*, without holding the connection."""
        socket = self._link.socket()
        if socket < 0:
            sleep(seconds)
            return
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        until = monotonic() + seconds
        heard = self._notified
        while (left := until - monotonic()) > 0:
            if not poll.poll(left * 1000):
                return
            self._link.hear()  # or it was an answer to another thread
            if self._link.notified != heard or self._link.socket() != socket:
                return
            sleep(0.0005)
