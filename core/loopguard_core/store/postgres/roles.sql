-- Who may do what in an event store: three roles without a login, to be granted to the logins of people and agents.
--
--   loopguard_agent    appends what an agent says to sessions of its own login, and reads those; decides nothing
--   loopguard_viewer   reads everything, writes nothing
--   loopguard_decider  reads everything, answers requests, grants, halts, resets; changes and removes nothing
--
-- Run it as the owner of the store, who may make roles, once a console or an agent has made the tables. Bringing
-- the store up to date runs it again where it was run before. It changes nothing for the owner, who alone brings
-- the store up to date and prunes it.

BEGIN;

DO $body$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['loopguard_agent', 'loopguard_viewer', 'loopguard_decider'] LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', name);
    END IF;
  END LOOP;
END $body$;

GRANT USAGE ON SCHEMA loopguard TO loopguard_agent, loopguard_viewer, loopguard_decider;
REVOKE ALL ON ALL TABLES IN SCHEMA loopguard FROM PUBLIC, loopguard_agent, loopguard_viewer, loopguard_decider;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA loopguard FROM PUBLIC, loopguard_agent, loopguard_viewer, loopguard_decider;
REVOKE ALL ON FUNCTION loopguard.next_request(bigint)
  FROM PUBLIC, loopguard_agent, loopguard_viewer, loopguard_decider;

-- Everybody: which version this is, who looks on, how far each machine is behind, where the log has got to.
GRANT SELECT ON loopguard.meta, loopguard.session, loopguard.event, loopguard.payload, loopguard.request,
  loopguard.console, loopguard.machine, loopguard.event_at, loopguard.request_n
  TO loopguard_agent, loopguard_viewer, loopguard_decider;

-- Those who write. No row of the log is ever changed or removed by them.
GRANT USAGE ON SEQUENCE loopguard.event_at TO loopguard_agent, loopguard_decider;
GRANT INSERT (session, born) ON loopguard.session TO loopguard_agent, loopguard_decider;
GRANT INSERT ON loopguard.event, loopguard.payload TO loopguard_agent, loopguard_decider;
GRANT INSERT (request, n, session, call, opened) ON loopguard.request TO loopguard_agent, loopguard_decider;
GRANT EXECUTE ON FUNCTION loopguard.next_request(bigint) TO loopguard_agent, loopguard_decider;
GRANT UPDATE (session, call, opened, resolved, resolved_in, delivered, delivered_in)
  ON loopguard.request TO loopguard_agent, loopguard_decider;
GRANT INSERT (host, behind, ts), UPDATE (behind, ts) ON loopguard.machine TO loopguard_agent, loopguard_decider;

-- Deciders only: grants for a request, a console that is attached, the index of the search.
GRANT UPDATE (granted, granted_in) ON loopguard.request TO loopguard_decider;
GRANT INSERT, UPDATE, DELETE ON loopguard.console TO loopguard_decider;
GRANT SELECT, INSERT, UPDATE ON loopguard.search, loopguard.searched TO loopguard_decider;

-- Those who look on. A view shows what its owner sees, so agents get none.
GRANT SELECT ON loopguard.search, loopguard.searched, loopguard.calls, loopguard.payloads, loopguard.events,
  loopguard.sessions, loopguard.requests
  TO loopguard_viewer, loopguard_decider;

-- Which rows of the log: all for viewers and deciders, those of its own sessions for an agent.
DO $body$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['session', 'event', 'payload', 'request', 'machine'] LOOP
    EXECUTE format('ALTER TABLE loopguard.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('DROP POLICY IF EXISTS people_read ON loopguard.%I', name);
    EXECUTE format('DROP POLICY IF EXISTS deciders_write ON loopguard.%I', name);
    EXECUTE format('DROP POLICY IF EXISTS agents_read ON loopguard.%I', name);
    EXECUTE format('DROP POLICY IF EXISTS agents_write ON loopguard.%I', name);
    EXECUTE format('DROP POLICY IF EXISTS agents_answer ON loopguard.%I', name);
    EXECUTE format('DROP POLICY IF EXISTS own ON loopguard.%I', name);
    CONTINUE WHEN name = 'machine';
    EXECUTE format('CREATE POLICY people_read ON loopguard.%I FOR SELECT
      TO loopguard_viewer, loopguard_decider USING (true)', name);
    EXECUTE format('CREATE POLICY deciders_write ON loopguard.%I
      TO loopguard_decider USING (true) WITH CHECK (true)', name);
    IF name <> 'session' THEN
      EXECUTE format('CREATE POLICY agents_read ON loopguard.%1$I FOR SELECT TO loopguard_agent
        USING (EXISTS (SELECT 1 FROM loopguard.session AS s
          WHERE s.session = %1$I.session AND s.owner = current_user))', name);
    END IF;
  END LOOP;
END $body$;

-- Each login speaks for itself, whatever hosts it names.
CREATE POLICY people_read ON loopguard.machine FOR SELECT
  TO loopguard_agent, loopguard_viewer, loopguard_decider USING (true);
CREATE POLICY own ON loopguard.machine TO loopguard_agent, loopguard_decider
  USING (owner = current_user) WITH CHECK (owner = current_user);

CREATE POLICY agents_read ON loopguard.session FOR SELECT TO loopguard_agent USING (owner = current_user);
CREATE POLICY agents_write ON loopguard.session FOR INSERT TO loopguard_agent
  WITH CHECK (owner = current_user);

CREATE POLICY agents_write ON loopguard.payload FOR INSERT TO loopguard_agent
  WITH CHECK (EXISTS (SELECT 1 FROM loopguard.session AS s
    WHERE s.session = payload.session AND s.owner = current_user));

-- What an agent may say. A person's words are not among it: grant, revoke, reset, halt, resume, breakpoint,
-- label; and of the ends of a request only those without an answer.
CREATE POLICY agents_write ON loopguard.event FOR INSERT TO loopguard_agent
  WITH CHECK (
    EXISTS (SELECT 1 FROM loopguard.session AS s
      WHERE s.session = event.session AND s.born = event.born AND s.owner = current_user)
    AND seq BETWEEN 1 AND 9007199254740991 AND (ts IS NULL OR ts BETWEEN -6e10 AND 9e12)
    AND coalesce(tier, 0) BETWEEN 0 AND 3 AND worst BETWEEN 0 AND 3 AND level BETWEEN 0 AND 3
    AND calls >= 0 AND bytes >= 0
    AND (data IS NULL OR json_typeof(data::json) = 'object')
    AND CASE type
      WHEN 'request_resolved' THEN payload IS NULL AND large IS NULL
        AND loopguard.field(data, 'resolution') IN ('expired', 'orphaned', 'cancelled')
      ELSE type IN ('session_start', 'session_end', 'turn_start', 'user_message', 'assistant_text',
        'system_message', 'call', 'call_start', 'call_end', 'request_opened', 'request_delivered', 'usage',
        'gap', 'note')
    END);

-- The number of a new request is one that was drawn, and no name is taken that has yet to be given, or that
-- looks like another one's.
CREATE POLICY agents_write ON loopguard.request FOR INSERT TO loopguard_agent
  WITH CHECK (
    EXISTS (SELECT 1 FROM loopguard.session AS s
      WHERE s.session = request.session AND s.owner = current_user)
    AND n <= (SELECT last_value FROM loopguard.request_n)
    AND CASE WHEN request ~ '^R[0-9]+$' THEN substr(request, 2)::numeric <= n
      ELSE request ~ '^R[A-Z0-9]+(@.*)?$' END);
CREATE POLICY agents_answer ON loopguard.request FOR UPDATE TO loopguard_agent
  USING (EXISTS (SELECT 1 FROM loopguard.session AS s
    WHERE s.session = request.session AND s.owner = current_user))
  WITH CHECK (EXISTS (SELECT 1 FROM loopguard.session AS s
    WHERE s.session = request.session AND s.owner = current_user));

COMMIT;
