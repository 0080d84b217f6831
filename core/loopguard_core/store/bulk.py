"""Many recorded events at once: what the statements of ``append`` compute, computed here.

Only the writer of a transaction may do this: between its first read and its last insert nobody else
writes. The columns that a row takes from the row before it are the same as if each had been appended.
"""

from __future__ import annotations

from loopguard_core.store import rows, tails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.link import Link
    from loopguard_core.store.rows import Row
    from loopguard_core.store.tails import Tail

_EVENT = f"""
INSERT INTO event ({tails.COLUMNS})
VALUES ({", ".join("?" * 15)}, (SELECT id FROM payload WHERE digest = ?))"""
_PAYLOAD = "INSERT OR IGNORE INTO payload (digest, text) VALUES (?, ?)"


def insert(link: Link, events: Iterable[tuple[Event, Row]]) -> None:
    """Insert events, none of them about a request, in the transaction that is open on *link*.

    Raises ``sqlite3.IntegrityError`` where an entry that exists once is there already.
    """
    known: dict[str, Tail] = {}
    inserts: list[tuple[Any, ...]] = []
    payloads: list[tuple[bytes, str | None]] = []
    for event, row in events:
        session = event.session
        tail = known.get(session)
        if tail is None:
            tail = known[session] = _tail(link, rows.column(session))
        inserts.append(tail.next(link, event, row))
        if row.digest is not None:
            payloads.append((row.digest, row.payload))
    if payloads:
        link.write_many(_PAYLOAD, payloads)
    link.write_many(_EVENT, inserts)


def _tail(link: Link, session: str) -> Tail:
    tail = tails.find(link, session)
    if tail is None:
        link.write("INSERT INTO session (name) VALUES (?)", (session,))
        tail = tails.find(link, session)
        assert tail is not None
    return tail
