"""Waiting for what others commit: the server tells of what somebody waits for, a slow look finds the rest.

NOTIFY makes commits queue behind each other, so it goes out with a human's word, with requests, and with the
beginning and end of sessions; not with every call. Who waits in one session listens to what is told of that
alone: a hundred that wait would else wake each other. For calls a number that every append draws is looked at.
It is drawn before the append is committed, so after a move is told, one more is told a moment later.
"""

from __future__ import annotations

import os
import select
from time import sleep

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import StoreError
from loopguard_core.store.postgres import statements as sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.postgres.link import Link

#: Seconds between two looks; and where only what is told counts, between two looks at what was told.
POLL = 0.1
QUIET = 0.25


class Wake:
    """Tells when anything may have changed. For one thread."""

    __slots__ = ("_heard", "_link", "_owed", "_pid", "_seen")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._heard: dict[str, tuple[int, int]] = {}
        self._seen = -1
        self._owed = False
        self._pid = 0

    def wait(self, timeout: float, session: str) -> bool:
        """True as soon as anything may have changed since the last call, False after *timeout*.

        With *session* only what the server tells of it counts, and nothing is looked at.
        """
        until = monotonic() + timeout
        if self._pid != os.getpid():
            self._pid, self._seen = os.getpid(), -1
        told = sql.channel(session) if session else sql.CHANNEL
        while True:
            try:
                if self._spoken_of(told) | (not session and self._moved()):
                    return True
            except StoreError:
                return True  # whoever reads now is told what is wrong
            left = until - monotonic()
            if left <= 0:
                return False
            self._hinted(min(left, QUIET if session else POLL), told)

    def _spoken_of(self, told: str) -> bool:
        """Whether the server has told something on the channel *told*, or the connection is another one, since."""
        link = self._link
        link.listen(told)
        link.hear()
        now = link.told.get(told, 0), link.connections
        before = self._heard.get(told)
        self._heard[told] = now
        return now != before

    def _moved(self) -> bool:
        """Whether something was appended since the last time, as the number that every append draws says."""
        now = int(self._link.rows(sql.VERSION)[0][0])
        moved = now != self._seen
        owed, self._owed = self._owed, moved and self._seen >= 0
        self._seen = now
        return moved or owed

    def _hinted(self, seconds: float, told: str) -> None:
        """Wait until the server says something, at most *seconds*, without holding the connection."""
        link = self._link
        socket = link.socket()
        if socket < 0:
            sleep(seconds)
            return
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        until = monotonic() + seconds
        heard = link.told.get(told, 0)
        while (left := until - monotonic()) > 0:
            if not poll.poll(left * 1000):
                return
            link.hear()  # or it was an answer to another thread
            if link.told.get(told, 0) != heard or link.socket() != socket:
                return
            sleep(0.0005)
