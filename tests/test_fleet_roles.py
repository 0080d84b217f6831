"""Roles of a database: an agent records and decides nothing, a viewer looks on, a decider answers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import pytest

import postgres
from loopguard_console.feed import Batch, Feed
from loopguard_core import escape, inbox
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.processes import started
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from processes import environment

pytestmark = postgres.needs
GROUPS = ("agent", "viewer", "decider")


class Site:
    """A store with its roles, and a login of each: ``agent``, ``other`` (an agent too), ``viewer``, ``decider``."""

    def __init__(self) -> None:
        self.owner = postgres.server().database()
        self.name = self.owner.rpartition("/")[2]
        open_store(self.owner).close()
        for _ in range(2):  # it may be run again
            self.run(files("loopguard_core.store.postgres").joinpath("roles.sql").read_text())
        for login, group in (*zip(GROUPS, GROUPS, strict=True), ("other", "agent")):
            self.run(f'CREATE ROLE "{self.login(login)}" LOGIN IN ROLE loopguard_{group}')
        self.own = f"own_{self.name}"
        self.run(f'CREATE SCHEMA {self.own} AUTHORIZATION "{self.login("agent")}"')

    def login(self, who: str) -> str:
        return f"{who}_{self.name}"

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return postgres.server().run(sql, self.name)

    def url(self, who: str) -> str:
        return self.owner.replace(f"//{postgres.USER}@", f"//{self.login(who)}@")

    def store(self, who: str, **options: Any) -> Store:
        return open_store(self.url(who), **options)

    def raw(self, who: str, *statements: str) -> None:
        """*statements* in one transaction, as somebody may send them who does not use our programs."""
        import psycopg

        with psycopg.connect(self.url(who)) as db:
            for statement in statements:
                db.execute(statement.encode())


@pytest.fixture(scope="module")
def site() -> Site:
    return Site()


def ask(store: Store, session: str, call: str = "c1") -> str:
    """A request that waits; its id."""
    start = {"call": call, "tool": "bash", "args": {"command": "ls"}}
    store.append(Event("call_start", session, data=start))
    me = {"pid": os.getpid(), "pid_started": started(os.getpid()), "host": os.uname().nodename}
    opened = Event("request_opened", session, data={"call": call, "tier": "block", **me})
    store.append(opened)
    return opened.text("request")


def test_an_agent_works_as_ever_and_another_user_lets_it_go(site: Site) -> None:
    config = Config(
        {"policy": "graded", "store": site.url("agent"), "unattended_wait_seconds": 30.0}
    )
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "request=" in line:
            name = line.partition("request=")[2].partition(":")[0]
            store = site.store("decider", create=False)
            escape.approve(store, name, by="you@desk", note="go on")
            store.close()

    with LiveSession(config, "works", say=say) as live:
        live.turn("find it")
        for _ in range(3):
            decision = live.before("search", {"q": 1})
            assert decision.run, decision.message
            live.after(decision, "nothing " * 1000)
    assert any("request=" in line for line in said)
    seen = site.store("viewer", create=False, read_only=True)
    assert [e.type for e in seen.read("works")].count("call_end") == 3
    asked = seen.requests(session="works")[0]
    assert (asked.resolution, asked.by, asked.delivered) == ("approved", "you@desk", True)
    seen.close()


DECISIONS: dict[str, Callable[[Store, str, str], object]] = {
    "approve": lambda store, asked, _: escape.approve(store, asked, by="me"),
    "deny": lambda store, asked, _: escape.deny(store, asked, by="me"),
    "override": lambda store, _, session: escape.override(
        store, session=session, scope="session", by="me"
    ),
    "reset": lambda store, _, session: escape.reset(
        store, session=session, scope="session", by="me"
    ),
    "halt": lambda store, _, session: escape.halt(store, session=session, by="me"),
    "resume": lambda store, _, session: escape.resume(store, session, by="me"),
}


@pytest.mark.parametrize("what", DECISIONS)
@pytest.mark.parametrize("who", ["agent", "viewer"])
def test_only_a_decider_decides(site: Site, who: str, what: str) -> None:
    session = f"{who}-{what}"
    agent = site.store("agent")
    asked = ask(agent, session)
    decider = site.store("decider", create=False)
    if what == "resume":
        escape.halt(decider, session=session)
    before = agent.read(session)
    store = site.store(who, create=False)
    with pytest.raises(StoreError, match="does not allow this user"):
        DECISIONS[what](store, asked, session)
    assert agent.read(session) == before
    DECISIONS[what](decider, asked, session)
    assert len(agent.read(session)) > len(before)
    for opened in (agent, store, decider):
        opened.close()


def _event(session: str, type: str, data: str, *, seq: str = "", payload: str = "NULL") -> str:
    """An insert by hand after the session's last row."""
    number = seq or f"(SELECT max(seq) + 1 FROM loopguard.event WHERE session = '{session}')"
    born = f"(SELECT born FROM loopguard.session WHERE session = '{session}')"
    return f"""INSERT INTO loopguard.event (session, seq, born, type, request, calls, worst, level, ended,
      bytes, data, payload) VALUES ('{session}', {number}, {born}, '{type}', 'R{{n}}', 1, 0, 0, false, 0,
      '{data}', {payload})"""


REFUSED = "permission denied|row-level security|must be owner|of the request|type json"
FORGERIES = {
    "an approval": ['EVENT request_resolved {"resolution":"approved"}'],
    "an approval spelled otherwise": ['EVENT request_resolved {"resol\\u0075tion":"approved"}'],
    "an approval said twice": [
        'EVENT request_resolved {"resolution":"expired","resolution":"approved"}'
    ],
    "an approval where texts stand": [
        'EVENT request_resolved {"resolution":"expired"} {"resolution":"approved"}'
    ],
    "no JSON that a database reads": ['EVENT request_resolved {"a":NaN,"resolution":"expired"}'],
    "a grant": ['EVENT grant {"grant":"G1","scope":"session"}'],
    "a type of no version": ["EVENT permission {}"],
    "an answer of another request": [
        "UPDATE loopguard.request SET resolved = 1, resolved_in = '{session}' WHERE request = '{asked}'"
    ],
    "another answer than given": [
        "UPDATE loopguard.event SET data = '{{}}' WHERE session = '{session}'"
    ],
    "a row less": ["DELETE FROM loopguard.event WHERE session = '{session}'"],
    "a request less": ["DELETE FROM loopguard.request WHERE request = '{asked}'"],
    "a session of somebody else": [
        "INSERT INTO loopguard.session (session, born, owner) VALUES ('x', 1, 'somebody')"
    ],
    "the roles undone": ["ALTER TABLE loopguard.event DISABLE ROW LEVEL SECURITY"],
    "an operator of its own": [
        "CREATE FUNCTION {own}.f(json, text[]) RETURNS text LANGUAGE sql IMMUTABLE AS "
        "$$SELECT 'expired'::text$$",
        "CREATE OPERATOR {own}.#>> (leftarg = json, rightarg = text[], function = {own}.f)",
        "SET search_path = {own}, pg_catalog",
        'EVENT request_resolved {"resolution":"approved"}',
    ],
    "a request that was never asked": [
        "INSERT INTO loopguard.request (request, n, session, call, opened) VALUES "
        "('mine', loopguard.next_request(0), '{session}', 'c1', 1)"
    ],
    "another call than was asked about": [
        "UPDATE loopguard.request SET call = 'other' WHERE request = '{asked}'"
    ],
    "numbers used up": ["SELECT setval('loopguard.request_n', 9223372036854775807)"],
    "numbers given again": ["SELECT setval('loopguard.request_n', 1)"],
    "a name that somebody else will need": [
        "INSERT INTO loopguard.request (request, n, session) VALUES "
        "('R' || (SELECT last_value + 1 FROM loopguard.request_n), "
        "(SELECT last_value FROM loopguard.request_n), '{session}')"
    ],
    "a number that somebody else will need": [
        "INSERT INTO loopguard.request (request, n, session) VALUES "
        "('mine', (SELECT last_value + 1 FROM loopguard.request_n), '{session}')"
    ],
    "words that nobody can read": ["EVENT note mine"],
    "words that are no fields": ["EVENT note [1]"],
    "a month itself": ["INSERT INTO loopguard.event_rest SELECT * FROM loopguard.event"],
}


@pytest.mark.parametrize("what", FORGERIES)
def test_no_statement_of_an_agents_own_decides(site: Site, what: str) -> None:
    import psycopg

    session = f"forged-{what}"
    agent = site.store("agent")
    asked = ask(agent, session)
    statements = []
    honest = _event(session, "note", '{"text":"x"}').replace("R{n}", asked)
    site.raw("agent", honest)  # so it is not the statement's form
    for said in FORGERIES[what]:
        if said.startswith("EVENT "):
            kind, _, rest = said.removeprefix("EVENT ").partition(" ")
            data, _, payload = rest.partition(" ")
            made = _event(session, kind, data, payload=f"'{payload}'" if payload else "NULL")
            statements.append(made.replace("R{n}", asked))
        else:
            statements.append(said.format(session=session, asked=asked, own=site.own))
    with pytest.raises(psycopg.Error, match=REFUSED):
        site.raw("agent", *statements)
    request = agent.request(asked)
    assert request is not None
    assert request.resolution == ""
    agent.close()


def test_an_agent_may_end_a_request_that_nobody_answered(site: Site) -> None:
    agent = site.store("agent")
    for resolution in ("expired", "orphaned", "cancelled"):
        asked = ask(agent, f"ends-{resolution}")
        data = {"request": asked, "resolution": resolution}
        agent.append(Event("request_resolved", f"ends-{resolution}", data=data))
        found = agent.request(asked)
        assert found is not None
        assert found.resolution == resolution
    agent.close()


def test_an_old_answer_does_not_serve_again(site: Site) -> None:
    import psycopg

    agent, decider = site.store("agent"), site.store("decider", create=False)
    first = ask(agent, "again", "c1")
    escape.approve(decider, first, by="you")
    second = ask(agent, "again", "c2")
    for place in (agent.last("again") - 2, 3):
        with pytest.raises(psycopg.Error, match=REFUSED):
            site.raw(
                "agent",
                f"UPDATE loopguard.request SET resolved = {place}, resolved_in = 'again' "
                f"WHERE request = '{second}'",
            )
    found = agent.request(second)
    assert found is not None
    assert found.resolution == ""
    agent.close()
    decider.close()


def test_an_agent_is_shown_its_own_sessions_only(site: Site) -> None:
    agent, other = site.store("agent"), site.store("other")
    asked = ask(agent, "mine")
    agent.append(Event("note", "mine", data={"text": "long " * 1000}))
    assert not [s for s in other.sessions() if s.session == "mine"]
    assert other.read("mine") == []
    assert other.request(asked) is None
    assert other.session("mine") is None
    with pytest.raises(StoreError, match="of another user"):
        other.append(Event("note", "mine"))
    assert len(agent.read("mine")) == 3
    for view in ("calls", "payloads", "events", "sessions", "requests"):
        with pytest.raises(Exception, match="permission denied"):
            site.raw("other", f"SELECT * FROM loopguard.{view}")
    agent.close()
    other.close()


def test_a_viewer_is_told_in_one_line(site: Site) -> None:
    agent = site.store("agent")
    asked = ask(agent, "looked-at")

    def run(who: str, *words: str) -> subprocess.CompletedProcess[str]:
        env = environment(LOOPGUARD_STORE=site.url(who), LOOPGUARD_SESSION="")
        env = {name: value for name, value in env.items() if name != "LOOPGUARD_SESSION"}
        argv = [sys.executable, "-m", "loopguard_console", *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    shown = run("viewer", "pending")
    assert shown.returncode == 0, shown.stderr
    assert asked in shown.stdout
    for words in (("approve", asked), ("halt", "looked-at")):
        refused = run("viewer", *words)
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert "does not allow this user" in refused.stderr
    assert run("viewer", "query", "select tool from calls limit 1").returncode == 0
    assert run("decider", "approve", asked).returncode == 0
    agent.close()


def test_a_viewer_is_shown_nothing_of_the_dead_and_leaves_them_to_others(site: Site) -> None:
    agent, viewer = site.store("agent"), site.store("viewer", create=False)
    agent.append(Event("call_start", "dead", data={"call": "c1", "tool": "bash", "args": {}}))
    gone = {"call": "c1", "tier": "block", "pid": 2**22 + 1, "pid_started": "1"}
    opened = Event("request_opened", "dead", data=gone)
    agent.append(opened)
    assert opened.text("request") not in [asked.request for asked in inbox.waiting(viewer)]
    assert opened.text("request") in [asked.request for asked in viewer.requests(pending=True)]
    decider = site.store("decider", create=False)
    assert opened.text("request") not in [asked.request for asked in inbox.waiting(decider)]
    assert opened.text("request") not in [asked.request for asked in viewer.requests(pending=True)]
    for store in (agent, viewer, decider):
        store.close()


def test_a_feed_of_a_viewer_says_that_it_may_only_look(site: Site) -> None:
    agent = site.store("agent")
    ask(agent, "seen")
    agent.close()
    batches: list[Batch] = []
    for who, denied in (("viewer", True), ("decider", False)):
        came = threading.Event()
        batches.clear()

        def post(batch: Batch, came: threading.Event = came) -> None:
            batches.append(batch)
            came.set()

        feed = Feed(partial(site.store, who, create=False), post, host="here")
        feed.start()
        assert came.wait(30)
        feed.stop()
        feed.join(30)
        assert (batches[0].error, batches[0].denied) == ("", denied)
        assert "seen" in [s.session for s in batches[0].sessions]


def test_a_console_of_a_viewer_is_nobody_who_answers(site: Site) -> None:
    viewer, decider = site.store("viewer", create=False), site.store("decider", create=False)
    with pytest.raises(StoreError, match="does not allow this user"):
        viewer.beat(0.0)
    viewer.tidy()  # never raises
    decider.beat(time.time())
    agent = site.store("agent")
    assert os.getpid() in agent.attached(time.time())
    for store in (viewer, decider, agent):
        store.close()
