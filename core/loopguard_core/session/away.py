"""The time for which the server that holds a session is away, as the session's writer knows it."""

from __future__ import annotations

import time

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import StoreError
from loopguard_core.store.rows import SPOOLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store
    from loopguard_core.store.spool import Spool

#: seconds for which a session that begins waits for others who forward what it left
_MOMENT = 0.25


class BeingSent(StoreError):
    """Another process of this machine sends what waits of the session."""


class Away:
    """Where the session's events go meanwhile, and what was known of its log on the server before.

    ``server`` is None where it could not be opened at all; ``known`` is the last number of the log there.
    ``first``: nothing of the session waited here before.
    """

    __slots__ = ("first", "known", "reason", "server", "since", "spool")

    def __init__(
        self, reason: str, server: Store | None, spool: Spool, known: int, *, first: bool
    ) -> None:
        self.reason = reason
        self.server = server
        self.spool = spool
        self.known = known
        self.first = first
        self.since = time.time()

    def mark(self, event: Event) -> None:
        """Say on *event* that it comes late, and what was known when it was judged."""
        event.data[SPOOLED] = self.known

    def __str__(self) -> str:
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"the event store is away since {since} ({self.reason.partition(';')[0]})"


def send(spool: Spool, server: Store, session: str) -> bool:
    """Send what waits of *session* in *spool*, and close that; True where something of others waits on.

    Raises ``StoreError`` where the server fails, ``BeingSent`` where others are sending it.
    """
    try:
        until = monotonic() + _MOMENT
        while spool.last(session):
            with spool.alone(session) as alone:
                if alone:
                    spool.drain(server, session)
            if not alone and monotonic() > until:
                raise BeingSent("what waits of this session is being forwarded by others")
            time.sleep(0.0 if alone else 0.005)
        return bool(spool.backlog())
    finally:
        spool.close()
