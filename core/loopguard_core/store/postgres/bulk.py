"""Many recorded events at once, in one transaction: those that are there are passed over."""

from __future__ import annotations

from loopguard_core.store import rows
from loopguard_core.store.contract import Stale, Taken
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import BULK
from loopguard_core.store.postgres.tail import find_or_make
from loopguard_core.store.postgres.writer import Collision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store
    from loopguard_core.store.postgres.link import Link
    from loopguard_core.store.postgres.tail import Tail
    from loopguard_core.store.postgres.writer import Writer
    from loopguard_core.store.rows import Row

    Packed = tuple[str, Event, Row]

_EVENT = f"INSERT INTO loopguard.event ({sql.COLUMNS}) VALUES ({', '.join(['%s'] * 18)}) ON CONFLICT DO NOTHING"
_PAYLOAD = """
INSERT INTO loopguard.payload (session, digest, born, text) VALUES (%s, %s, %s, %s)
ON CONFLICT DO NOTHING"""
_THERE = """
SELECT call, type, seq FROM loopguard.event
WHERE session = %s AND born = %s AND call = ANY(%s::text[])"""
_HEARD = "SELECT pg_notify('loopguard', '')"


def extend(link: Link, writer: Writer, packed: Sequence[Packed], expect: int | None) -> int:
    """Append all of *packed*; how many were new. Raises ``Collision`` where others wrote meanwhile.

    With *expect*, all of them or none, as the contract says.
    """
    tails: dict[str, Tail] = {}
    new = 0
    whole = expect is not None
    with link.transaction(BULK):
        if expect is not None and any(expect != _last(link, session) for session, _, _ in packed):
            raise Stale
        run: list[Packed] = []
        for one in packed:
            if one[1].type not in rows.OF_REQUEST or (
                one[2].request is None and one[1].type == "grant"
            ):
                run.append(one)
                continue
            new += _plain(link, tails, run, whole)
            run = []
            tails.pop(one[0], None)
            try:
                writer.append_once(one[0], None, one[1], one[2])
                new += 1
            except Taken:
                if whole:
                    raise
        new += _plain(link, tails, run, whole)
        link.rows(_HEARD)
    for tail in tails.values():
        writer.keep(tail)
    return new


def _last(link: Link, session: str) -> int:
    found = link.rows(sql.LAST, (session, session))
    return int(found[0][0]) if found else 0


def _plain(link: Link, tails: dict[str, Tail], run: Sequence[Packed], whole: bool) -> int:
    """Append events that are no request's. With *whole*, raises ``Taken`` for one that is there."""
    if not run:
        return 0
    calls: dict[str, set[str]] = {}
    for session, _, row in run:
        wanted = calls.setdefault(session, set())
        if row.call is not None:
            wanted.add(row.call)
    there: dict[tuple[str, str, str], int] = {}
    for session, wanted in calls.items():
        tail = tails.get(session)
        if tail is None:
            tail = tails[session] = find_or_make(link, session)
        if wanted:
            found = link.rows(_THERE, (session, tail.born, list(wanted)), BULK)
            there.update(((session, call, kind), seq) for call, kind, seq in found)
    events: list[tuple[Any, ...]] = []
    payloads: list[tuple[Any, ...]] = []
    for session, event, row in run:
        if row.call is not None:
            key = (session, row.call, event.type)
            if key in there and whole:
                raise Taken(there[key])
            if key in there:
                continue
            there[key] = 0
        tail = tails[session]
        events.append(tail.next(link, event, row))
        if row.digest is not None and row.digest not in tail.known:
            payloads.append((session, row.digest, tail.born, row.payload))
            tail.keep(row.digest)
    if payloads:
        link.many(_PAYLOAD, payloads)
    if events and link.many(_EVENT, events) != len(events):
        raise Collision
    return len(events)


def add(store: Store, event: Event) -> int:
    """Append one event; 0 where it is there already."""
    try:
        store.append(event)
    except Taken:
        return 0
    return 1
