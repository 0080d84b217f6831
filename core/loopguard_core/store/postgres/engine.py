"""The PostgreSQL engine of the event store."""

from __future__ import annotations

import os
from _thread import _local
from contextlib import suppress

from loopguard_core.clock import monotonic
from loopguard_core.events import Event
from loopguard_core.processes import alive, started
from loopguard_core.store import records, rows
from loopguard_core.store.contract import (
    ATTACHED_SECONDS,
    LAST_NUMBER,
    Request,
    Session,
    Stale,
    Store,
    StoreError,
    number,
)
from loopguard_core.store.postgres import statements as sql
from loopguard_core.store.postgres.link import Link
from loopguard_core.store.postgres.migrations import check
from loopguard_core.store.postgres.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from loopguard_core.redaction.redact import Redactor
    from loopguard_core.store.postgres.bulk import Packed
    from loopguard_core.store.postgres.wake import Wake

#: How often a bulk append begins anew because others wrote meanwhile.
_TRIES = 5
#: Seconds between two times that a console looks after the months.
_TIDY = 3600.0


class PostgresStore(Store):
    """The store in one PostgreSQL database. Safe to share between threads; survives a fork."""

    remote = True

    def __init__(
        self,
        place: str,
        *,
        create: bool = True,
        read_only: bool = False,
        redactor: Redactor | None = None,
        limit: int = rows.LIMIT,
        patience: float = 0.0,
    ) -> None:
        self.place = place
        self.redactor = redactor
        self._has_secret_tool = redactor is not None and bool(redactor.rules.never_store)
        self._limit = limit
        self._link = Link(
            place, read_only=read_only, opened=lambda link: check(link, create=create)
        )
        self._writer = Writer(self._link)
        self._wakes = _local()
        self._tidy_at = 0.0
        self._link.open()
        self._link.patience = patience

    @property
    def generation(self) -> int:
        return self._link.generation

    # -- writing ---------------------------------------------------------------------------------

    def append(self, event: Event, *, expect: int | None = None) -> int:
        if not event.session:
            raise ValueError("an event needs a session to be appended")
        session = rows.narrow(event.session)
        with self._link.lock:
            row = self._pack(session, event)
            if row.request is None and event.type != "request_opened":
                return self._writer.append(session, expect, event, row)
            seq = self._writer.append_once(session, expect, event, row)
        if not event.text("request"):
            event.data["request"] = row.request
        return seq

    def extend(self, events: Sequence[Event], *, expect: int | None = None) -> int:
        return self._extend(self._packed(events), expect)

    def prepare(self, events: Sequence[Event]) -> Callable[[], int]:
        packed = self._packed(events)
        return lambda: self._extend(packed, None)

    def _packed(self, events: Sequence[Event]) -> list[Packed]:
        packed = []
        for event in events:
            if not event.session:
                raise ValueError("an event needs a session to be appended")
            session = rows.narrow(event.session)
            packed.append((session, event, self._pack(session, event)))
        return packed

    def _extend(self, packed: list[Packed], expect: int | None) -> int:
        from loopguard_core.store.postgres import bulk  # never on an agent's path
        from loopguard_core.store.postgres.writer import Collision

        for _ in range(_TRIES):
            try:
                return bulk.extend(self._link, self._writer, packed, expect)
            except Collision:
                continue
        if expect is not None:
            raise Stale
        return sum(bulk.add(self, event) for _, event, _ in packed)

    def _pack(self, session: str, event: Event) -> rows.Row:
        never = self._has_secret_tool and self._never_stored(session, event)
        return rows.pack(event, self.redactor, self._limit, never=never, spell=rows.narrow)

    def _never_stored(self, session: str, event: Event) -> bool:
        """True where the tool that *event* is about is one whose payloads are not stored."""
        assert self.redactor is not None

        def started(call: str) -> str:
            found = self._link.rows(sql.TOOL, (session, session, rows.narrow(call)))
            return str(found[0][0] or "") if found else ""

        tool = records.tool_of(event, started, self.request)
        return bool(tool) and self.redactor.rules.hides(tool)

    # -- reading ---------------------------------------------------------------------------------

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        name = rows.narrow(session)
        found = self._link.rows(sql.READ[payloads], (name, name, number(after), _most(limit)))
        return rows.unpack_all(session, found)

    def last(self, session: str) -> int:
        name = rows.narrow(session)
        return _number(self._link.rows(sql.LAST, (name, name)))

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        name = rows.narrow(session)
        upto = LAST_NUMBER if before is None else number(before)
        return max(0, _number(self._link.rows(sql.LAST_TURN, (name, name, upto))) - 1)

    def standing(self, session: str, upto: int) -> list[Event]:
        name = rows.narrow(session)
        return rows.unpack_all(session, self._link.rows(sql.HOLDING, (number(upto), name)))

    def unended(self, session: str) -> list[Event]:
        name = rows.narrow(session)
        return rows.unpack_all(session, self._link.rows(sql.UNENDED, (name, name)))

    def next_change(self, session: str, seq: int, *, back: bool = False) -> int:
        name = rows.narrow(session)
        return _number(self._link.rows(sql.NEXT_CHANGE[back], (name, name, number(seq))))

    def gaps(self, session: str, after: int, upto: int) -> list[Event]:
        name = rows.narrow(session)
        return rows.unpack_all(
            session, self._link.rows(sql.GAPS, (name, name, number(after), number(upto)))
        )

    def calls_upto(self, session: str, seq: int) -> int:
        name = rows.narrow(session)
        return _number(self._link.rows(sql.CALLS_UPTO, (name, name, number(seq))))

    def sessions(self) -> list[Session]:
        found = self._link.rows(f"{sql.SESSIONS} ORDER BY coalesce(a.ts, 0) DESC, f.at DESC")
        return [records.session(row) for row in found]

    def session(self, session: str) -> Session | None:
        found = self._link.rows(f"{sql.SESSIONS} AND s.session = %s", (rows.narrow(session),))
        return records.session(found[0]) if found else None

    def requests(
        self, *, session: str = "", pending: bool = False, limit: int | None = None
    ) -> list[Request]:
        where = ["true"]
        values: list[Any] = []
        if session:
            where.append("r.session = %s")
            values.append(rows.narrow(session))
        if pending:
            where.append(sql.WAITS)
        newest = f"{sql.REQUESTS} WHERE {' AND '.join(where)} ORDER BY r.n DESC LIMIT %s::bigint"
        return [_request(row) for row in reversed(self._link.rows(newest, (*values, _most(limit))))]

    def request(self, request: str) -> Request | None:
        found = self._link.rows(f"{sql.REQUESTS} WHERE r.request = %s", (rows.narrow(request),))
        return _request(found[0]) if found else None

    # -- between processes -----------------------------------------------------------------------

    def changed(self, timeout: float, *, session: str = "") -> bool:
        wake: Wake | None = getattr(self._wakes, "wake", None)
        if wake is None:
            from loopguard_core.store.postgres.wake import Wake  # only for who waits

            wake = self._wakes.wake = Wake(self._link)
        return wake.wait(timeout, rows.narrow(session) if session else "")

    def unwatch(self, session: str) -> None:
        with suppress(StoreError):
            self._link.unlisten(sql.channel(rows.narrow(session)))

    def beat(self, ts: float) -> None:
        pid = os.getpid()
        self._link.write(sql.BEAT, (_host(), pid, started(pid), float(ts)))
        if monotonic() >= self._tidy_at:
            self._tidy_at = monotonic() + _TIDY
            self.tidy()

    def attached(self, now: float) -> list[int]:
        host = _host()
        found = self._link.rows(
            sql.ATTACHED, (host, float(now - ATTACHED_SECONDS), float(ATTACHED_SECONDS))
        )
        return [pid for where, pid, since in found if where != host or alive(pid, since)]

    def machine(self, behind: int, ts: float) -> None:
        self._link.write(sql.MACHINE, (_host(), behind, float(ts)))

    def _told(self) -> list[tuple[str, int, float]]:
        return [(host, int(n), float(ts)) for host, n, ts in self._link.rows(sql.MACHINES)]

    # -- keeping house ---------------------------------------------------------------------------

    def forget(self, session: str) -> int:
        from loopguard_core.store.postgres import keeping  # never on an agent's path

        name = rows.narrow(session)
        self._writer.forget(name)
        return keeping.forget(self._link, name)

    def forget_all(self, sessions: Sequence[str]) -> Iterator[str]:
        from loopguard_core.store.postgres import keeping

        names = {rows.narrow(session): session for session in sessions}
        for name in names:
            self._writer.forget(name)
        for name in keeping.forget_all(self._link, list(names)):
            yield names[name]

    def size(self, session: str | None = None) -> int:
        from loopguard_core.store.postgres import keeping

        return keeping.size(self._link, None if session is None else rows.narrow(session))

    def tidy(self) -> None:
        from loopguard_core.store.postgres import keeping

        keeping.tidy(self._link)

    def close(self) -> None:
        self._link.close()


def _host() -> str:
    return os.uname().nodename


def _most(limit: int | None) -> int | None:
    return None if limit is None else number(limit)


def _number(found: list[tuple[Any, ...]]) -> int:
    return int(found[0][0]) if found else 0


def _request(row: tuple[Any, ...]) -> Request:
    name, session, opened, resolved, delivered, *rest = row
    asked_ts, asked, more, answered_ts, answer, note, tool, call, args, start = rest
    request = Request(name, session, opened)
    request.delivered = delivered
    about = {"tool": tool} if tool is not None else {}
    said = {**about, **_data(call, args)}
    records.asked(request, asked_ts, _data(asked, more), said, _data(start, None))
    return records.answered(request, answered_ts, _data(answer, note)) if resolved else request


def _data(data: str | None, payload: str | None) -> dict[str, Any]:
    """What an event says, from its two columns."""
    return {**records.said(data), **records.said(payload)}
