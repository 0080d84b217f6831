"""Many recorded events at once: what the statements of ``append`` compute, computed here.

Only the writer of a transaction may do this: between its first read and its last insert nobody else
writes. The columns that a row takes from the row before it are the same as if each had been appended.
"""

from __future__ import annotations

from loopguard_core.events import TYPES
from loopguard_core.store import rows, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.link import Link
    from loopguard_core.store.rows import Row

_EVENT = f"""
INSERT INTO event (id, sid, ts, type, call, request, tool, tier, calls, worst, level, mark, ended,
  data, verdict, payload, large)
VALUES ({", ".join("?" * 16)}, (SELECT id FROM payload WHERE digest = ?))"""
_PAYLOAD = "INSERT OR IGNORE INTO payload (digest, text) VALUES (?, ?)"
_LAST = f"""
SELECT s.id, e.id, e.calls, e.worst, e.level, e.ended
FROM session AS s LEFT JOIN event AS e ON e.id = {schema.LAST} WHERE s.name = ?"""
_TIER = "SELECT tier FROM event WHERE sid = ? AND call = ? AND type = 'call_start'"


class _Tail:
    """The last row of a session, as far as the next one hangs on it."""

    __slots__ = ("calls", "ended", "key", "level", "sid", "tiers", "worst")

    def __init__(self, sid: int, key: int | None, calls: int, worst: int, level: int, ended: int):
        self.sid = sid
        self.key = key or sid << schema.SHIFT
        self.calls = calls
        self.worst = worst
        self.level = level
        self.ended = ended
        self.tiers: dict[str | None, int] = {}


def insert(link: Link, events: Iterable[tuple[Event, Row]]) -> None:
    """Insert events, none of them about a request, in the transaction that is open on *link*.

    Raises ``sqlite3.IntegrityError`` where an entry that exists once is there already.
    """
    tails: dict[str, _Tail] = {}
    inserts: list[tuple[Any, ...]] = []
    payloads: list[tuple[bytes, str | None]] = []
    for event, row in events:
        session = event.session
        tail = tails.get(session)
        if tail is None:
            tail = tails[session] = _tail(link, rows.column(session))
        inserts.append(_values(link, tail, event, row))
        if row.digest is not None:
            payloads.append((row.digest, row.payload))
    if payloads:
        link.write_many(_PAYLOAD, payloads)
    link.write_many(_EVENT, inserts)


def _tail(link: Link, session: str) -> _Tail:
    found = link.rows(_LAST, (session,))
    if not found:
        link.write("INSERT INTO session (name) VALUES (?)", (session,))
        found = link.rows(_LAST, (session,))
    sid, key, *rest = found[0]
    return _Tail(sid, key, *(value or 0 for value in rest))


def _values(link: Link, tail: _Tail, event: Event, row: Row) -> tuple[Any, ...]:
    """The values of one row; the tail moves on to it."""
    kind, tier, mark = event.type, row.tier, row.mark
    if kind == "call_start":
        tail.calls += 1
        tail.tiers[row.call] = tier or 0
        if (tier or 0) > tail.level:
            mark, tail.level = schema.CHANGE, tier or 0
    elif kind == "call_end":
        tier = max(tier or 0, _started(link, tail, row.call))
        if tier != tail.level:
            mark, tail.level = schema.CHANGE, tier
    elif kind in ("session_start", "session_end"):
        tail.ended = int(kind == "session_end")
    tail.worst = max(tail.worst, tier or 0)
    tail.key += 1
    large = row.digest is not None
    return (
        *(tail.key, tail.sid, event.ts, kind if kind in TYPES else rows.column(kind)),
        *(row.call, row.request, row.tool, tier, tail.calls, tail.worst, tail.level, mark),
        *(tail.ended, row.data, row.verdict, None if large else row.payload, row.digest),
    )


def _started(link: Link, tail: _Tail, call: str | None) -> int:
    """The tier of the verdict on a call's start."""
    known = tail.tiers.get(call)
    if known is None:
        found = link.rows(_TIER, (tail.sid, call))
        known = int(found[0][0] or 0) if found else 0
    return known
