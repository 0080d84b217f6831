"""The SQLite engine of the event store: WAL, one statement an append, nothing held between calls."""

from __future__ import annotations

import os
from _thread import _local

from loopguard_core.events import TYPES, Event, Judged, time_of
from loopguard_core.processes import alive, started
from loopguard_core.store import filing, records, rows, schema
from loopguard_core.store import statements as sql
from loopguard_core.store.contract import (
    ATTACHED_SECONDS,
    Request,
    Session,
    Stale,
    Store,
    Taken,
    number,
)
from loopguard_core.store.driver import sqlite3
from loopguard_core.store.link import WAL_BOUND, Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from loopguard_core.redaction.redact import Redactor
    from loopguard_core.store.tails import Own
    from loopguard_core.store.transaction import Transaction
    from loopguard_core.store.wake import Wake


class SqliteStore(Store):
    """One SQLite file. Safe to share between threads; survives a fork."""

    def __init__(
        self,
        path: str,
        *,
        create: bool = True,
        read_only: bool = False,
        redactor: Redactor | None = None,
        limit: int = rows.LIMIT,
    ) -> None:
        self.place = path
        self.redactor = redactor
        self._has_secret_tool = redactor is not None and bool(redactor.rules.never_store)
        self._limit = limit
        self._link = Link(path, create=create, read_only=read_only)
        self._own: Own | None = None
        self._wrote = False
        self._wakes = _local()

    @property
    def generation(self) -> int:
        return self._link.generation

    # -- writing ---------------------------------------------------------------------------------

    def append(self, event: Event, *, expect: int | None = None) -> int:
        if not event.session:
            raise ValueError("an event needs a session to be appended")
        row = None
        if type(event) is Judged and not self._has_secret_tool:
            texts = rows.usual(event, self.redactor, self._limit)
            if texts is not None:
                own = self._own
                if own is not None and expect is not None and len(texts[1]) <= rows.INLINE:
                    with self._link.lock:
                        key = own.allowed(self._link, expect, event, texts)
                    if key:
                        seq = expect + 1
                        return seq if seq & filing.EVERY else self._filed(key)
                row = rows.of_usual(event, texts)
        return self._append(event, expect, row)

    def _append(self, event: Event, expect: int | None, row: rows.Row | None) -> int:
        """Append an event of any kind; *row* is its row, where that is known."""
        kind = event.type
        session = event.session
        if not session.isascii():
            session = rows.column(session)
        if row is None:
            never = self._has_secret_tool and self._never_stored(session, event)
            row = rows.pack(event, self.redactor, self._limit, never=never)
        named = row.request
        if row.request is not None or kind == "request_opened":
            with self._link.lock, self._link.transaction():
                if kind == "request_opened" and named is None:
                    row.request = f"R{self._last_request() + 1}"
                key = self._insert(session, expect, event, row)
                self._note_request(kind, row.request, key)
            if named is None:
                event.data["request"] = row.request
        else:
            key = self._insert(session, expect, event, row)
        return key & schema.MASK if key & filing.EVERY else self._filed(key)

    def _filed(self, key: int) -> int:
        """The number of the event with *key*, after which calls up to it can be found by the table of calls."""
        with self._link.lock:
            if filing.bring_up(self._link, key) and self._own is not None:
                self._own.filed(key)
        return key & schema.MASK

    def extend(self, events: Sequence[Event], *, expect: int | None = None) -> int:
        link = self._link
        if packed := self._pack_all(events):
            from loopguard_core.store import bulk

            try:
                with link.transaction():
                    if expect is not None and expect != self.last(events[0].session):
                        raise Stale
                    bulk.insert(link, packed)
                link.tidy(WAL_BOUND)
                return len(events)
            except sqlite3.IntegrityError:
                pass  # one of them is there already: one by one, then
        appended = 0
        try:
            with link.transaction():
                for event in events:
                    try:
                        self.append(event, expect=None if expect is None else expect + appended)
                    except Taken:
                        if expect is not None:
                            raise
                        continue
                    appended += 1
        except BaseException:
            self._own = None  # it has gone on from rows that were taken back
            raise
        return appended

    def _pack_all(self, events: Sequence[Event]) -> list[tuple[Event, rows.Row]]:
        """The rows of *events*; none where they have to be appended one by one."""
        from loopguard_core.store.bulk import encoder  # never on an agent's path

        if self._has_secret_tool or any(e.type in rows.OF_REQUEST or not e.session for e in events):
            return []
        encode = encoder()
        return [(e, rows.pack(e, self.redactor, self._limit, encode=encode)) for e in events]

    def _insert(self, session: str, expect: int | None, event: Event, row: rows.Row) -> int:
        """Insert one event; its key."""
        link = self._link
        with link.lock:
            own = self._own
            if own is None and self._wrote:
                from loopguard_core.store.tails import Own  # not for a process that appends once

                own = self._own = Own()
            key = 0 if own is None else own.append(link, session, expect, event, row)
            if not key:
                key = self._insert_generally(session, expect, event, row)
                self._wrote = True
                if own is not None:
                    own.appended(link, session)
            return key

    def _insert_generally(
        self, session: str, expect: int | None, event: Event, row: rows.Row
    ) -> int:
        kind = event.type
        values: tuple[Any, ...] = (
            *(
                session,
                _place(expect),
                time_of(event.ts),
                kind if kind in TYPES else rows.column(kind),
            ),
            *(row.call, row.request, row.tool, row.tier, row.mark),
            *(row.data, row.payload),
        )
        statements = sql.APPEND
        if row.digest is not None:
            statements, values = sql.APPEND_LARGE, (*values, row.digest)
        statement = statements.get(kind) or statements[""]
        try:
            return self._link.write(statement, values) or self._insert_anew(
                statement, values, row.digest
            )
        except sqlite3.IntegrityError:
            raise Taken(self._taken(values)) from None

    def _insert_anew(self, statement: str, values: tuple[Any, ...], digest: bytes | None) -> int:
        """The insert wrote nothing: its session or payload is not there yet, or others wrote."""
        session, expect, payload = values[0], values[1], values[10]
        last = self.last(session)
        if expect is not None and expect != last:
            raise Stale
        if values[3] in rows.OF_CALL and (taken := self._taken(values)):
            raise Taken(taken)
        link = self._link
        with link.lock, link.transaction():
            if last == 0:
                link.write("INSERT OR IGNORE INTO session (name) VALUES (?)", (session,))
            if digest is not None:
                link.write(
                    "INSERT OR IGNORE INTO payload (digest, text) VALUES (?, ?)", (digest, payload)
                )
            key = link.write(statement, values)
        if not key:
            raise Stale
        return key

    def _never_stored(self, session: str, event: Event) -> bool:
        """True where the tool that *event* is about is one whose payloads are not stored."""
        assert self.redactor is not None

        def started(call: str) -> str:
            found = self._link.rows(
                f"SELECT tool FROM event WHERE id = ({sql.STARTED})", (session, rows.column(call))
            )
            return str(found[0][0] or "") if found else ""

        tool = records.tool_of(event, started, self.request)
        return bool(tool) and self.redactor.rules.hides(tool)

    def _last_request(self) -> int:
        found = self._link.rows("SELECT seq FROM sqlite_sequence WHERE name = 'request'")
        return found[0][0] if found else 0

    def _note_request(self, kind: str, name: str | None, key: int) -> None:
        """Keep the table of requests in step. A name that is only referred to is taken, too."""
        link = self._link
        column = rows.REQUEST_COLUMNS[kind]
        sid = key >> schema.SHIFT
        owner = ", sid = ?3" if kind == "request_opened" else ""
        update = f"UPDATE request SET {column} = ?1 {owner} WHERE name = ?2"
        if not link.write(update, (key, name, sid) if owner else (key, name)):
            number = rows.request_number(name or "", self._last_request())
            link.write(
                f"INSERT INTO request (n, name, sid, {column}) VALUES (?, ?, ?, ?)",
                (number, name, sid, key),
            )

    def _taken(self, values: tuple[Any, ...]) -> int:
        """The number of the entry that is there already, 0 where none is."""
        session, kind, call, request = values[0], values[3], values[4], values[5]
        if kind in rows.OF_CALL:
            found = self._link.rows(
                sql.ENDED if kind == "call_end" else sql.STARTED, (session, call)
            )
        else:
            found = self._link.rows(
                "SELECT id FROM event WHERE request = ? AND type = ?", (request, kind)
            )
        return (found[0][0] or 0) & schema.MASK if found else 0

    # -- reading ---------------------------------------------------------------------------------

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        found = self._link.rows(
            f"""SELECT {sql.FULL if payloads else sql.LEAN} FROM session AS s JOIN event AS e
                ON e.id > (s.id << {schema.SHIFT}) + ?
                AND e.id <= (s.id << {schema.SHIFT}) + {schema.MASK}
                WHERE s.name = ? ORDER BY e.id LIMIT ?""",
            (number(after), rows.column(session), _most(limit)),
        )
        return rows.unpack_all(session, found)

    def last(self, session: str) -> int:
        found = self._link.rows(
            f"SELECT {schema.LAST} & {schema.MASK} FROM session AS s WHERE s.name = ?",
            (rows.column(session),),
        )
        return found[0][0] or 0 if found else 0

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        found = self._link.rows(
            f"""SELECT (SELECT max(id) FROM event WHERE sid = s.id AND mark = {schema.TURN}
                        AND id < (s.id << {schema.SHIFT}) + ?) & {schema.MASK}
                FROM session AS s WHERE s.name = ?""",
            (schema.MASK if before is None else number(before), rows.column(session)),
        )
        return max(0, (found[0][0] or 0) - 1) if found else 0

    def standing(self, session: str, upto: int) -> list[Event]:
        found = self._link.rows(
            f"""SELECT {sql.LEAN} FROM session AS s JOIN event AS e ON e.sid = s.id
                AND e.mark IN ({schema.START}, {schema.STANDING})
                AND e.id <= (s.id << {schema.SHIFT}) + ? WHERE s.name = ? ORDER BY e.id""",
            (number(upto), rows.column(session)),
        )
        return rows.unpack_all(session, found)

    def unended(self, session: str) -> list[Event]:
        return rows.unpack_all(session, self._link.rows(sql.UNENDED, (rows.column(session),)))

    def next_change(self, session: str, seq: int, *, back: bool = False) -> int:
        pick, side = ("max", "<") if back else ("min", ">")
        found = self._link.rows(
            f"""SELECT (SELECT {pick}(id) FROM event WHERE sid = s.id AND mark = {schema.CHANGE}
                        AND id {side} (s.id << {schema.SHIFT}) + ?) & {schema.MASK}
                FROM session AS s WHERE s.name = ?""",
            (number(seq), rows.column(session)),
        )
        return found[0][0] or 0 if found else 0

    def gaps(self, session: str, after: int, upto: int) -> list[Event]:
        found = self._link.rows(
            f"""SELECT {sql.LEAN} FROM session AS s JOIN event AS e
                ON e.id > (s.id << {schema.SHIFT}) + ? AND e.id <= (s.id << {schema.SHIFT}) + ?
                WHERE s.name = ? AND e.type = 'gap' ORDER BY e.id""",
            (number(after), number(upto), rows.column(session)),
        )
        return rows.unpack_all(session, found)

    def calls_upto(self, session: str, seq: int) -> int:
        found = self._link.rows(
            f"""SELECT e.calls FROM session AS s JOIN event AS e ON e.id = (s.id << {schema.SHIFT}) + ?
                WHERE s.name = ?""",
            (number(seq), rows.column(session)),
        )
        return found[0][0] if found else 0

    def sessions(self) -> list[Session]:
        found = [records.session(row) for row in self._link.rows(f"{sql.SESSIONS} ORDER BY s.id")]
        found.reverse()
        found.sort(key=lambda s: s.last_ts or 0.0, reverse=True)
        return found

    def session(self, session: str) -> Session | None:
        found = self._link.rows(f"{sql.SESSIONS} WHERE s.name = ?", (rows.column(session),))
        return records.session(found[0]) if found else None

    def requests(
        self, *, session: str = "", pending: bool = False, limit: int | None = None
    ) -> list[Request]:
        where: list[str] = ["1"]
        values: list[Any] = []
        if session:
            where.append(f"r.sid = {sql.SID}")
            values.append(rows.column(session))
        if pending:
            where.append(schema.WAITING)
        newest = f"{sql.REQUESTS} WHERE {' AND '.join(where)} ORDER BY r.n DESC LIMIT ?"
        found = self._link.rows(newest, [*values, _most(limit)])
        return [self._request(*row) for row in reversed(found)]

    def request(self, request: str) -> Request | None:
        found = self._link.rows(f"{sql.REQUESTS} WHERE r.name = ?", (rows.column(request),))
        return self._request(*found[0]) if found else None

    def _request(
        self,
        name: str,
        session: str,
        opened: int,
        resolved: int | None,
        delivered: int | None,
        call: int | None,
        start: int | None,
    ) -> Request:
        opening = self._event(opened)
        request = Request(name, session, opened & schema.MASK)
        request.delivered = delivered is not None
        called, begun = self._event(call).data, self._event(start).data
        records.asked(request, opening.ts, opening.data, called, begun)
        if resolved is not None:
            answer = self._event(resolved)
            records.answered(request, answer.ts, answer.data)
        return request

    def _event(self, key: int | None) -> Event:
        """The event with *key*; an empty one where there is none."""
        found = self._link.rows(f"SELECT {sql.FULL} FROM event AS e WHERE e.id = ?", (key or 0,))
        return rows.unpack_all("", found)[0] if found else Event("")

    # -- between processes -----------------------------------------------------------------------

    def changed(self, timeout: float, *, session: str = "") -> bool:
        wake: Wake | None = getattr(self._wakes, "wake", None)
        if wake is None:
            from loopguard_core.store.wake import Wake  # only for who waits

            wake = self._wakes.wake = Wake(self.place, self._link.version)
        return wake.wait(timeout)

    def beat(self, ts: float) -> None:
        pid = os.getpid()
        self._link.write(
            "INSERT OR REPLACE INTO console (pid, started, ts) VALUES (?, ?, ?)",
            (pid, started(pid), ts),
        )
        self._link.tidy(cut=True)

    def attached(self, now: float) -> list[int]:
        found = self._link.rows(
            "SELECT pid, started FROM console WHERE ts > ? ORDER BY pid", (now - ATTACHED_SECONDS,)
        )
        return [pid for pid, since in found if alive(pid, since)]

    # -- keeping house ---------------------------------------------------------------------------

    def forget(self, session: str) -> int:
        from loopguard_core.store import forgetting  # never on an agent's path

        return forgetting.forget(self._link, rows.column(session))

    def size(self, session: str | None = None) -> int:
        from loopguard_core.store import forgetting

        return forgetting.size(self._link, None if session is None else rows.column(session))

    def exclusively(self) -> Transaction:
        return self._link.transaction()

    def recover(self) -> None:
        self._own = None  # it may have gone on from rows that were taken back
        self._link.recover()

    def tidy(self) -> None:
        # what was overwritten stands in the file until it is written back
        self._link.tidy(0, cut=True)

    def leave(self) -> None:
        self._link.leave()

    def close(self) -> None:
        self._link.close()


def _most(limit: int | None) -> int:
    """*limit* as SQLite takes it, which knows less than none as all."""
    return -1 if limit is None else number(limit)


def _place(expect: int | None) -> int | None:
    """*expect* as a number that a column can hold: another one where no log can end there."""
    return expect if expect is None or 0 <= expect <= schema.MASK else -1
