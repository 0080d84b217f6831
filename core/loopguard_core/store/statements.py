"""The statements of the SQLite engine: one that appends, for each kind of event; and what is read."""

from __future__ import annotations

from loopguard_core.store import schema

SID = "(SELECT id FROM session WHERE name = ?)"

# 1 session, 2 call
STARTED = f"SELECT {schema.key_of(0, '?2')} FROM session AS s WHERE s.name = ?1"
ENDED = f"SELECT {schema.key_of(1, '?2')} FROM session AS s WHERE s.name = ?1"

# 1 session, 2 expect, 3 ts, 4 type, 5 call, 6 request, 7 tool, 8 tier, 9 mark, 10 data,
# 11 payload, 12 its digest
_COLUMNS = """id, sid, ts, type, call, request, tool, tier, calls, worst, level, mark, ended,
  data, large, payload"""
_PLAIN = {
    "tier": "?8",
    "calls": "coalesce(p.calls, 0)",
    "level": "coalesce(p.level, 0)",
    "mark": "?9",
    "ended": "coalesce(p.ended, 0)",
    "begun": "",
    "new": "",
}
# Where a call ends, the verdict on its start counts too; a falling tier is only known then.
_CALL_TIER = "max(?8, coalesce(b.tier, 0))"
_KINDS = {
    "call_start": {
        "calls": "coalesce(p.calls, 0) + 1",
        "level": "max(coalesce(p.level, 0), ?8)",
        "mark": f"CASE WHEN ?8 > coalesce(p.level, 0) THEN {schema.CHANGE} ELSE ?9 END",
        "new": f"AND {schema.key_of(0, '?5')} IS NULL",
    },
    "call_end": {
        "tier": _CALL_TIER,
        "level": _CALL_TIER,
        "mark": f"CASE WHEN {_CALL_TIER} <> coalesce(p.level, 0) THEN {schema.CHANGE} ELSE ?9 END",
        "begun": f"LEFT JOIN event AS b ON b.id = {schema.key_of(0, '?5')}",
        "new": f"AND {schema.key_of(1, '?5')} IS NULL",
    },
    "session_start": {"ended": "0"},
    "session_end": {"ended": "1"},
}


def _append(kind: str, large: bool) -> str:
    """The statement that appends an event of *kind*, its payload elsewhere if *large*."""
    part = {**_PLAIN, **_KINDS.get(kind, {})}
    stored = "(SELECT id FROM payload WHERE digest = ?12)"
    return f"""
INSERT INTO event ({_COLUMNS})
SELECT coalesce(p.id, s.id << {schema.SHIFT}) + 1, s.id, ?3, ?4, ?5, ?6, ?7, {part["tier"]},
  {part["calls"]}, max(coalesce(p.worst, 0), coalesce({part["tier"]}, 0)), {part["level"]},
  {part["mark"]}, {part["ended"]}, ?10, {f"{stored}, NULL" if large else "NULL, ?11"}
FROM session AS s LEFT JOIN event AS p ON p.id = {schema.LAST} {part["begun"]}
WHERE s.name = ?1 AND (?2 IS NULL OR coalesce(p.id & {schema.MASK}, 0) = ?2)
  {part["new"]} {f"AND {stored} IS NOT NULL" if large else ""}"""


APPEND = {kind: _append(kind, False) for kind in ("", *_KINDS)}
APPEND_LARGE = {kind: _append(kind, True) for kind in ("", *_KINDS)}

_PAYLOAD = "coalesce(e.payload, (SELECT text FROM payload WHERE id = e.large))"
_OF_EVENT = "e.seq, e.ts, e.type, e.call, e.request, e.tool, e.data"
LEAN, FULL = f"{_OF_EVENT}, NULL", f"{_OF_EVENT}, {_PAYLOAD}"

# 1 session: the starts of its calls that have no end, first of those that are filed, then of the latest
UNENDED = f"""
WITH one AS (SELECT id, (id << {schema.SHIFT}) + filed AS filed, (id << {schema.SHIFT}) + {schema.MASK} AS last
  FROM session WHERE name = ?1),
late AS (SELECT e.id, e.call, e.type FROM one JOIN event AS e ON e.id > one.filed AND e.id <= one.last
  WHERE e.call IS NOT NULL)
SELECT {LEAN} FROM (
  SELECT c.id, c.call FROM one JOIN called AS c ON c.sid = one.id AND c.ended = 0
  UNION SELECT id, call FROM late WHERE type = 'call_start'
) AS begun JOIN event AS e ON e.id = begun.id
WHERE NOT EXISTS (SELECT 1 FROM called AS x WHERE x.sid = e.sid AND x.call = begun.call AND x.ended = 1)
  AND begun.call NOT IN (SELECT call FROM late WHERE type = 'call_end') ORDER BY e.id"""

SESSIONS = f"""
SELECT s.name, e.seq, {schema.LAST_SIGN}, e.calls, e.worst, e.ended, (SELECT ts FROM event WHERE id = {schema.FIRST}),
  (SELECT count(*) FROM request WHERE sid = s.id AND {schema.WAITING}), b.data, h.seq, h.ts, h.data
FROM session AS s CROSS JOIN event AS e ON e.id = {schema.LAST}
LEFT JOIN event AS b ON b.id = {schema.LAST_START}
LEFT JOIN event AS h ON h.id = {schema.HALT}"""

REQUESTS = f"""
SELECT r.name, s.name, r.opened, r.resolved, r.delivered, c.id, {schema.LAST_START}
FROM request AS r JOIN session AS s ON s.id = r.sid
JOIN event AS o ON o.id = r.opened
LEFT JOIN event AS c ON c.id = {schema.key_of(0, "json_extract(o.data, '$.call')")}"""
