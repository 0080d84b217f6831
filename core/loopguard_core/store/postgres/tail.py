"""The last row of a session as its writer knows it, and the row that comes after it."""

from __future__ import annotations

from loopguard_core.events import TYPES, time_of
from loopguard_core.store import rows
from loopguard_core.store.contract import Denied
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.postgres.link import Link
    from loopguard_core.store.rows import Row

#: Bytes that a row takes beside its texts: its header, its numbers, its entries in the indexes.
_ROW = 200
_PAYLOADS = 50
#: A session that is made may be deleted at the same moment.
_TRIES = 3


class Tail(Running):
    """The last row of *session*: number 0 where it has none yet."""

    __slots__ = ("born", "bytes", "known", "seq", "session")

    def __init__(
        self,
        session: str,
        born: int,
        seq: int | None,
        calls: int | None,
        worst: int | None,
        level: int | None,
        ended: bool | None,
        size: int | None,
    ) -> None:
        super().__init__(calls or 0, worst or 0, level or 0, int(ended or 0))
        self.session = session
        self.born = born
        self.seq = seq or 0
        self.bytes = size or 0
        self.known: dict[bytes, None] = {}

    def next(self, link: Link, event: Event, row: Row) -> tuple[Any, ...]:
        """The columns of the next row, in the order of ``statements.COLUMNS``; the tail moves on to it."""
        kind = event.type

        def started(call: str | None) -> int:
            found = link.rows(sql.OF_CALL, (self.session, self.session, call, "call_start"))
            return int(found[0][1] or 0) if found else 0

        tier, mark = self.step(kind, row, started)
        self.seq += 1
        self.bytes += _ROW + len(row.data or "") + 2 * len(row.call or "")
        if row.digest not in self.known:
            self.bytes += len(row.payload or "")
        return (
            *(self.session, self.seq, self.born),
            time_of(event.ts),
            kind if kind in TYPES else rows.narrow(kind),
            *(row.call, row.request, row.tool),
            *(tier, self.calls, self.worst, self.level, mark, bool(self.ended), self.bytes),
            row.data,
            row.payload if row.digest is None else None,
            row.digest,
        )

    def keep(self, digest: bytes) -> None:
        """The payload with *digest* stands in the store, for this session."""
        if len(self.known) >= _PAYLOADS:
            del self.known[next(iter(self.known))]
        self.known[digest] = None


def find(link: Link, session: str) -> Tail | None:
    """The tail of *session*; None where the store has never heard of it."""
    found = link.rows(sql.TAIL, (session,))
    return Tail(session, *found[0]) if found else None


def find_or_make(link: Link, session: str) -> Tail:
    """The tail of *session*, which the store has heard of from now on.

    Raises ``Denied`` where a session of another user has that name, which this one is not shown.
    """
    for _ in range(_TRIES):
        tail = find(link, session)
        if tail is None:
            link.write(sql.NEW_SESSION, (session,))
            tail = find(link, session)
        if tail is not None:
            return tail
    raise Denied(
        f"the event store {link.place} has a session {session[:60]!r} of another user; "
        "name this one otherwise, or connect as that user"
    )
