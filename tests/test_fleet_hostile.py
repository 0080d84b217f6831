"""What an agent's login can do to the people who look on: nothing that keeps them from it."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot

import postgres
from driving import drive
from loopguard_console.app import ConsoleApp
from loopguard_console.cli import cli
from loopguard_console.errors import Failure, Refused
from loopguard_console.opening import live_app
from loopguard_core import escape
from loopguard_core.events import TYPES, Event
from loopguard_core.inside import inside_agent
from loopguard_core.processes import started
from loopguard_core.store.contract import Store, StoreError, Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore
from loopguard_core.store.search import open_index
from test_fleet_roles import Site, ask

LOOKS: tuple[tuple[str, ...], ...] = (
    ("sessions", "--all"),
    ("sessions", "--all", "--json"),
    ("pending",),
    ("pending", "--json"),
    ("status",),
    ("grants",),
    ("search", "x"),
    ("show", "s"),
    ("show", "s", "--json"),
    ("export", "s"),
    ("query", "select * from sessions"),
    ("query", "select * from requests"),
)
FIELDS = (
    *(
        "call",
        "tool",
        "args",
        "message",
        "ids",
        "verdict",
        "outcome",
        "result",
        "duration",
        "request",
    ),
    *(
        "tier",
        "signature",
        "cause",
        "deadline",
        "late_until",
        "pid",
        "pid_started",
        "host",
        "parent",
    ),
    *(
        "resolution",
        "by",
        "grant",
        "scope",
        "key",
        "budget",
        "expires",
        "count",
        "input",
        "cost_usd",
    ),
    *(
        "text",
        "name",
        "agent",
        "human",
        "host_spans",
        "last",
        "dt",
        "cut",
        "traits",
        "policy",
        "reason",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        3,
        10**40,
        10**400,
        1.5,
        1e300,
        "",
        "x",
        "c",
        "R1",
        "block",
        "ok",
        "approved",
    ),
    *("session", "\0", "\x1b[31m", "\ud800", [], [[]], [[0, 1]], {}, {"a": 1}, {"exact": 7}),
    *({"progress": {}}, {"tier": 7}, {"tier": "halt", "signature": 5, "count": "x", "reason": {}}),
)
TIMES = (None, 1.0, 1.8e9, float("inf"), float("-inf"), float("nan"), 1e300, -1e300)


def looked_at(place: str, *command: str) -> str:
    done = CliRunner().invoke(cli, ["--store", place, *command])
    if done.exception is not None and not isinstance(
        done.exception, (SystemExit, Refused, Failure)
    ):
        raise AssertionError(f"{command} broke") from done.exception
    return done.output


def write_anything(store: Store, session: str, draw: random.Random) -> None:
    """A session of rows that no program of ours makes."""
    store.append(Event("session_start", session, ts=1.8e9))
    for _ in range(12):
        kind = draw.choice((*TYPES, "call_start", "call_end"))
        fields = (*draw.sample(FIELDS, draw.randrange(9)), *TYPES[kind])
        said = {name: draw.choice(VALUES) for name in fields if draw.random() < 0.9}
        with suppress(Taken):
            store.append(Event(kind, session, ts=draw.choice(TIMES), data=said))


@pytest.mark.parametrize("seed", range(12))
def test_no_row_keeps_people_from_looking(tmp_path: Path, seed: int) -> None:
    place = str(tmp_path / "store.db")
    with closing(open_store(place)) as store:
        write_anything(store, "s", random.Random(seed))
    for command in LOOKS:
        looked_at(place, *command)


@pytest.mark.slow
def test_no_row_breaks_the_console(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    with closing(open_store(place)) as store:
        for n in range(8):
            write_anything(store, f"s{n}", random.Random(n))
        for n, ts in enumerate((1.8e9, float("inf"), 1.7e9, 1.7e18, 1.8e9 + 60)):
            start = {"call": f"c{n}", "tool": "bash", "args": {"n": n}}
            store.append(Event("call_start", "clock", ts=ts, data=start))
    seen: set[str] = set()

    async def browse(app: ConsoleApp, pilot: Pilot[None]) -> None:
        while len(app.desk.sessions) < 9:
            await pilot.pause(0.02)
        await pilot.press("s", "home")
        for _ in range(9):
            await pilot.press("enter", "end", "enter", "escape", "s")
            seen.add(app.desk.view.recording.session if app.desk.view is not None else "")
            await pilot.press("down")

    drive(browse, live_app(place))
    assert len(seen) > 5


@pytest.mark.parametrize("payload", ["[1,2", '"x"', "7", "[" * 5000 + "]" * 5000, '{"args":NaN}'])
def test_what_cannot_be_read_is_said_to_be_damaged(tmp_path: Path, payload: str) -> None:
    import sqlite3

    place = str(tmp_path / "store.db")
    with closing(open_store(place)) as store:
        store.append(Event("call_start", "s", data={"call": "c", "tool": "bash", "args": 1}))
    with closing(sqlite3.connect(place)) as db:
        db.execute("UPDATE event SET payload = ?", (payload,))
        db.commit()
    with closing(open_store(place)) as store:
        (event,) = store.read("s")
    assert event.data["tool"] == "bash"
    assert event.data.get("damaged") or event.data["args"] != event.data["args"]
    for command in LOOKS[:-2]:
        looked_at(place, *command)


@pytest.mark.parametrize("claimed", [{"host": ""}, {"pid_started": ""}, {"pid_started": "1"}])
def test_no_session_of_another_machine_makes_a_person_an_agent(claimed: dict[str, object]) -> None:
    store = MemoryStore()
    store.place = "postgresql://db.example/loopguard"
    own = {"pid": os.getppid(), "pid_started": started(os.getppid()), "host": os.uname().nodename}
    store.append(Event("session_start", "forged", data={**own, **claimed}))
    assert inside_agent(store, {}) == ""
    store.append(Event("session_start", "true", data=own))
    assert inside_agent(store, {}) == "true"


def test_a_small_letter_does_not_choose_between_two_requests() -> None:
    store = MemoryStore()
    for name in ("r1", "R1", "RA2B"):
        store.append(Event("call_start", "s", data={"call": name, "tool": "t"}))
        me = {"pid": os.getpid(), "pid_started": started(os.getpid())}
        said = {"request": name, "call": name, "tier": "block", **me}
        store.append(Event("request_opened", "s", data=said))
    with pytest.raises(escape.DecisionError, match="r1 and R1 are two requests"):
        escape.approve(store, "r1", by="you")
    assert escape.approve(store, "R1", by="you").request == "R1"
    assert escape.approve(store, "Ra2b", by="you").request == "RA2B"


# -- on a server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site() -> Site:
    if reason := postgres.missing():
        pytest.skip(reason)
    return Site()


@pytest.fixture
def agent(site: Site) -> Iterator[Store]:
    store = site.store("agent")
    yield store
    store.close()


ROW = """INSERT INTO loopguard.event (session, seq, born, ts, type, call, tool, tier, calls, worst, level,
  ended, bytes, data, payload)
SELECT '{session}', {seq}, {born}, {ts}, '{type}', {call}, 'bash', {tier}, {calls}, {worst}, 0, false, 0,
  '{data}', {payload} FROM loopguard.session AS s WHERE session = '{session}'"""


def row(session: str, **said: object) -> str:
    honest: dict[str, object] = {
        "seq": 100,
        "born": "born",
        "ts": "1.8e9",
        "type": "note",
        "call": "NULL",
        "tier": "NULL",
        "calls": 1,
        "worst": 0,
        "data": "{}",
        "payload": "NULL",
    }
    return ROW.format(session=session, **{**honest, **said})


NUMBERS: dict[str, dict[str, object]] = {
    "no time": {"ts": "'NaN'"},
    "no end": {"ts": "'Infinity'"},
    "of no calendar": {"ts": "1e300"},
    "a tier of none": {"tier": 7},
    "worse than any": {"worst": 99},
    "fewer than none": {"calls": -5},
    "before the first": {"seq": 0},
    "behind the last": {"seq": 2**62},
    "another month": {"born": "190001"},
}


@pytest.mark.parametrize("what", NUMBERS)
def test_a_row_has_numbers_that_mean_something(site: Site, agent: Store, what: str) -> None:
    import psycopg

    session = f"numbers-{what}"
    agent.append(Event("note", session))
    site.raw("agent", row(session))
    with pytest.raises(psycopg.Error, match="row-level security"):
        site.raw("agent", row(session, **{"seq": 101, **NUMBERS[what]}))


def test_rows_without_sense_keep_nobody_from_the_others(site: Site, agent: Store) -> None:
    asked = ask(agent, "honest")
    agent.append(Event("session_start", "odd", data={"agent": "x"}))
    for n, said in enumerate(
        (
            {
                "type": "call_start",
                "call": "'a'",
                "data": '{"verdict":{"count":"x"}}',
                "payload": "'[1,'",
            },
            {"type": "call_end", "call": "'a'", "data": '{"duration":"x"}', "payload": "'\"x\"'"},
            {
                "type": "call_start",
                "call": "'b'",
                "data": '{"verdict":' + "[" * 3000 + "]" * 3000 + "}",
            },
            {"type": "session_start", "data": '{"pid":' + "9" * 400 + ',"host":[]}'},
        )
    ):
        site.raw("agent", row("odd", **{**said, "seq": n + 2}))
    odd = {"call": "a", "tier": {}, "deadline": 10**400, "late_until": 10**30, "pid": os.getpid()}
    opened = json.dumps(odd)
    site.raw(
        "agent",
        row("odd", seq=6, type="request_opened", data=opened)
        .replace("bytes, data", "bytes, request, data")
        .replace("0,\n  '{", "0, 'RODD',\n  '{"),
        "INSERT INTO loopguard.request (request, n, session, call, opened) "
        "VALUES ('RODD', loopguard.next_request(0), 'odd', 'a', 6)",
    )
    place = site.url("viewer")
    for command in (*LOOKS, ("query", "select * from calls"), ("query", "select * from payloads")):
        command = tuple("odd" if part == "s" else part for part in command)
        assert "cannot be answered" not in looked_at(place, *command)
    assert asked in looked_at(place, "pending")
    assert "RODD" in looked_at(place, "pending")


@pytest.mark.parametrize("name", ["r1", "R1 ", "\uff321", "-x", "", "R\n1", "R1\x1b[0m"])
def test_no_request_of_an_agents_is_named_like_another(site: Site, agent: Store, name: str) -> None:
    with pytest.raises(StoreError, match="row-level security"):
        agent.append(Event("note", "named"))
        agent.append(Event("request_opened", "named", data={"request": name or " ", "call": "c"}))


def test_an_agent_does_not_use_up_the_numbers(site: Site, agent: Store) -> None:
    before = int(ask(agent, "numbered-1")[1:])
    site.raw("agent", "SELECT loopguard.next_request(9999999999)")
    assert int(ask(agent, "numbered-2")[1:]) == before + 2
    with pytest.raises(StoreError, match="row-level security"):
        agent.append(
            Event("request_opened", "numbered-2", data={"request": "R999999", "call": "c"})
        )
    decider = site.store("decider", create=False)
    decider.append(Event("request_opened", "brought", data={"request": "R70000", "call": "c"}))
    decider.close()
    assert ask(agent, "numbered-3") == "R70001"


def test_no_lock_of_an_agents_keeps_others_from_writing(site: Site, agent: Store) -> None:
    import psycopg

    ask(agent, "locked")
    decider = site.store("decider", create=False)
    with psycopg.connect(site.url("agent")) as held:
        held.execute(b"SELECT pg_advisory_lock(1282426724, 1), pg_advisory_lock(1282426724)")
        held.execute(b"LOCK TABLE loopguard.event IN ROW EXCLUSIVE MODE")
        held.execute(b"LOCK TABLE loopguard.meta IN ACCESS SHARE MODE")
        decider.append(Event("request_opened", "locks", data={"request": "R80000", "call": "c"}))
        assert ask(decider, "locks") == "R80001"
    decider.close()


def test_each_login_of_a_host_speaks_for_itself(site: Site, agent: Store) -> None:
    import psycopg

    host = os.uname().nodename
    other = site.store("other")
    agent.machine(40, 1.8e9)
    other.machine(2, 1.8e9)
    assert [m.behind for m in other.machines([])] == [42]
    agent.machine(0, 1.8e9)
    assert [m.behind for m in agent.machines([])] == [2]
    site.raw("agent", f"UPDATE loopguard.machine SET behind = 0 WHERE host = '{host}'")
    with pytest.raises(psycopg.Error, match="permission denied"):
        site.raw("agent", f"UPDATE loopguard.machine SET owner = '{site.login('other')}'")
    assert [m.behind for m in other.machines([])] == [2]
    other.close()


def test_an_agent_that_searches_is_told_who_may(site: Site, agent: Store) -> None:
    with (
        closing(open_index(agent)) as index,
        pytest.raises(StoreError, match="does not let an agent's login search; search as a viewer"),
    ):
        index.update()
        index.search("word")
