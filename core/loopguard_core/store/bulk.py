"""Many recorded events at once: what the statements of ``append`` compute, computed here.

Only the writer of a transaction may do this: between its first read and its last insert nobody else
writes. The columns that a row takes from the row before it are the same as if each had been appended.
"""

from __future__ import annotations

from functools import cache

from loopguard_core.store import rows, tails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.link import Link
    from loopguard_core.store.rows import Row
    from loopguard_core.store.tails import Tail

_EVENT = f"INSERT INTO event ({tails.COLUMNS}) VALUES "
_EVENT_ROW = f"({', '.join('?' * 15)}, (SELECT id FROM payload WHERE digest = ?))"
_PAYLOAD = "INSERT OR IGNORE INTO payload (digest, text) VALUES "
_PAYLOAD_ROW = "(?, ?)"
#: Rows of one statement. Each runs without Python's lock, so another thread can read on meanwhile.
_ROWS = 50


@cache
def encoder() -> Callable[[Mapping[str, Any]], str]:
    """What writes long texts as JSON: the quickest encoder that there is, the same text as any."""
    try:
        from msgspec.json import Encoder
    except ImportError:
        return rows.to_json
    encode = Encoder().encode

    def quick(fields: Mapping[str, Any]) -> str:
        for value in fields.values():
            if type(value) is not str:
                return rows.to_json(fields)
        try:
            return encode(fields).decode()
        except UnicodeEncodeError:
            return rows.to_json(fields)

    return quick


def insert(link: Link, events: Iterable[tuple[Event, Row]]) -> None:
    """Insert events, none of them about a request, in the transaction that is open on *link*.

    Raises ``sqlite3.IntegrityError`` where an entry that exists once is there already.
    """
    known: dict[str, Tail] = {}
    inserts: list[Any] = []
    payloads: list[Any] = []
    for event, row in events:
        session = event.session
        tail = known.get(session)
        if tail is None:
            tail = known[session] = _tail(link, rows.column(session))
        inserts += tail.next(link, event, row)
        if row.digest is not None:
            payloads += (row.digest, row.payload)
    _write(link, _PAYLOAD, _PAYLOAD_ROW, payloads, 2)
    _write(link, _EVENT, _EVENT_ROW, inserts, 16)


def _write(link: Link, head: str, row: str, values: list[Any], width: int) -> None:
    """Insert rows of *width* values each."""
    for at in range(0, len(values), width * _ROWS):
        part = values[at : at + width * _ROWS]
        link.write(head + ", ".join([row] * (len(part) // width)), part)


def _tail(link: Link, session: str) -> Tail:
    tail = tails.find(link, session)
    if tail is None:
        link.write("INSERT INTO session (name) VALUES (?)", (session,))
        tail = tails.find(link, session)
        assert tail is not None
    return tail
