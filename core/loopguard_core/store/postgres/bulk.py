"""Many recorded events at once, in one transaction: those that are there are passed over."""

from __future__ import annotations

from loopguard_core.store.contract import Stale, Taken
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import BULK, Lost
from loopguard_core.store.postgres.tail import find_or_make
from loopguard_core.store.postgres.writer import TOLD, Collision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store
    from loopguard_core.store.postgres.link import Link
    from loopguard_core.store.postgres.tail import Tail
    from loopguard_core.store.postgres.writer import Writer
    from loopguard_core.store.rows import Row

    Packed = tuple[str, Event, Row]


def _insert(table: str, columns: str, types: Iterable[str]) -> str:
    """The statement that inserts all rows at once, a list for each column."""
    lists = ", ".join(f"%b::{kind}[]" for kind in types)
    return f"""INSERT INTO loopguard.{table} ({columns}) SELECT * FROM unnest({lists})
ON CONFLICT DO NOTHING"""


_EVENT = _insert("event", sql.COLUMNS, sql.TYPES)
_PAYLOAD = _insert("payload", "session, digest, born, text", ("text", "bytea", "integer", "text"))
# One probe of the index a call, whatever the planner thinks of the table.
_THERE = """
SELECT e.call, e.type, e.seq FROM unnest(%s::text[]) AS c (call)
CROSS JOIN LATERAL (SELECT * FROM loopguard.event AS e
  WHERE e.session = %s AND e.born = %s AND e.call = c.call LIMIT 2) AS e"""
# Who answers one holds it before a place in the log; whoever takes both in the other order waits for ever.
_HELD = """
SELECT 1 FROM loopguard.request WHERE request = ANY(%s::text[]) ORDER BY request FOR UPDATE"""
_HEARD = "SELECT pg_notify(channel, '') FROM unnest(%s::text[]) AS c (channel)"


def extend(link: Link, writer: Writer, packed: Sequence[Packed], expect: int | None) -> int:
    """Append all of *packed*; how many were new. Raises ``Collision`` where others wrote meanwhile.

    With *expect*, all of them or none, as the contract says.
    """
    batch = _Batch(link, writer, whole=expect is not None)
    try:
        with link.transaction(BULK):
            if named := [row.request for _, _, row in packed if row.request is not None]:
                link.rows(_HELD, (named,))
            if expect is not None and any(expect != _last(link, s) for s, _, _ in packed):
                raise Stale
            for session, event, row in packed:
                batch.add(session, event, row)
            batch.flush()
            told = {sql.channel(session) for session, event, _ in packed if event.type in TOLD}
            link.rows(_HEARD, ([sql.CHANNEL, *told],))
            batch.complete = True
    except Lost:
        if not batch.stands():
            raise Collision from None
    else:
        batch.keep()
    for _, event, row in packed:
        if event.type == "request_opened" and not event.text("request"):
            event.data["request"] = row.request
    return batch.new


class _Batch:
    """What one transaction appends. *whole*: an entry that is there already is an error."""

    def __init__(self, link: Link, writer: Writer, *, whole: bool) -> None:
        self._link = link
        self._writer = writer
        self._whole = whole
        self._tails: dict[str, Tail] = {}
        self._run: list[Packed] = []
        self._last: dict[str, tuple[int, int, str, str | None]] = {}
        self.new = 0
        self.complete = False

    def add(self, session: str, event: Event, row: Row) -> None:
        """Take in the next event. Raises ``Taken``, ``Collision``."""
        if row.request is None and event.type != "request_opened":
            self._run.append((session, event, row))
            return
        self.flush()
        self._tails.pop(session, None)
        if not event.text("request"):
            row.request = None  # an attempt that failed may have given it a name
        try:
            tail = self._writer.once(session, None, event, row)
        except Taken:
            if self._whole:
                raise
            return
        self.new += 1
        self._last[session] = (tail.born, tail.seq, event.type, row.data)

    def flush(self) -> None:
        """Insert the plain events that were taken in. Raises ``Taken``, ``Collision``."""
        run, self._run = self._run, []
        there = self._there(run)
        events: list[tuple[Any, ...]] = []
        payloads: list[tuple[Any, ...]] = []
        for session, event, row in run:
            if row.call is not None:
                key = (session, row.call, event.type)
                if key in there and self._whole:
                    raise Taken(there[key])
                if key in there:
                    continue
                there[key] = 0
            tail = self._tails[session]
            columns = tail.next(self._link, event, row)
            events.append(columns)
            self._last[session] = (tail.born, tail.seq, columns[4], row.data)
            if row.digest is not None and row.digest not in tail.known:
                payloads.append((session, row.digest, tail.born, row.payload))
                tail.keep(row.digest)
        if payloads:
            self._link.write(_PAYLOAD, _turned(payloads), BULK)
        if events and self._link.write(_EVENT, _turned(events), BULK) != len(events):
            raise Collision
        self.new += len(events)

    def _there(self, run: Sequence[Packed]) -> dict[tuple[str, str, str], int]:
        """Starts and ends of the calls of *run* that are there already, and their numbers."""
        calls: dict[str, set[str]] = {}
        for session, _, row in run:
            wanted = calls.setdefault(session, set())
            if row.call is not None:
                wanted.add(row.call)
        there: dict[tuple[str, str, str], int] = {}
        for session, wanted in calls.items():
            tail = self._tails.get(session)
            if tail is None:
                tail = self._tails[session] = find_or_make(self._link, session)
            if wanted:
                found = self._link.rows(_THERE, (list(wanted), session, tail.born), BULK)
                there.update(((session, call, kind), seq) for call, kind, seq in found)
        return there

    def stands(self) -> bool:
        """Whether a transaction of which no answer came was committed. Raises ``StoreError``."""
        if not self.complete:
            return False
        for session, (born, seq, kind, data) in self._last.items():
            found = self._link.rows(sql.WRITTEN, (session, born, seq))
            if not found or (found[0][0], found[0][4]) != (kind, data):
                return False
        return True

    def keep(self) -> None:
        """Let the writer go on from here."""
        for tail in self._tails.values():
            self._writer.keep(tail)


def _turned(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The columns of *rows*."""
    return [list(column) for column in zip(*rows, strict=True)]


def _last(link: Link, session: str) -> int:
    found = link.rows(sql.LAST, (session, session))
    return int(found[0][0]) if found else 0


def add(store: Store, event: Event) -> int:
    """Append one event; 0 where it is there already."""
    try:
        store.append(event)
    except Taken:
        return 0
    return 1
