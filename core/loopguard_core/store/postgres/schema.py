"""The tables of the PostgreSQL store, and the named steps that bring an older one up to date.

``event`` is the log, ``payload`` holds what is long, once by content in each session. Both are partitioned
by ``born``, the month (``202611``) in which the store first heard of the session: a session lies in one
partition as a whole, so the keys that decide who was first hold although the log is partitioned by time, and
a month whose sessions may all go is dropped as one table. So is ``search``, the full-text index; ``searched``
tells how far it goes. Columns of ``event`` that a row takes from the row
before it are those of the SQLite store, and ``bytes``: what the session weighs up to here.
"""

from __future__ import annotations

from loopguard_core.store.contract import NO_SIGN
from loopguard_core.store.schema import START

#: What holds for a request that waits for a human.
WAITING = "opened IS NOT NULL AND resolved IS NULL"

_TABLES = f"""
CREATE TABLE loopguard.session (
  session text COLLATE "C" PRIMARY KEY,
  born integer NOT NULL
);

CREATE TABLE loopguard.event (
  session text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  born integer NOT NULL,
  ts double precision,
  type text NOT NULL,
  call text COLLATE "C",
  request text COLLATE "C",
  tool text,
  tier smallint,
  calls bigint NOT NULL,
  worst smallint NOT NULL,
  level smallint NOT NULL,
  mark smallint,
  ended boolean NOT NULL,
  bytes bigint NOT NULL,
  data text,
  payload text,
  large bytea,
  at bigint NOT NULL,
  PRIMARY KEY (session, seq, born)
) PARTITION BY LIST (born);
CREATE SEQUENCE loopguard.event_at OWNED BY loopguard.event.at;
ALTER TABLE loopguard.event ALTER COLUMN at SET DEFAULT nextval('loopguard.event_at');
CREATE UNIQUE INDEX event_call ON loopguard.event (session, call, type, born) WHERE call IS NOT NULL;
CREATE INDEX event_mark ON loopguard.event (session, mark, seq) WHERE mark IS NOT NULL;
CREATE TABLE loopguard.event_rest PARTITION OF loopguard.event DEFAULT;

CREATE TABLE loopguard.payload (
  session text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  born integer NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session, digest, born)
) PARTITION BY LIST (born);
CREATE TABLE loopguard.payload_rest PARTITION OF loopguard.payload DEFAULT;

CREATE TABLE loopguard.search (
  session text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  born integer NOT NULL,
  seq bigint NOT NULL,
  again bigint NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (session, digest, born)
) PARTITION BY LIST (born);
CREATE INDEX search_words ON loopguard.search USING gin (words);
CREATE TABLE loopguard.search_rest PARTITION OF loopguard.search DEFAULT;
CREATE TABLE loopguard.searched (session text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL);

CREATE TABLE loopguard.request (
  request text COLLATE "C" PRIMARY KEY,
  n bigint NOT NULL UNIQUE,
  session text COLLATE "C" NOT NULL,
  call text COLLATE "C",
  opened bigint,
  resolved bigint, resolved_in text COLLATE "C",
  delivered bigint, delivered_in text COLLATE "C",
  granted bigint, granted_in text COLLATE "C"
);
CREATE INDEX request_session ON loopguard.request (session, n);
CREATE INDEX request_waiting ON loopguard.request (n) WHERE {WAITING};
CREATE INDEX request_waits_in ON loopguard.request (session) WHERE {WAITING};

CREATE TABLE loopguard.counter (name text PRIMARY KEY, n bigint NOT NULL);
INSERT INTO loopguard.counter (name, n) VALUES ('request', 0);

CREATE TABLE loopguard.console (
  host text NOT NULL,
  pid bigint NOT NULL,
  started text NOT NULL,
  ts double precision NOT NULL,
  heard timestamptz NOT NULL,
  PRIMARY KEY (host, pid)
);

CREATE FUNCTION loopguard.field(document text, VARIADIC path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
  RETURN document::json #>> path;
EXCEPTION WHEN others THEN
  -- what PostgreSQL's text cannot hold: NUL, half a surrogate pair
  RETURN regexp_replace(document, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{{2}})', '\\\\ufffd', 'g')::json #>> path;
END $body$;

CREATE FUNCTION loopguard.shown(ts double precision) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $body$
  SELECT to_char(to_timestamp(ts), 'YYYY-MM-DD HH24:MI:SS.MS')
$body$;

CREATE FUNCTION loopguard.cut(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT CASE WHEN length(value) > 160 THEN left(value, 160) || '…' ELSE value END
$body$;

CREATE FUNCTION loopguard.word(tier integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT CASE tier WHEN 0 THEN 'allow' WHEN 1 THEN 'warn' WHEN 2 THEN 'block' WHEN 3 THEN 'halt' END
$body$;
"""

_PAYLOAD = """coalesce({0}.payload, (SELECT p.text FROM loopguard.payload AS p
    WHERE p.session = {0}.session AND p.digest = {0}.large AND p.born = {0}.born))"""
_ARGS = f"loopguard.field({_PAYLOAD.format('c')}, 'args')"
_RESULT = f"loopguard.field({_PAYLOAD.format('e')}, 'result')"
_CALLS = """
FROM loopguard.event AS c LEFT JOIN loopguard.event AS e
  ON e.session = c.session AND e.born = c.born AND e.call = c.call AND e.type = 'call_end'
WHERE c.type = 'call_start'"""


def _view_of_calls(whole: str, number: str, make: str = "CREATE") -> str:
    """The view ``calls``, where *whole* and *number* read a number from a text."""
    count = whole.format("loopguard.field(c.data, 'verdict', 'count')")
    seconds = number.format("loopguard.field(e.data, 'duration')")
    return f"""{make} VIEW loopguard.calls AS
SELECT c.session, c.calls AS number, loopguard.shown(c.ts) AS time, c.tool,
  loopguard.cut({_ARGS}) AS args,
  coalesce(loopguard.field(e.data, 'outcome'), 'pending') AS outcome,
  CASE WHEN coalesce(loopguard.field(c.data, 'verdict'), loopguard.field(e.data, 'verdict')) IS NOT NULL
    THEN loopguard.word(greatest(c.tier, e.tier)) END AS tier,
  {count} AS count,
  coalesce(loopguard.field(e.data, 'verdict', 'reason'), loopguard.field(c.data, 'verdict', 'reason'))
    AS reason,
  {seconds} AS seconds,
  loopguard.cut({_RESULT}) AS result, c.call{_CALLS};"""


def _view_of_sessions(more: str, make: str = "CREATE") -> str:
    """The view ``sessions``, with *more* columns."""
    return f"""{make} VIEW loopguard.sessions AS
SELECT s.session, loopguard.field(b.data, 'agent') AS agent, loopguard.shown(f.ts) AS started,
  loopguard.shown(a.ts) AS last, l.calls,
  CASE WHEN l.worst > 0 OR loopguard.field(b.data, 'policy') <> '' THEN loopguard.word(l.worst) END AS worst,
  (SELECT count(*) FROM loopguard.request AS r WHERE r.session = s.session AND {WAITING}) AS waiting,
  l.ended, l.seq AS events, loopguard.field(b.data, 'cwd') AS cwd,
  loopguard.field(b.data, 'host') AS host{more}
FROM loopguard.session AS s
CROSS JOIN LATERAL (SELECT * FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born ORDER BY seq DESC LIMIT 1) AS l
CROSS JOIN LATERAL (SELECT ts FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born ORDER BY seq LIMIT 1) AS f
LEFT JOIN LATERAL (SELECT ts FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.type NOT IN {NO_SIGN}
  ORDER BY seq DESC LIMIT 1) AS a ON true
LEFT JOIN LATERAL (SELECT data FROM loopguard.event AS e
  WHERE e.session = s.session AND e.born = s.born AND e.mark = {START} ORDER BY seq DESC LIMIT 1) AS b
  ON true;"""


_VIEWS = f"""
{_view_of_calls("{0}::bigint", "{0}::double precision")}

CREATE VIEW loopguard.payloads AS
SELECT c.session, c.calls AS number, c.tool, {_ARGS} AS args, {_RESULT} AS result, c.call{_CALLS};

CREATE VIEW loopguard.events AS
SELECT c.session, c.seq, loopguard.shown(c.ts) AS time, c.type, c.call, c.request, c.tool, c.data,
  loopguard.cut({_PAYLOAD.format("c")}) AS payload
FROM loopguard.event AS c;

{_view_of_sessions("")}

CREATE VIEW loopguard.requests AS
SELECT r.request, r.session, loopguard.shown(o.ts) AS opened, c.tool,
  loopguard.field(o.data, 'tier') AS tier,
  coalesce(loopguard.field(d.data, 'resolution'), 'pending') AS resolution,
  loopguard.field(d.data, 'by') AS by, loopguard.field(d.data, 'note') AS note,
  loopguard.shown(d.ts) AS resolved, r.delivered IS NOT NULL AS delivered,
  loopguard.field({_PAYLOAD.format("c")}, 'args') AS args
FROM loopguard.request AS r
JOIN loopguard.event AS o ON o.session = r.session AND o.seq = r.opened
LEFT JOIN loopguard.event AS d ON d.session = r.resolved_in AND d.seq = r.resolved
LEFT JOIN loopguard.event AS c ON c.session = o.session AND c.born = o.born
  AND c.call = r.call AND c.type = 'call_start';
"""

_MACHINES = """
CREATE TABLE loopguard.machine (
  host text PRIMARY KEY,
  behind bigint NOT NULL,
  ts double precision NOT NULL
);
"""

# A session belongs to the role that wrote its first event: roles.sql shows an agent no other ones. And where
# a request points to for its answer, that answer must stand, whoever points. It is looked at when the
# transaction ends, since the request is claimed before the event is written.
_OWNERS = """
ALTER TABLE loopguard.session ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT current_user;

CREATE FUNCTION loopguard.check_request() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  kind text; before bigint; place bigint; home text;
BEGIN
  FOR kind, before, place, home IN VALUES
    ('request_opened', OLD.opened, NEW.opened, NEW.session),
    ('request_resolved', OLD.resolved, NEW.resolved, NEW.resolved_in),
    ('request_delivered', OLD.delivered, NEW.delivered, NEW.delivered_in),
    ('grant', OLD.granted, NEW.granted, NEW.granted_in)
  LOOP
    IF before IS NOT NULL AND place IS DISTINCT FROM before THEN
      RAISE EXCEPTION 'what is written of the request % stays: %', NEW.request, kind
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF before IS NULL AND place IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM loopguard.event AS e
      WHERE e.session = home AND e.seq = place AND e.type = kind AND e.request = NEW.request
    ) THEN
      RAISE EXCEPTION 'no % of the request % stands there', kind, NEW.request
        USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
  RETURN NULL;
END $body$;

CREATE CONSTRAINT TRIGGER check_request AFTER UPDATE ON loopguard.request
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION loopguard.check_request();
"""

# Row-level security asks ``field``, so what it says must not hang on the search path of who asks: everything
# in it is named in full. A request goes on to be about the call, and in the session, for which it was opened.
# And a time that no calendar has is none.
_FIRM = f"""
CREATE OR REPLACE FUNCTION loopguard.field(document text, VARIADIC path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
  RETURN document::pg_catalog.json OPERATOR(pg_catalog.#>>) path;
EXCEPTION WHEN others THEN
  -- what PostgreSQL's text cannot hold: NUL, half a surrogate pair
  RETURN pg_catalog.regexp_replace(
    document, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{{2}})', '\\\\ufffd', 'g'
  )::pg_catalog.json OPERATOR(pg_catalog.#>>) path;
END $body$;

CREATE OR REPLACE FUNCTION loopguard.shown(ts double precision) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $body$
  SELECT CASE WHEN ts BETWEEN -6e10 AND 9e12 THEN to_char(to_timestamp(ts), 'YYYY-MM-DD HH24:MI:SS.MS') END
$body$;

CREATE FUNCTION loopguard.stays() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  RAISE EXCEPTION 'what is written of the request % stays: its call', NEW.request
    USING ERRCODE = 'insufficient_privilege';
END $body$;

CREATE TRIGGER same_call BEFORE UPDATE ON loopguard.request FOR EACH ROW
WHEN (OLD.opened IS NOT NULL AND (NEW.session, NEW.call) IS DISTINCT FROM (OLD.session, OLD.call))
EXECUTE FUNCTION loopguard.stays();

CREATE FUNCTION loopguard.check_counter() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF row_security_active('loopguard.request')
    AND (NEW.n <= OLD.n OR NEW.n > greatest(OLD.n + 1, {10**10 - 1})) THEN
    RAISE EXCEPTION 'the numbers of requests only grow' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $body$;

CREATE TRIGGER check_counter BEFORE UPDATE ON loopguard.counter
FOR EACH ROW EXECUTE FUNCTION loopguard.check_counter();
"""

# A counter in a row is held until its transaction ends, so that all who ask at once stand in line for it; a
# sequence is not. A name that was given elsewhere is passed by for good; where two who bring such names are
# so close that a number is drawn twice, the keys of ``request`` let only one have it. Numbers are passed by for those
# alone who may decide, since an agent could use them up. The request is opened by the statement that writes its event,
# so it is looked at as one that is changed.
_UNHURRIED = f"""
CREATE SEQUENCE loopguard.request_n;
SELECT setval('loopguard.request_n', greatest(n, 1), n > 0) FROM loopguard.counter;
DROP TABLE loopguard.counter CASCADE;
DROP FUNCTION loopguard.check_counter();

CREATE FUNCTION loopguard.next_request(given bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  drawn bigint := nextval('loopguard.request_n');
BEGIN
  IF drawn < given AND given < {10**10}
    AND has_column_privilege(session_user, 'loopguard.request', 'granted', 'UPDATE') THEN
    LOCK TABLE loopguard.meta IN SHARE ROW EXCLUSIVE MODE; -- an advisory lock could be anybody's
    IF (SELECT last_value FROM loopguard.request_n) < given THEN
      RETURN setval('loopguard.request_n', given);
    END IF;
    drawn := nextval('loopguard.request_n');
  END IF;
  RETURN drawn;
END $body$;

CREATE CONSTRAINT TRIGGER check_new_request AFTER INSERT ON loopguard.request
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.opened IS NOT NULL)
EXECUTE FUNCTION loopguard.check_request();
"""

_LATEST_VIEWS = f"""
{_view_of_calls("loopguard.whole({0})", "loopguard.number({0})", "CREATE OR REPLACE")}
{_view_of_sessions(", loopguard.field(b.data, 'user') AS run_by", "CREATE OR REPLACE")}
"""

# A row may say anything, as far as the server is concerned: what is no JSON, or no number, shows nothing, and
# keeps nobody from the other rows. And what one login says of a host is no other login's to change.
_CALM = f"""
CREATE OR REPLACE FUNCTION loopguard.field(document text, VARIADIC path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
  RETURN document::pg_catalog.json OPERATOR(pg_catalog.#>>) path;
EXCEPTION WHEN others THEN
  BEGIN
    -- what PostgreSQL's text cannot hold: NUL, half a surrogate pair
    RETURN pg_catalog.regexp_replace(
      document, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{{2}})', '\\\\ufffd', 'g'
    )::pg_catalog.json OPERATOR(pg_catalog.#>>) path;
  EXCEPTION WHEN others THEN
    RETURN NULL;
  END;
END $body$;

CREATE FUNCTION loopguard.whole(value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT CASE WHEN value ~ '^-?[0-9]{{1,18}}$' THEN value::bigint END
$body$;

CREATE FUNCTION loopguard.number(value text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT CASE WHEN value ~ '^-?[0-9]{{1,18}}([.][0-9]{{1,40}})?([eE][-+]?[0-9]{{1,2}})?$'
    THEN value::double precision END
$body$;

{_LATEST_VIEWS}

DELETE FROM loopguard.machine;
ALTER TABLE loopguard.machine ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT current_user,
  DROP CONSTRAINT machine_pkey, ADD PRIMARY KEY (host, owner);
"""

#: The steps in order; a store's version is the number of those it has seen.
STEPS: tuple[tuple[str, str], ...] = (
    ("the first tables", _TABLES + _VIEWS),
    ("how far each machine is behind", _MACHINES),
    ("whose a session is, and what a request may point to", _OWNERS),
    ("what no search path changes, and what a request stays about", _FIRM),
    ("numbers of requests that nobody waits for", _UNHURRIED),
    ("what a row may say, and who speaks for a machine", _CALM),
    ("what no guard has judged has no tier", _LATEST_VIEWS),
)
#: The schema that this version writes.
VERSION = len(STEPS)
