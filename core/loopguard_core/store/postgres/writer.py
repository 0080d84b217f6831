"""Appending: one statement that names its place in the session, and finds out itself whether it is free.

Who appended last knows the row before, so an agent's append is one plain insert. Where somebody else wrote
meanwhile it writes nothing; the last row is read then, and the insert made again, unless the caller expects
another state.
"""

from __future__ import annotations

from random import random
from time import sleep

from loopguard_core.clock import monotonic
from loopguard_core.store import rows
from loopguard_core.store.contract import STANDING, Stale, StoreError, Taken
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import WRITE, Clash, Lost
from loopguard_core.store.postgres.tail import Tail, find_or_make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.postgres.link import Link
    from loopguard_core.store.rows import Row

#: Types of which who waits or looks on hears at once; of others a slow look tells.
TOLD = frozenset({*STANDING, *rows.OF_REQUEST, "reset", "session_end"})
_TAILS = 64
#: Where the request stands in what ``statements.WRITTEN`` gives.
_REQUEST = 3
_PAUSE = 0.004


class Collision(Exception):
    """Somebody else took the place, or the request, at this very moment: nothing was written."""


class Writer:
    """Appends to the sessions of one store. Its caller holds the lock of *link*."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._tails: dict[str, Tail] = {}
        self._generation = 0
        self._doubt: tuple[Tail, tuple[Any, ...]] | None = None

    def append(self, session: str, expect: int | None, event: Event, row: Row) -> int:
        """The number of the new row. Raises ``Stale``, ``Taken``, ``StoreError``."""
        return self._until_free(self._append, session, expect, event, row)

    def append_once(self, session: str, expect: int | None, event: Event, row: Row) -> int:
        """The same for an entry that exists once a request; a request without a name is given one."""
        return self._until_free(self._append_once, session, expect, event, row)

    def _until_free(
        self,
        attempt: Callable[[str, int | None, Event, Row], int],
        session: str,
        expect: int | None,
        event: Event,
        row: Row,
    ) -> int:
        until = monotonic() + WRITE
        self._doubt = None
        while True:
            try:
                return attempt(session, expect, event, row)
            except (Stale, Taken):
                if seq := self._arrived(row):
                    return seq
                raise
            except (Collision, Lost) as error:
                if seq := self._arrived(row):
                    return seq
                if monotonic() > until:
                    raise (error if isinstance(error, Lost) else self._crowded(session)) from None
                sleep(random() * _PAUSE)

    def _append(self, session: str, expect: int | None, event: Event, row: Row) -> int:
        tail = self._after(session, expect)
        if not self.put(tail, event, row):
            self._refused(session, expect, event.type, row)
        self.keep(tail)
        return tail.seq

    def _after(self, session: str, expect: int | None) -> Tail:
        """The tail to write after, as this process left it or as it stands in the store. Raises ``Stale``."""
        tail = self._own(session)
        if tail is None or (expect is not None and expect != tail.seq):
            tail = find_or_make(self._link, session)
            if expect is not None and expect != tail.seq:
                self.keep(tail)
                raise Stale
        return tail

    def put(self, tail: Tail, event: Event, row: Row) -> bool:
        """Insert the row after *tail*, which moves on to it. False where nothing was written."""
        before = tail.seq
        large = self._is_large(tail, row)
        columns = tail.next(self._link, event, row)
        place: tuple[Any, ...] = (tail.session, tail.born)
        told = event.type in TOLD
        values = (
            *(self._payload(tail, row) if large else ()),
            *(*columns, *place, *((before,) if before else ())),
            *((sql.channel(tail.session),) if told else ()),
        )
        statement = sql.INSERT[not before, large, told]
        try:
            written = self._link.write(statement, values) > 0
        except Lost:
            if self._link.in_transaction:
                raise
            written = bool(self._looked_for(tail, columns))
        if written and row.digest is not None:
            tail.keep(row.digest)
        return written

    def _is_large(self, tail: Tail, row: Row) -> bool:
        return row.digest is not None and row.digest not in tail.known

    def _payload(self, tail: Tail, row: Row) -> tuple[Any, ...]:
        return tail.session, row.digest, tail.born, row.payload

    def _found(self, tail: Tail, columns: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A row of which no answer came, as it stands in the store. Raises ``StoreError`` where that is away."""
        found = self._link.rows(sql.WRITTEN, (tail.session, tail.born, columns[1]))
        ours = (columns[4], columns[3], columns[5], *columns[15:])
        if not found or tuple(v for at, v in enumerate(found[0]) if at != _REQUEST) != ours:
            return None
        return found[0] if found[0][_REQUEST] == columns[6] or columns[6] is None else None

    def _looked_for(self, tail: Tail, columns: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same; where it does not stand there it may still come, which is ``Collision``."""
        found = self._found(tail, columns)
        if found is None:
            self._doubt = (tail, columns)
            raise Collision from None
        return found

    def _arrived(self, row: Row) -> int:
        """The number of a row that was given up as lost and has come through all the same; 0 without one."""
        if self._doubt is None:
            return 0
        found = self._found(*self._doubt)
        if found is None:
            return 0
        row.request = found[_REQUEST]
        return int(self._doubt[1][1])

    def _refused(self, session: str, expect: int | None, kind: str, row: Row) -> None:
        """Nothing was written: why. Raises ``Stale``, ``Taken`` or ``Collision``."""
        if expect is not None:
            tail = find_or_make(self._link, session)
            if tail.seq != expect:
                raise Stale
        if row.call is not None:
            found = self._link.rows(sql.OF_CALL, (session, session, row.call, kind))
            if found:
                raise Taken(int(found[0][0]))
        raise Collision

    def _append_once(self, session: str, expect: int | None, event: Event, row: Row) -> int:
        """In one statement what an agent and a person do all day; what is rarer, step by step."""
        if expect is None:
            self.forget(session)  # an agent has written since a person looked
        tail = self._after(session, expect)
        new = event.type == "request_opened"
        if not (tail.seq and new is (row.request is None) and self._enter(tail, event, row)):
            tail = self._in_steps(session, expect, event, row)
        self.keep(tail)
        return tail.seq

    def _enter(self, tail: Tail, event: Event, row: Row) -> bool:
        """Write the entry after *tail*. False where nothing was written. Raises ``Collision``."""
        before, large = tail.seq, self._is_large(tail, row)
        columns = tail.next(self._link, event, row)
        payload = self._payload(tail, row) if large else ()
        place = (tail.session, tail.born, before)
        if event.type == "request_opened":
            claim: tuple[Any, ...] = (tail.session, rows.narrow(event.text("call")), tail.seq)
            statement, given = sql.ASK[large], (*columns[:6], *columns[7:])
        else:
            claim = (tail.seq, tail.session, row.request)
            statement, given = sql.ANSWER[event.type, large], columns
        values = (*payload, *claim, *place, *given, sql.channel(tail.session))
        try:
            written = self._link.returning(statement, values)
        except Clash:
            raise Collision from None
        except Lost:
            written = [(self._looked_for(tail, columns)[_REQUEST],)]
        if written:
            row.request = written[0][0]
            if row.digest is not None:
                tail.keep(row.digest)
        return bool(written)

    def _in_steps(self, session: str, expect: int | None, event: Event, row: Row) -> Tail:
        named, tail = row.request, None
        try:
            with self._link.transaction():
                tail = self.once(session, expect, event, row)
        except Lost:
            if tail is not None and self._holds(tail, event, row):
                return tail
            row.request = named
            raise
        except Collision:
            row.request = named
            raise
        return tail

    def once(self, session: str, expect: int | None, event: Event, row: Row) -> Tail:
        """The one attempt, in the transaction that is open. Raises ``Collision`` beside the others."""
        link, kind = self._link, event.type
        self._tails.pop(session, None)
        tail = find_or_make(link, session)
        if expect is not None and expect != tail.seq:
            raise Stale
        known: list[tuple[Any, ...]] = []
        if row.request is not None:
            known = link.rows(sql.CLAIM, (row.request,))
            there = known[0][rows.OF_REQUEST.index(kind)] if known else None
            if there is not None:
                raise Taken(int(there))
        if not known:
            least = rows.request_number(row.request or "", 0)
            number = int(link.returning(sql.COUNT, (least,))[0][0])
            row.request = row.request or f"R{number}"
            if not link.write(sql.NEW_REQUEST, (row.request, number, session)):
                raise Collision
        if kind == "request_opened":
            call = rows.narrow(event.text("call"))
            link.write(sql.OPEN, (session, call, tail.seq + 1, row.request))
        else:
            link.write(sql.FILL[kind], (tail.seq + 1, session, row.request))
        if not self.put(tail, event, row):
            raise Collision
        return tail

    def _holds(self, tail: Tail, event: Event, row: Row) -> bool:
        """Whether a transaction of which no answer came was committed."""
        found = self._link.rows(sql.CLAIM, (row.request,))
        number = found[0][rows.OF_REQUEST.index(event.type)] if found else None
        if number != tail.seq:
            return False
        there = self._link.rows(sql.WRITTEN, (tail.session, tail.born, tail.seq))
        return bool(there) and (there[0][0], there[0][4]) == (event.type, row.data)

    def _own(self, session: str) -> Tail | None:
        """The tail that this process left, taken out until it is right again."""
        if self._generation != self._link.generation:
            self._generation = self._link.generation
            self._tails.clear()
        return self._tails.pop(session, None)

    def keep(self, tail: Tail) -> None:
        """Go on from *tail* at the next append to its session."""
        if len(self._tails) >= _TAILS:
            del self._tails[next(iter(self._tails))]
        self._tails[tail.session] = tail

    def forget(self, session: str) -> None:
        """Know nothing of *session*."""
        self._tails.pop(session, None)

    def _crowded(self, session: str) -> StoreError:
        return StoreError(
            f"the event store {self._link.place} had no free moment for the session {session[:60]!r}: "
            "too many write to it at once; try again"
        )
