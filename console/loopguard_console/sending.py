"""Sending what agents of this machine left for the server, while a console is open here."""

from __future__ import annotations

import contextlib
import threading

from loopguard_console.stores import settings
from loopguard_core.session.doors import Doors
from loopguard_core.session.returning import drain_all
from loopguard_core.store.contract import StoreError

#: seconds between looks
_EVERY = 10.0


class Sender(threading.Thread):
    """Looks now and then whether anything waits here for the server at *place*, and sends it.

    Agents that live send their own. This is for those that died over an outage.
    """

    def __init__(self, place: str, every: float = _EVERY) -> None:
        super().__init__(name="sender", daemon=True)
        self._doors = Doors(settings(), place)
        self._every = every
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(StoreError):  # the server is away: the next look is soon
                self.send()
            self._over.wait(self._every)

    def send(self) -> int:
        """Send what waits; how many events. Raises ``StoreError``."""
        spool = self._doors.left_behind()
        if spool is None:
            return 0
        with contextlib.closing(spool):
            if not spool.backlog():
                return 0
            with contextlib.closing(self._doors.server()) as server:
                return drain_all(spool, server)

    def stop(self) -> None:
        """End the thread soon."""
        self._over.set()
