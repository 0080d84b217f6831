"""The SQLite engine of the event store: WAL, one statement an append, nothing held between calls."""

from __future__ import annotations

import os
import sqlite3

from loopguard_core.events import load
from loopguard_core.store import rows, schema
from loopguard_core.store.contract import (
    ATTACHED_SECONDS,
    Request,
    Session,
    Stale,
    Store,
    StoreError,
    Taken,
)
from loopguard_core.store.link import Link
from loopguard_core.store.paths import default_store
from loopguard_core.store.wake import Wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loopguard_core.events import Event

_SID = "(SELECT id FROM session WHERE name = ?)"
_ENDLESS = 2**62
_LAST = "(SELECT max(seq) FROM event WHERE sid = s.id)"
_NEXT_REQUEST = "'R' || (coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'request'), 0) + 1)"
# Where a call ends, the verdict on its start counts too.
_CALL_TIER = "max(:tier, coalesce(b.tier, 0))"
_BEGUN = """
LEFT JOIN event AS b ON b.sid = s.id AND b.call = :call AND b.type = 'call_start'"""


def _append_sql(
    *,
    request: str = ":request",
    tier: str = ":tier",
    calls: str = "0",
    level: str,
    changed: str,
    ended: str = "coalesce(p.ended, 0)",
    begun: str = "",
    large: bool,
) -> str:
    stored = "(SELECT id FROM payload WHERE digest = :digest)"
    return f"""
INSERT INTO event (sid, seq, ts, type, call, request, tool, tier, calls, worst, level, changed, ended,
                   data, verdict, large, payload)
SELECT s.id, coalesce(p.seq, 0) + 1, :ts, :type, :call, {request}, :tool, {tier}, coalesce(p.calls, 0) + {calls},
  max(coalesce(p.worst, 0), coalesce({tier}, 0)), {level}, {changed}, {ended},
  :data, :verdict, {stored if large else "NULL"}, {"NULL" if large else ":payload"}
FROM session AS s LEFT JOIN event AS p ON p.sid = s.id AND p.seq = {_LAST}{begun}
WHERE s.name = :session AND (:expect IS NULL OR coalesce(p.seq, 0) = :expect)
{f"AND {stored} IS NOT NULL" if large else ""}
RETURNING seq, request"""


def _statements(large: bool) -> dict[str, str]:
    same = {"level": "coalesce(p.level, 0)", "changed": "NULL"}
    start = {
        "level": "max(coalesce(p.level, 0), :tier)",
        "changed": "CASE WHEN :tier > coalesce(p.level, 0) THEN 1 END",
    }
    end = {
        "level": _CALL_TIER,
        "changed": f"CASE WHEN {_CALL_TIER} <> coalesce(p.level, 0) THEN 1 END",
    }
    return {
        "": _append_sql(**same, large=large),
        "call_start": _append_sql(**start, calls="1", large=large),
        "call_end": _append_sql(**end, tier=_CALL_TIER, begun=_BEGUN, large=large),
        "session_start": _append_sql(**same, ended="0", large=large),
        "session_end": _append_sql(**same, ended="1", large=large),
        "request": _append_sql(**same, request=_NEXT_REQUEST, large=large),
    }


_APPEND = _statements(large=False)
_APPEND_LARGE = _statements(large=True)

_PAYLOAD = "coalesce(e.payload, (SELECT text FROM payload WHERE id = e.large))"
_LEAN = "s.name, e.seq, e.ts, e.type, e.call, e.request, e.tool, e.data, e.verdict"
_FULL = f"{_LEAN}, {_PAYLOAD}"

_SESSIONS = f"""
SELECT s.name, e.seq, e.ts, e.calls, e.worst, e.ended,
  (SELECT ts FROM event WHERE sid = s.id ORDER BY seq LIMIT 1), b.data,
  (SELECT count(*) FROM request WHERE sid = s.id AND resolved IS NULL), e.id
FROM session AS s JOIN event AS e ON e.sid = s.id AND e.seq = {_LAST}
LEFT JOIN event AS b ON b.sid = s.id
  AND b.seq = (SELECT max(seq) FROM event WHERE sid = s.id AND type = 'session_start')"""

_REQUESTS = f"""
SELECT r.name, s.name, r.opened, o.ts, o.data, d.ts, d.data, r.delivered, c.tool, c.tier, c.verdict,
  {_PAYLOAD.replace("e.", "c.")}, {_PAYLOAD.replace("e.", "o.")}, b.data
FROM request AS r JOIN session AS s ON s.id = r.sid
JOIN event AS o ON o.sid = r.sid AND o.seq = r.opened
LEFT JOIN event AS d ON d.sid = r.sid AND d.seq = r.resolved
LEFT JOIN event AS c ON c.sid = r.sid AND c.type = 'call_start'
  AND c.call = json_extract(o.data, '$.call')
LEFT JOIN event AS b ON b.sid = r.sid
  AND b.seq = (SELECT max(seq) FROM event WHERE sid = r.sid AND type = 'session_start')"""


class SqliteStore(Store):
    """One SQLite file. Safe to share between threads; survives a fork."""

    def __init__(
        self,
        path: str,
        *,
        create: bool = True,
        read_only: bool = False,
        redact: Callable[[str], str] | None = None,
        limit: int = rows.LIMIT,
    ) -> None:
        self.place = path
        self._redact = redact
        self._limit = limit
        self._link = Link(path, create=create, read_only=read_only)
        self._wake: Wake | None = None

    @property
    def generation(self) -> int:  # type: ignore[override]
        return self._link.generation

    # -- writing ---------------------------------------------------------------------------------

    def append(self, event: Event, *, expect: int | None = None) -> int:
        if not event.session:
            raise ValueError("an event needs a session to be appended")
        row = rows.pack(event, self._redact, self._limit)
        kind = event.type
        asked = kind == "request_opened" and row.request is None
        statements = _APPEND if row.digest is None else _APPEND_LARGE
        sql = statements.get("request" if asked else kind) or statements[""]
        values = {
            "session": rows.column(event.session),
            "expect": expect,
            "ts": event.ts,
            "type": rows.column(kind),
            "call": row.call,
            "request": row.request,
            "tool": row.tool,
            "tier": row.tier,
            "data": row.data,
            "verdict": row.verdict,
            "payload": row.payload,
            "digest": row.digest,
        }
        link = self._link
        with link.lock:
            try:
                written = link.write(sql, values)
                if not written:
                    written = self._append_after_all(sql, values)
            except sqlite3.IntegrityError:
                raise Taken(self._taken(values)) from None
        seq, name = written[0]
        if asked:
            event.data["request"] = name
        return int(seq)

    def _append_after_all(self, sql: str, values: dict[str, Any]) -> list[Any]:
        """The first append wrote nothing: a session or a payload is missing, or others wrote."""
        expect = values["expect"]
        last = self.last(values["session"])
        if expect is not None and expect != last:
            raise Stale
        link = self._link
        if last == 0:
            link.write("INSERT OR IGNORE INTO session (name) VALUES (?)", (values["session"],))
        if values["digest"] is None:
            written = link.write(sql, values)
        else:
            with link.transaction():
                link.write(
                    "INSERT OR IGNORE INTO payload (digest, text) VALUES (:digest, :payload)",
                    values,
                )
                written = link.write(sql, values)
        if not written:
            raise Stale
        return written

    def _taken(self, values: dict[str, Any]) -> int:
        """The number of the entry that is there already."""
        found = self._link.rows(
            """SELECT e.seq FROM event AS e
               WHERE e.call = :call AND e.type = :type
                 AND e.sid = (SELECT id FROM session WHERE name = :session)
               UNION ALL
               SELECT seq FROM event WHERE request = :request AND type = :type""",
            values,
        )
        return int(found[0][0]) if found else 0

    # -- reading ---------------------------------------------------------------------------------

    def read(
        self, session: str, *, after: int = 0, limit: int | None = None, payloads: bool = True
    ) -> list[Event]:
        return self._read(_FULL if payloads else _LEAN, session, after, limit)

    def _read(self, columns: str, session: str, after: int, limit: int | None) -> list[Event]:
        found = self._link.rows(
            f"""SELECT {columns} FROM session AS s JOIN event AS e ON e.sid = s.id
                WHERE s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ?""",
            (rows.column(session), after, -1 if limit is None else limit),
        )
        return [rows.unpack(*row) for row in found]

    def last(self, session: str) -> int:
        found = self._link.rows(
            f"SELECT max(seq) FROM event WHERE sid = {_SID}", (rows.column(session),)
        )
        return int(found[0][0] or 0)

    def last_turn(self, session: str, *, before: int | None = None) -> int:
        found = self._link.rows(
            f"""SELECT max(seq) FROM event
                WHERE sid = {_SID} AND type = 'user_message' AND seq < ?""",
            (rows.column(session), _ENDLESS if before is None else before),
        )
        return max(0, int(found[0][0] or 0) - 1)

    def standing(self, session: str, upto: int) -> list[Event]:
        found = self._link.rows(
            f"""SELECT {_LEAN} FROM event AS e JOIN session AS s ON s.id = e.sid
                WHERE e.sid = {_SID} AND e.{schema.STANDING} AND e.seq <= ? ORDER BY e.seq""",
            (rows.column(session), upto),
        )
        return [rows.unpack(*row) for row in found]

    def tail(self, cursor: int, limit: int = 1000) -> tuple[int, list[Event]]:
        if cursor < 0:
            return int(self._link.rows("SELECT coalesce(max(id), 0) FROM event")[0][0]), []
        found = self._link.rows(
            f"""SELECT e.id, {_FULL} FROM event AS e JOIN session AS s ON s.id = e.sid
                WHERE e.id > ? ORDER BY e.id LIMIT ?""",
            (cursor, limit),
        )
        return (found[-1][0] if found else cursor), [rows.unpack(*row[1:]) for row in found]

    def sessions(self) -> list[Session]:
        found = self._link.rows(_SESSIONS)
        found.sort(key=lambda row: (row[2] or 0.0, row[9]), reverse=True)
        return [_session(row) for row in found]

    def session(self, session: str) -> Session | None:
        found = self._link.rows(f"{_SESSIONS} WHERE s.name = ?", (rows.column(session),))
        return _session(found[0]) if found else None

    def requests(self, *, session: str = "", pending: bool = False) -> list[Request]:
        where, values = ["1"], []
        if session:
            where.append(f"r.sid = {_SID}")
            values.append(rows.column(session))
        if pending:
            where.append("r.resolved IS NULL")
        found = self._link.rows(f"{_REQUESTS} WHERE {' AND '.join(where)} ORDER BY r.n", values)
        return [_request(row) for row in found]

    def request(self, request: str) -> Request | None:
        found = self._link.rows(f"{_REQUESTS} WHERE r.name = ?", (rows.column(request),))
        return _request(found[0]) if found else None

    # -- between processes -----------------------------------------------------------------------

    def changed(self, timeout: float) -> bool:
        if self._wake is None:
            self._wake = Wake(self.place, self._version)
        return self._wake.wait(timeout)

    def _version(self) -> tuple[int, int]:
        link = self._link
        with link.lock:
            version = link.rows("PRAGMA data_version")[0][0]
            return link.generation, version

    def beat(self, ts: float) -> None:
        self._link.write(
            "INSERT OR REPLACE INTO console (pid, ts) VALUES (?, ?)", (os.getpid(), ts)
        )

    def attached(self, now: float) -> list[int]:
        found = self._link.rows(
            "SELECT pid FROM console WHERE ts > ? ORDER BY pid", (now - ATTACHED_SECONDS,)
        )
        return [pid for (pid,) in found if _alive(pid)]

    def close(self) -> None:
        if self._wake is not None:
            self._wake.close()
        self._link.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _object(text: str | None) -> dict[str, Any]:
    value = load(text) if text else {}
    return value if isinstance(value, dict) else {}


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _session(row: tuple[Any, ...]) -> Session:
    name, seq, ts, calls, worst, ended, first, start, waiting, _ = row
    data = _object(start)
    session = Session(name)
    session.seq, session.calls, session.worst, session.waiting = seq, calls, worst, waiting
    session.ended, session.first_ts, session.last_ts = bool(ended), first, ts
    session.name, session.agent = _text(data, "name"), _text(data, "agent")
    session.parent, session.cwd, session.host = (
        _text(data, "parent"),
        _text(data, "cwd"),
        _text(data, "host"),
    )
    pid = data.get("pid")
    session.pid = pid if isinstance(pid, int) else 0
    session.pid_started = str(data.get("pid_started", ""))
    return session


def _request(row: tuple[Any, ...]) -> Request:
    name, session, seq, opened_ts, opened, resolved_ts, resolved = row[:7]
    delivered, tool, tier, verdict, call_payload, own_payload, start = row[7:]
    data, answer = _object(opened), _object(resolved)
    request = Request(name, session, seq)
    request.call, request.seen = _text(data, "call"), _text(data, "seen")
    request.tool = _text(data, "tool") or tool or ""
    own, called = _object(own_payload), _object(call_payload)
    request.args = own["args"] if "args" in own else called.get("args")
    request.verdict = data["verdict"] if isinstance(data.get("verdict"), dict) else _object(verdict)
    request.signature = _text(data, "signature") or _text(request.verdict, "signature")
    request.tier = rows.TIERS.get(_text(data, "tier"), tier or 0)
    pid = data.get("pid", _object(start).get("pid"))
    request.pid = pid if isinstance(pid, int) else 0
    deadline = data.get("deadline")
    request.deadline = float(deadline) if isinstance(deadline, (int, float)) else None
    request.opened_ts, request.resolved_ts = opened_ts, resolved_ts
    request.resolution, request.by = _text(answer, "resolution"), _text(answer, "by")
    request.note = _text(answer, "note")
    request.delivered = delivered is not None
    return request


def open_store(
    path: str | None = None,
    *,
    create: bool = True,
    read_only: bool = False,
    redact: Callable[[str], str] | None = None,
    limit: int = rows.LIMIT,
) -> Store:
    """The event store at *path*, or the default one.

    *create* makes the file and its directory where they are missing. *read_only* writes nothing, and
    reads a store in a folder where nothing can be written. *limit*: characters of one field above which
    it is stored cut. Raises ``StoreError``.
    """
    place = os.path.abspath(path) if path else default_store()
    if os.path.isdir(place):
        raise StoreError(f"{place} is a directory, not an event store; name a file")
    return SqliteStore(
        place, create=create and not read_only, read_only=read_only, redact=redact, limit=limit
    )
