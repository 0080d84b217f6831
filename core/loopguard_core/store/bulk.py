"""Many recorded events at once: what the statements of ``append`` compute, computed here.

Only the writer of a transaction may do this: between its first read and its last insert nobody else
writes. The columns that a row takes from the row before it are the same as if each had been appended.
"""

from __future__ import annotations

from functools import cache

from loopguard_core.events import time_of
from loopguard_core.store import filing, rows, tails

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.link import Link
    from loopguard_core.store.rows import Row
    from loopguard_core.store.tails import Tail

_PAYLOAD = "INSERT OR IGNORE INTO payload (digest, text) VALUES (?, ?)"
# What a row may lack is given as an empty string: for each None, Python's driver looks for a converter,
# which for the five of a row costs half of what inserting it does.
_EVENT = """
INSERT INTO event (id, sid, ts, type, calls, worst, level, ended, tier, mark, call, tool, data, payload, large)
VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, ''), nullif(?, ''),
  nullif(?, ''), nullif(?, ''), (SELECT id FROM payload WHERE digest = ?))"""


_TEXT = frozenset((str,))
_EXACT = frozenset((str, int, bool))
#: Fields that hold digests, flags and whole numbers only, however deep.
_OURS = frozenset(("ids", "host_spans"))


@cache
def encoder() -> Callable[[Mapping[str, Any]], str]:
    """What writes the fields of an event as JSON: the quickest encoder that there is, the same text as any.

    It spells floats in another way, so it is given none.
    """
    try:
        from msgspec.json import Encoder
    except (ImportError, OSError):  # it is not there, or no descriptor is left to load it
        return rows.to_json
    encode = Encoder().encode

    def quick(fields: Mapping[str, Any]) -> str:
        if not _EXACT.issuperset(map(type, fields.values())):
            for name, value in fields.items():
                if type(value) not in _EXACT and name not in _OURS and not _only_texts(value):
                    return rows.to_json(fields)
        try:
            return encode(fields).decode()
        except (TypeError, ValueError, RecursionError):
            return rows.to_json(fields)

    return quick


def _only_texts(value: object) -> bool:
    return type(value) is dict and _TEXT.issuperset(map(type, value.values()))


def insert(link: Link, events: Iterable[tuple[Event, Row]]) -> None:
    """Insert events, none of them about a request, in the transaction that is open on *link*.

    Raises ``sqlite3.IntegrityError`` where an entry that exists once is there already.
    """
    known: dict[str, Tail] = {}
    inserts: list[tuple[Any, ...]] = []
    payloads: list[tuple[Any, ...]] = []
    for event, row in events:
        session = event.session
        tail = known.get(session)
        if tail is None:
            tail = known[session] = _tail(link, rows.column(session))
        tier, mark = tail.step_to(link, event, row)
        inline: str | None = row.payload
        if row.digest is not None:
            payloads.append((row.digest, row.payload))
            inline = None
        ts = time_of(event.ts)
        inserts.append(
            (
                tail.key,
                tail.sid,
                "" if ts is None else ts,
                tails.kind_of(event),
                tail.calls,
                tail.worst,
                tail.level,
                tail.ended,
                "" if tier is None else tier,
                mark or "",
                row.call or "",
                row.tool or "",
                row.data or "",
                inline or "",
                row.digest or "",
            )
        )
    link.write_many(_PAYLOAD, payloads)
    link.write_many(_EVENT, inserts)
    for tail in known.values():
        filing.complete(link, tail.key)


def _tail(link: Link, session: str) -> Tail:
    tail = tails.find(link, session)
    if tail is None:
        link.write("INSERT INTO session (name) VALUES (?)", (session,))
        tail = tails.find(link, session)
        assert tail is not None
    return tail
