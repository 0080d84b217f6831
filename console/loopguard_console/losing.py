"""Which sessions have events that could not be written: looked for a little at a time, beside what is urgent.

The list of sessions needs no such look; a log says it only in the ``gap`` events between its calls. Each part
of a log is looked through once, the sessions that were active last before the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from loopguard_core.store.contract import Session, Store

#: Events of a log that are looked through in one question.
PIECE = 20_000


class Losing:
    """``counts``: session -> how many of its events are missing, as far as its log was looked through."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._upto: dict[str, int] = {}

    def begin(self) -> None:
        """The store is another one than before."""
        self.counts = {}
        self._upto = {}

    def look(self, store: Store, sessions: Iterable[Session], seconds: float) -> None:
        """Look through what is new for about *seconds*. Raises ``StoreError``."""
        until = time.monotonic() + seconds
        for session in sessions:
            name, at = session.session, self._upto.get(session.session, 0)
            if at > session.seq:  # it begins anew
                self.counts, at = {k: n for k, n in self.counts.items() if k != name}, 0
            while at < session.seq:
                if time.monotonic() >= until:
                    return
                upto = min(session.seq, at + PIECE)
                found = (e.data.get("count") for e in store.gaps(name, at, upto))
                count = sum(n for n in found if isinstance(n, int))
                if count:
                    self.counts = {**self.counts, name: self.counts.get(name, 0) + count}
                self._upto[name] = at = upto
