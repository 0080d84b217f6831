"""The tables on PostgreSQL: made once, by whoever comes first; by month; read by index, however long the log is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import postgres
from loopguard_core.events import Event
from loopguard_core.store.contract import Store, StoreError, Taken
from loopguard_core.store.door import open_store
from loopguard_core.store.postgres import keeping
from loopguard_core.store.postgres.engine import PostgresStore
from test_store_constant import QUESTIONS, fill

pytestmark = postgres.needs


def sql(url: str, statement: str) -> list[tuple[Any, ...]]:
    return postgres.server().run(statement, url.rpartition("/")[2])


def test_an_empty_database_is_no_store_until_somebody_may_make_it() -> None:
    url = postgres.server().database()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="there is no event store at"):
            open_store(url, create=False, read_only=read_only)
    store = open_store(url)
    assert store.append(Event("note", "s")) == 1
    looking = open_store(url, create=False, read_only=True)
    assert looking.last("s") == 1
    store.close()
    looking.close()


def test_many_who_come_first_make_it_once() -> None:
    url = postgres.server().database()
    said: list[object] = []

    def come() -> None:
        try:
            store = open_store(url)
            said.append(store.append(Event("note", "s")))
            store.close()
        except StoreError as error:
            said.append(str(error))

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said, key=str) == [1, 2, 3, 4, 5, 6]


def test_other_tables_in_the_database_are_left_alone() -> None:
    url = postgres.server().database()
    sql(url, "CREATE TABLE event (mine text); CREATE TABLE session (mine text)")
    store = open_store(url)
    store.append(Event("note", "s"))
    store.close()
    assert sql(url, "SELECT * FROM public.event") == []


def test_a_schema_that_is_somebody_elses_is_refused() -> None:
    url = postgres.server().database()
    sql(url, "CREATE SCHEMA loopguard; CREATE TABLE loopguard.theirs (x integer)")
    for create in (True, False):
        with pytest.raises(StoreError, match=r"is no event store; name another database$"):
            open_store(url, create=create)


def test_a_newer_store_is_refused_and_an_older_one_brought_up_to_date() -> None:
    url = postgres.server().database()
    open_store(url).close()
    sql(url, "UPDATE loopguard.meta SET version = version + 1")
    with pytest.raises(StoreError, match="install a newer loopguard here"):
        open_store(url)
    sql(url, "DROP SCHEMA loopguard CASCADE; CREATE SCHEMA loopguard")
    sql(url, "CREATE TABLE loopguard.meta (version integer, store text)")
    sql(url, "INSERT INTO loopguard.meta VALUES (0, 'x')")
    with pytest.raises(StoreError, match="open it once for writing"):
        open_store(url, create=False)
    store = open_store(url)
    assert store.append(Event("note", "s")) == 1
    store.close()


def test_a_database_in_another_encoding_is_refused() -> None:
    name = "latin"
    postgres.server().run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1'")
    with pytest.raises(StoreError, match="make one with ENCODING 'UTF8'"):
        open_store(postgres.server().url(name))


def test_who_may_not_change_tables_writes_all_the_same() -> None:
    url = postgres.server().database()
    open_store(url).close()
    sql(
        url,
        "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA loopguard TO clerk;"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA loopguard TO clerk;"
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA loopguard TO clerk",
    )
    store = open_store(url.replace(postgres.USER, "clerk"))
    store.tidy()
    assert store.append(Event("request_opened", "s", data={"call": "c", "tier": "halt"})) == 1
    assert [r.request for r in store.requests(pending=True)] == ["R1"]
    store.beat(time.time())
    store.close()


def months(url: str) -> list[str]:
    found = sql(url, "SELECT relname FROM pg_class WHERE relname ~ '^event_[0-9]+$' ORDER BY 1")
    return [str(name) for (name,) in found]


def test_a_month_goes_as_one_table_once_its_sessions_are_forgotten() -> None:
    url = postgres.server().database()
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    this = months(url)
    keeping.make_month(store._link, 202401)
    old, new = ({"call": "c", "outcome": "ok", "result": r * 9_000} for r in "on")
    store.append(Event("call_end", "new", ts=1.0, data=new))
    # As if the month had been another one when the store first heard of it.
    sql(url, "INSERT INTO loopguard.session (session, born) VALUES ('old', 202401)")
    store.append(Event("call_end", "old", ts=1.0, data=old))
    assert store.read("old")[0].data["result"] == "o" * 9_000
    assert sql(url, "SELECT count(*) FROM loopguard.event_202401") == [(1,)]
    assert sql(url, "SELECT count(*) FROM loopguard.payload_202401") == [(1,)]
    store.tidy()
    assert months(url) == ["event_202401", *this]
    assert list(store.forget_all(["old"])) == ["old"]
    assert months(url) == this
    assert store.session("old") is None
    assert store.read("new")[0].data["result"] == "n" * 9_000
    store.close()


def test_a_month_of_which_something_stays_loses_rows_only() -> None:
    url = postgres.server().database()
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    this = months(url)
    keeping.make_month(store._link, 202401)
    for name in ("one", "two"):
        sql(url, f"INSERT INTO loopguard.session (session, born) VALUES ('{name}', 202401)")
        store.append(Event("request_opened", name, data={"call": "c", "tier": "halt"}))
    store.append(Event("note", "now"))
    assert list(store.forget_all(["one", "now"])) == ["one", "now"]
    assert [s.session for s in store.sessions()] == ["two"]
    assert [r.request for r in store.requests()] == ["R2"]
    assert store.forget("two") == 1
    assert months(url) == ["event_202401", *this]
    store.tidy()
    assert months(url) == this
    store.close()


def test_a_session_of_a_month_without_a_table_is_kept_all_the_same() -> None:
    url = postgres.server().database()
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    sql(url, "INSERT INTO loopguard.session (session, born) VALUES ('s', 209912)")
    assert [store.append(Event("note", "s")) for _ in range(3)] == [1, 2, 3]
    keeping.make_month(store._link, 209912)
    assert [e.seq for e in store.read("s")] == [1, 2, 3]
    assert store.append(Event("note", "s")) == 4
    store.close()


@pytest.fixture(scope="module", params=["as it comes", "analysed"])
def logs(request: pytest.FixtureRequest) -> list[tuple[Store, int]]:
    """A short log and a long one: before the server has looked at what is in the tables, and after."""
    found = []
    for calls in (300, 5_000):
        url = postgres.server().database()
        store = open_store(url)
        found.append((store, fill(store, calls)))
        if request.param == "analysed":
            sql(url, "ANALYZE")
    return found


def pages(store: Store, ask: Callable[[Store, int], object], last: int) -> int:
    """Pages of the database that *ask* touches."""
    assert isinstance(store, PostgresStore)
    link = store._link
    asked: list[tuple[str, Any]] = []
    run = link._run

    def record(statement: str, values: Any, seconds: float, **more: Any) -> Any:
        if statement.strip().split()[0] in ("SELECT", "INSERT", "UPDATE", "WITH"):
            asked.append((statement, values))
        return run(statement, values, seconds, **more)

    link._run = record  # type: ignore[assignment, method-assign]
    ask(store, last)
    link._run = run  # type: ignore[method-assign]
    touched = 0
    link.write("BEGIN")
    for statement, values in asked:
        [(found,)] = link.rows(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", values)
        plan = found[0]["Plan"]
        touched += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    link.write("ROLLBACK")
    return touched


def _end(call: str) -> Event:
    return Event("call_end", "s", ts=1.0, data={"call": call, "outcome": "ok", "result": "r"})


MORE: dict[str, Callable[[Store, int], object]] = {
    "an end of a call that somebody else began": lambda store, last: store.append(_end("new")),
    "an end that is there": lambda store, last: refused(lambda: store.append(_end("c77"))),
    "many that are there": lambda store, last: store.extend([_end(f"c{n}") for n in range(99)]),
    "what stands beyond its turn": lambda store, last: store.standing("s", last),
    "how much it weighs": lambda store, last: store.size("s"),
    "a request of a session": lambda store, last: store.requests(session="s", limit=5),
}


def refused(act: Callable[[], object]) -> None:
    with pytest.raises(Taken):
        act()


@pytest.mark.parametrize("question", [*QUESTIONS, *MORE])
def test_a_long_log_costs_no_more_than_a_short_one(
    logs: list[tuple[Store, int]], question: str
) -> None:
    short, long = (pages(store, {**QUESTIONS, **MORE}[question], last) for store, last in logs)
    assert long <= short * 1.5 + 20
