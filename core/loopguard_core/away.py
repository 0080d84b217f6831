"""The time for which the server that holds a session is away, as the session's writer knows it."""

from __future__ import annotations

import time

from loopguard_core.store.rows import SPOOLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store
    from loopguard_core.store.spool import Spool


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
