"""The statements of the PostgreSQL engine. Placeholders are named by the comment above each."""

from __future__ import annotations

from loopguard_core.hashing import blake2b
from loopguard_core.store.contract import NO_SIGN
from loopguard_core.store.postgres.schema import WAITING
from loopguard_core.store.rows import REQUEST_COLUMNS
from loopguard_core.store.schema import CHANGE, RESET, STANDING, START, TURN

# -- writing ---------------------------------------------------------------------------------------

NAMES = (
    *("session", "seq", "born", "ts", "type", "call", "request", "tool"),
    *("tier", "calls", "worst", "level", "mark", "ended", "bytes"),
    *("data", "payload", "large"),
)
COLUMNS = ", ".join(NAMES)
TYPES = (
    *("text", "bigint", "integer", "double precision", "text", "text", "text", "text"),
    *("smallint", "bigint", "smallint", "smallint", "smallint", "boolean", "bigint"),
    *("text", "text", "bytea"),
)
#: What all who look on listen to.
CHANNEL = "loopguard"
_VALUES = ", ".join(f"%s::{kind}" for kind in TYPES)


def channel(session: str) -> str:
    """What is listened to by who waits in *session*."""
    return f"{CHANNEL}_{blake2b(session.encode(), digest_size=12).hexdigest()}"


_KEPT = """kept AS (INSERT INTO loopguard.payload (session, digest, born, text)
  VALUES (%s::text, %s::bytea, %s::integer, %s::text) ON CONFLICT DO NOTHING), """


def _before(table: str = "event", number: str = " AND seq = %s::bigint") -> str:
    """Whether the row before still stands, or for a first row the session. Parameters: session, ``born``, number."""
    return f"""EXISTS (SELECT 1 FROM loopguard.{table}
  WHERE session = %s::text AND born = %s::integer{number})"""


def _told(written: str) -> str:
    """*written*, and that all who look on hear of it, and who waits in the session. Parameter: its channel."""
    return f"""{written} RETURNING session, request)
SELECT request, pg_notify('{CHANNEL}', ''), pg_notify(%s::text, '') FROM written"""


def _insert(first: bool, large: bool, told: bool) -> str:
    """The statement that appends one row; it writes none where the place is taken or the row before is gone.

    Parameters: with *large* the session, digest, ``born`` and text of the payload; the columns; what
    ``_before`` takes, unless *first* without the number; where it is *told*, what ``_told`` takes.
    """
    before = _before("session", "") if first else _before()
    insert = f"""INSERT INTO loopguard.event ({COLUMNS})
SELECT {_VALUES} WHERE {before} ON CONFLICT DO NOTHING"""
    kept = _KEPT if large else ""
    if told:
        return _told(f"WITH {kept}written AS ({insert}")
    return f"WITH {kept.rstrip(', ')} {insert}" if large else insert


#: By: is it the first row, is the payload kept apart, do listeners hear of it.
INSERT = {
    (first, large, told): _insert(first, large, told)
    for first in (False, True)
    for large in (False, True)
    for told in (False, True)
}


def _ask(large: bool) -> str:
    """The statement that opens a request: it is given its number and name, and its event is written.

    Nothing is written where the row before is gone; where somebody else took a place, it fails. Parameters: those
    of ``_insert``, with session, call and number of the event, and what ``_before`` takes, before the columns.
    """
    values = ", ".join(
        "asked.request" if name == "request" else f"%s::{kind}"
        for name, kind in zip(NAMES, TYPES, strict=True)
    )
    return _told(f"""WITH {_KEPT if large else ""}asked AS (
  INSERT INTO loopguard.request (request, n, session, call, opened)
  SELECT 'R' || n, n, %s::text, %s::text, %s::bigint
  FROM (SELECT loopguard.next_request(0) AS n WHERE {_before()} OFFSET 0) AS numbered
  RETURNING request),
written AS (INSERT INTO loopguard.event ({COLUMNS}) SELECT {values} FROM asked""")


def _answer(kind: str, large: bool) -> str:
    """The same for what a request gets once after that; nothing is written where it has it, or is unknown.

    Parameters: those of ``_insert``, with number of the event, session and request, and what ``_before``
    takes, before the columns.
    """
    column = REQUEST_COLUMNS[kind]
    return _told(f"""WITH {_KEPT if large else ""}claimed AS (
  UPDATE loopguard.request SET {column} = %s::bigint, {column}_in = %s::text
  WHERE request = %s::text AND {column} IS NULL AND {_before()} RETURNING request),
written AS (INSERT INTO loopguard.event ({COLUMNS}) SELECT {_VALUES} FROM claimed""")


_ANSWERS = [kind for kind in REQUEST_COLUMNS if kind != "request_opened"]
#: By type, and: is the payload kept apart. In the columns of a new request ``request`` is left out.
ASK = {large: _ask(large) for large in (False, True)}
ANSWER = {(kind, large): _answer(kind, large) for kind in _ANSWERS for large in (False, True)}

# session
LATEST = """LEFT JOIN LATERAL (SELECT * FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born ORDER BY e.seq DESC LIMIT 1) AS l ON true"""
TAIL = f"""
SELECT s.born, l.seq, l.calls, l.worst, l.level, l.ended, l.bytes
FROM loopguard.session AS s {LATEST} WHERE s.session = %s"""

# session
NEW_SESSION = """
INSERT INTO loopguard.session (session, born)
VALUES (%s, to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')::integer) ON CONFLICT DO NOTHING"""

_BORN = "born = (SELECT born FROM loopguard.session WHERE session = %s)"

# session, session, call, type
OF_CALL = f"""
SELECT seq, tier FROM loopguard.event
WHERE session = %s AND {_BORN} AND call = %s AND type = %s"""

# session, session, call
TOOL = f"""
SELECT tool FROM loopguard.event
WHERE session = %s AND {_BORN} AND call = %s AND type = 'call_start'"""

# session, born, number
WRITTEN = """
SELECT type, ts, call, request, data, payload, large FROM loopguard.event
WHERE session = %s AND born = %s AND seq = %s"""

# -- requests --------------------------------------------------------------------------------------

# request
CLAIM = """
SELECT opened, resolved, delivered, granted FROM loopguard.request WHERE request = %s FOR UPDATE"""
# a number that was given elsewhere
COUNT = "SELECT loopguard.next_request(%s)"
# request, n, session
NEW_REQUEST = """
INSERT INTO loopguard.request (request, n, session) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"""
# session, call, number, request
OPEN = "UPDATE loopguard.request SET session = %s, call = %s, opened = %s WHERE request = %s"
# number, session, request
FILL = {
    kind: f"UPDATE loopguard.request SET {column} = %s, {column}_in = %s WHERE request = %s"
    for kind, column in REQUEST_COLUMNS.items()
    if kind in _ANSWERS
}

_PAYLOAD = """coalesce({0}.payload, (SELECT p.text FROM loopguard.payload AS p
    WHERE p.session = {0}.session AND p.digest = {0}.large AND p.born = {0}.born))"""
_START = f"""LEFT JOIN LATERAL (SELECT data FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.mark = {START}
  ORDER BY e.seq DESC LIMIT 1) AS b ON true"""


def _one(name: str, of: str, where: str) -> str:
    """The one event *where*, of the session in *of*. With LIMIT every part of the key is looked up in the
    index, whatever the planner thinks of the table."""
    return f"""LATERAL (SELECT * FROM loopguard.event AS e WHERE e.session = {of}.session
  AND e.born = {of}.born AND {where} LIMIT 1) AS {name}"""


REQUESTS = f"""
SELECT r.request, r.session, r.opened, r.resolved IS NOT NULL, r.delivered IS NOT NULL,
  o.ts, o.data, {_PAYLOAD.format("o")}, d.ts, d.data, {_PAYLOAD.format("d")},
  c.tool, c.data, {_PAYLOAD.format("c")}, b.data
FROM loopguard.request AS r
JOIN loopguard.session AS s ON s.session = r.session
CROSS JOIN {_one("o", "s", "e.seq = r.opened")}
LEFT JOIN loopguard.session AS a ON a.session = r.resolved_in
LEFT JOIN {_one("d", "a", "e.seq = r.resolved")} ON true
LEFT JOIN {_one("c", "s", "e.call = r.call AND e.type = 'call_start'")} ON true
{_START}"""
#: The condition of what waits.
WAITS = f"r.{WAITING.replace('AND ', 'AND r.')}"

# -- reading ---------------------------------------------------------------------------------------

_OF_EVENT = "e.seq, e.ts, e.type, e.call, e.request, e.tool, e.data"
LEAN, FULL = f"{_OF_EVENT}, NULL", f"{_OF_EVENT}, {_PAYLOAD.format('e')}"


def _read(columns: str) -> str:
    """Parameters: session, session, the number before, how many (NULL for all)."""
    return f"""
SELECT {columns} FROM loopguard.event AS e
WHERE e.session = %s AND e.{_BORN} AND e.seq > %s ORDER BY e.seq LIMIT %s::bigint"""


READ = {True: _read(FULL), False: _read(LEAN)}

# session, session, after, up to
GAPS = f"""
SELECT {LEAN} FROM loopguard.event AS e
WHERE e.session = %s AND e.{_BORN} AND e.seq > %s AND e.seq <= %s AND e.type = 'gap' ORDER BY e.seq"""

# session, session, seq
CALLS_UPTO = f"""
SELECT calls FROM loopguard.event WHERE session = %s AND {_BORN} AND seq = %s"""

# session, session
LAST = f"""
SELECT seq FROM loopguard.event WHERE session = %s AND {_BORN} ORDER BY seq DESC LIMIT 1"""

# session, session, before
LAST_TURN = f"""
SELECT seq FROM loopguard.event WHERE session = %s AND {_BORN} AND mark = {TURN} AND seq < %s
ORDER BY seq DESC LIMIT 1"""

# session, up to: of each mark by itself, which the index answers in the order that is asked for
HOLDING = f"""
SELECT {LEAN} FROM loopguard.session AS s
CROSS JOIN (VALUES ({START}), ({STANDING})) AS m (mark)
CROSS JOIN LATERAL (SELECT * FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.mark = m.mark AND e.seq <= %s
  ORDER BY e.seq LIMIT NULL OFFSET 0) AS e
WHERE s.session = %s ORDER BY e.seq"""

# session, session: a call's end is looked up by index, whatever the planner knows of the table
UNENDED = f"""
SELECT {LEAN} FROM loopguard.event AS e
LEFT JOIN LATERAL (SELECT 1 AS there FROM loopguard.event AS x WHERE x.session = e.session
  AND x.born = e.born AND x.call = e.call AND x.type = 'call_end' LIMIT 1) AS ended ON true
WHERE e.session = %s AND e.{_BORN} AND e.type = 'call_start' AND e.call IS NOT NULL
  AND ended.there IS NULL ORDER BY e.seq"""

# session, session, number
NEXT_CHANGE = {
    back: f"""
SELECT seq FROM loopguard.event WHERE session = %s AND {_BORN} AND mark = {CHANGE}
AND seq {"<" if back else ">"} %s ORDER BY seq {"DESC" if back else ""} LIMIT 1"""
    for back in (False, True)
}


def _last_mark(mark: int, more: str = "") -> str:
    """The number of the last event of the session with this *mark*; 0 for none."""
    return f"""coalesce((SELECT m.seq FROM loopguard.event AS m WHERE m.session = s.session AND m.born = s.born
    AND m.mark = {mark} {more} ORDER BY m.seq DESC LIMIT 1), 0)"""


_WHOLE_SESSION = "loopguard.field(e.data, 'scope') IS NOT DISTINCT FROM 'session'"
_RESET_ALL = "AND coalesce(loopguard.field(m.data, 'scope'), '') IN ('', 'session')"
#: A human's halt that holds, as on SQLite.
_HALT = f"""LEFT JOIN LATERAL (SELECT e.seq, e.ts, e.data FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.mark = {STANDING} AND e.type = 'halt'
  AND e.seq > {_last_mark(STANDING, "AND m.type = 'resume'")}
  AND ({_WHOLE_SESSION} OR e.seq > greatest({_last_mark(TURN)}, {_last_mark(RESET, _RESET_ALL)}))
  ORDER BY {_WHOLE_SESSION} DESC, e.seq DESC LIMIT 1) AS h ON true"""

SESSIONS = f"""
SELECT s.session, l.seq, a.ts, l.calls, l.worst, l.ended, f.ts,
  (SELECT count(*) FROM loopguard.request AS r WHERE r.session = s.session AND {WAITING}), b.data,
  h.seq, h.ts, h.data
FROM loopguard.session AS s {LATEST}
LEFT JOIN LATERAL (SELECT e.ts FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.type NOT IN {NO_SIGN}
  ORDER BY e.seq DESC LIMIT 1) AS a ON true
LEFT JOIN LATERAL (SELECT e.ts, e.at FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born ORDER BY e.seq LIMIT 1) AS f ON true
{_START}
{_HALT}
WHERE l.seq IS NOT NULL"""

# -- between processes -----------------------------------------------------------------------------

# host, pid, started, ts
BEAT = """
INSERT INTO loopguard.console (host, pid, started, ts, heard)
VALUES (%s, %s, %s, %s, clock_timestamp())
ON CONFLICT (host, pid) DO UPDATE SET started = excluded.started, ts = excluded.ts,
  heard = excluded.heard"""
# host, not older than, seconds
ATTACHED = """
SELECT host, pid, started FROM loopguard.console
WHERE CASE WHEN host = %s THEN ts > %s
  ELSE heard > clock_timestamp() - make_interval(secs => %s::double precision) END ORDER BY host, pid"""
# host, events that wait there, ts
MACHINE = """
INSERT INTO loopguard.machine (host, behind, ts) VALUES (%s, %s, %s)
ON CONFLICT (host, owner) DO UPDATE SET behind = excluded.behind, ts = excluded.ts"""
# Each login of a host has what waits for it; no clock is ahead of the server's.
MACHINES = """
SELECT host, sum(greatest(behind, 0)), max(least(ts, extract(epoch FROM clock_timestamp())))
FROM loopguard.machine WHERE ts > 0 GROUP BY host"""
VERSION = "SELECT last_value + is_called::integer FROM loopguard.event_at"
