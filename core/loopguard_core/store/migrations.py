"""The tables of the SQLite store, and the named steps that bring an older file up to date."""

from __future__ import annotations

from loopguard_core.store.schema import (
    APPLICATION_ID,
    FIRST,
    LAST,
    LAST_SIGN,
    LAST_START,
    MASK,
    VERSION,
    WAITING,
    key_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_TABLES = f"""
CREATE TABLE session (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE payload (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL
);

CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  seq INTEGER GENERATED ALWAYS AS (id & {MASK}) VIRTUAL,
  sid INTEGER NOT NULL,
  ts REAL,
  type TEXT NOT NULL,
  call TEXT,
  request TEXT,
  tool TEXT,
  tier INTEGER,
  calls INTEGER NOT NULL,
  worst INTEGER NOT NULL,
  level INTEGER NOT NULL,
  mark INTEGER,
  ended INTEGER NOT NULL,
  data TEXT,
  large INTEGER,
  payload TEXT
);
CREATE UNIQUE INDEX event_call ON event (sid, call, type) WHERE call IS NOT NULL;
CREATE UNIQUE INDEX event_request ON event (request, type) WHERE request IS NOT NULL;
CREATE INDEX event_large ON event (large) WHERE large IS NOT NULL;
CREATE INDEX event_mark ON event (sid, mark) WHERE mark IS NOT NULL;

CREATE TABLE request (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  sid INTEGER NOT NULL,
  opened INTEGER,
  resolved INTEGER,
  delivered INTEGER,
  granted INTEGER
);
CREATE INDEX request_session ON request (sid, n);
CREATE INDEX request_pending ON request (n) WHERE {WAITING};

CREATE TABLE console (
  pid INTEGER PRIMARY KEY,
  started TEXT NOT NULL,
  ts REAL NOT NULL
);
"""

_WORD = "CASE {0} WHEN 0 THEN 'allow' WHEN 1 THEN 'warn' WHEN 2 THEN 'block' WHEN 3 THEN 'halt' END"
_TIME = "strftime('%Y-%m-%d %H:%M:%f', {0}, 'unixepoch', 'localtime')"
_PAYLOAD = "coalesce({0}.payload, (SELECT text FROM payload WHERE id = {0}.large))"

#: Characters of arguments and results that a list of calls shows; the view ``payloads`` has all of them.
_SHORT = 160
_ARGS = f"json_extract({_PAYLOAD.format('c')}, '$.args')"
_RESULT = f"json_extract({_PAYLOAD.format('e')}, '$.result')"
_CUT = f"CASE WHEN length({{0}}) > {_SHORT} THEN substr({{0}}, 1, {_SHORT}) || '…' ELSE {{0}} END"


def _calls_views(start: str, end: str) -> str:
    """The views that pair a call's start with its end, by what joins them."""
    calls = f"""
FROM event AS c JOIN session AS s ON s.id = c.sid
LEFT JOIN event AS e ON {end}
WHERE c.type = 'call_start';"""
    return f"""
CREATE VIEW calls AS
SELECT s.name AS session, c.calls AS number, {_TIME.format("c.ts")} AS time, c.tool AS tool,
  {_CUT.format(_ARGS)} AS args,
  coalesce(json_extract(e.data, '$.outcome'), 'pending') AS outcome,
  CASE WHEN coalesce(json_extract(c.data, '$.verdict'), json_extract(e.data, '$.verdict')) IS NOT NULL
    THEN {_WORD.format("max(coalesce(c.tier, 0), coalesce(e.tier, 0))")} END AS tier,
  json_extract(c.data, '$.verdict.count') AS count,
  coalesce(json_extract(e.data, '$.verdict.reason'), json_extract(c.data, '$.verdict.reason')) AS reason,
  json_extract(e.data, '$.duration') AS seconds,
  {_CUT.format(_RESULT)} AS result,
  c.call AS call{calls}

CREATE VIEW payloads AS
SELECT s.name AS session, c.calls AS number, c.tool AS tool, {_ARGS} AS args, {_RESULT} AS result,
  c.call AS call{calls}

CREATE VIEW requests AS
SELECT r.name AS request, s.name AS session, {_TIME.format("o.ts")} AS opened, c.tool AS tool,
  json_extract(o.data, '$.tier') AS tier,
  coalesce(json_extract(d.data, '$.resolution'), 'pending') AS resolution,
  json_extract(d.data, '$.by') AS by, json_extract(d.data, '$.note') AS note,
  {_TIME.format("d.ts")} AS resolved, r.delivered IS NOT NULL AS delivered,
  json_extract({_PAYLOAD.format("c")}, '$.args') AS args
FROM request AS r JOIN session AS s ON s.id = r.sid
JOIN event AS o ON o.id = r.opened
LEFT JOIN event AS d ON d.id = r.resolved
LEFT JOIN event AS c ON {start};
"""


_OPENED = "json_extract(o.data, '$.call')"
_BY_INDEX = _calls_views(
    f"c.sid = r.sid AND c.call = {_OPENED} AND c.type = 'call_start'",
    "e.sid = c.sid AND e.call = c.call AND e.type = 'call_end'",
)
_BY_TABLE = _calls_views(f"c.id = {key_of(0, _OPENED)}", f"e.id = {key_of(1, 'c.call')}")


def _view_of_sessions(more: str) -> str:
    """The view ``sessions``, with *more* columns."""
    return f"""CREATE VIEW sessions AS
SELECT s.name AS session, json_extract(b.data, '$.agent') AS agent,
  {_TIME.format("f.ts")} AS started, {_TIME.format(LAST_SIGN)} AS last, l.calls AS calls,
  CASE WHEN l.worst > 0 OR json_extract(b.data, '$.policy') <> '' THEN {_WORD.format("l.worst")} END AS worst,
  (SELECT count(*) FROM request AS r WHERE r.sid = s.id AND {WAITING}) AS waiting,
  l.ended AS ended, l.seq AS events, json_extract(b.data, '$.cwd') AS cwd{more}
FROM session AS s
CROSS JOIN event AS l ON l.id = {LAST}
CROSS JOIN event AS f ON f.id = {FIRST}
LEFT JOIN event AS b ON b.id = {LAST_START};"""


_VIEWS = f"""
CREATE VIEW events AS
SELECT s.name AS session, c.seq AS seq, {_TIME.format("c.ts")} AS time, c.type AS type,
  c.call AS call, c.request AS request, c.tool AS tool, c.data AS data,
  {_CUT.format(_PAYLOAD.format("c"))} AS payload
FROM event AS c JOIN session AS s ON s.id = c.sid;

{_view_of_sessions("")}
"""

_CALLED = f"""
CREATE TABLE called (
  sid INTEGER NOT NULL,
  call TEXT NOT NULL,
  ended INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (sid, call, ended)
) WITHOUT ROWID;
INSERT INTO called (sid, call, ended, id)
  SELECT sid, call, type = 'call_end', id FROM event WHERE call IS NOT NULL ORDER BY sid, call, type;
ALTER TABLE session ADD COLUMN filed INTEGER NOT NULL DEFAULT 0;
UPDATE session AS s SET filed = coalesce({LAST} & {MASK}, 0);
DROP INDEX event_call;
DROP VIEW calls;
DROP VIEW payloads;
DROP VIEW requests;
"""

_WHOSE = f"""
DROP VIEW sessions;
{_view_of_sessions(", json_extract(b.data, '$.host') AS host, json_extract(b.data, '$.user') AS run_by")}
"""

# The text of the views is the latest in every step: this one is for files that had them before.
_UNJUDGED = f"""
DROP VIEW calls;
DROP VIEW payloads;
DROP VIEW requests;
{_BY_TABLE}
{_WHOSE}
"""

#: The steps in order; a file's ``user_version`` is the number of those it has seen.
STEPS: tuple[tuple[str, str], ...] = (
    ("the first tables", _TABLES + _VIEWS + _BY_INDEX),
    ("calls are found by a table that no append has to write", _CALLED + _BY_TABLE),
    ("whose a session is", _WHOSE),
    ("what no guard has judged has no tier", _UNJUDGED),
)


def migrate(db: sqlite3.Connection) -> list[str]:
    """Bring the file up to ``VERSION``; the names of the steps taken. One transaction in all."""
    if version_of(db) >= VERSION:
        return []
    db.execute("BEGIN IMMEDIATE")
    try:
        done = version_of(db)
        for _, script in STEPS[done:]:
            for statement in _statements(script):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return [name for name, _ in STEPS[done:]]


def _statements(script: str) -> list[str]:
    """The statements of a script. ``executescript`` would end the transaction."""
    out: list[str] = []
    block = ""
    for line in script.splitlines():
        block += line + "\n"
        if line.endswith(";"):
            out.append(block)
            block = ""
    return out
