"""What a store on PostgreSQL withstands: lost connections, silence, forks, many writers, odd names."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

import postgres
from loopguard_core.events import Event
from loopguard_core.store.contract import Replaced, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.postgres.engine import PostgresStore
from wire import Wire

pytestmark = postgres.needs


def note(n: int = 0, session: str = "s") -> Event:
    return Event("note", session, ts=float(n), data={"n": n})


@pytest.fixture
def url() -> str:
    return postgres.emptied()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = open_store(url)
    yield made
    made.close()


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    with Wire(int(postgres.server().port)) as made:
        yield made


def through(wire: Wire, url: str) -> str:
    return url.replace(f":{postgres.server().port}/", f":{wire.port}/")


def disconnect(url: str) -> None:
    """End the server's side of all connections to the database at *url*."""
    database = url.rpartition("/")[2]
    postgres.server().run(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    )


def test_a_connection_that_was_ended_is_made_again_and_nothing_is_written_twice(
    store: Store, url: str
) -> None:
    for n in range(6):
        disconnect(url)
        event = (
            note(n)
            if n % 3
            else Event("request_opened", "s", data={"call": f"c{n}", "tier": "halt"})
        )
        assert store.append(event) == n + 1
        disconnect(url)
        assert store.last("s") == n + 1
    assert [e.seq for e in store.read("s")] == [1, 2, 3, 4, 5, 6]
    assert [r.request for r in store.requests()] == ["R1", "R2"]


@pytest.mark.parametrize("answers", range(32))
def test_an_answer_that_got_lost_is_looked_for_before_anything_is_written_again(
    url: str, wire: Wire, answers: int
) -> None:
    """Whichever answer it is, of an append or of a request's transaction: each event stands there once."""
    store = open_store(through(wire, url))
    call = {"call": "c1", "tool": "t"}
    wire.lose(answers)
    assert store.append(Event("call_start", "s", ts=1.0, data=call)) == 1
    assert store.append(note(2)) == 2
    assert store.append(Event("request_opened", "s", ts=1.0, data={**call, "tier": "halt"})) == 3
    resolved = {"request": "R1", "resolution": "denied"}
    assert store.append(Event("request_resolved", "s", ts=1.0, data=resolved)) == 4
    assert store.extend([note(5), Event("request_delivered", "s", data={"request": "R1"})]) == 2
    store.close()
    events = open_store(url).read("s")
    kinds = [
        "call_start",
        "note",
        "request_opened",
        "request_resolved",
        "note",
        "request_delivered",
    ]
    assert [(e.seq, e.type) for e in events] == [*enumerate(kinds, 1)]


@pytest.mark.parametrize("expect", [None, 2])
@pytest.mark.parametrize("type", ["call_start", "request_opened", "request_resolved"])
def test_a_packet_that_arrives_after_it_was_given_up_is_known_again(
    url: str, wire: Wire, monkeypatch: pytest.MonkeyPatch, type: str, expect: int | None
) -> None:
    """The server commits it only after it was looked for: it is neither refused nor written again."""
    store = open_store(through(wire, url))
    assert isinstance(store, PostgresStore)
    store.append(note(1))
    store.append(Event("request_opened", "s", data={"call": "c", "tier": "halt"}))
    looked = store._writer._found
    answers = iter([None])
    monkeypatch.setattr(store._writer, "_found", lambda *a: next(answers, looked(*a)))
    told = {"call": "c2", "tool": "t", "tier": "halt"}
    answer = {"request": "R1", "resolution": "denied"}
    event = Event(type, "s", ts=2.0, data=answer if type == "request_resolved" else told)
    wire.lose(0 if expect or type == "call_start" else 1)  # the last number is asked for first
    assert store.append(event, expect=expect) == 3
    assert store.append(note(4)) == 4
    assert [e.type for e in store.read("s")] == ["note", "request_opened", type, "note"]
    named = {"call_start": "", "request_opened": "R2", "request_resolved": "R1"}[type]
    assert event.text("request") == named
    assert [r.request for r in store.requests()] == (["R1", "R2"] if named == "R2" else ["R1"])
    store.close()


def test_many_who_ask_at_once_each_have_a_name_of_their_own(url: str) -> None:
    """And those that bring names from elsewhere: none is given twice, and what comes after is numbered on."""
    named: list[str] = []

    def ask(own: int) -> None:
        store = open_store(url)
        for n in range(12):
            data = {"call": f"c{n}", "tier": "block"}
            if n % 4 == 3:
                data["request"] = f"R{own * 100_000 + n * 1_000}"
            event = Event("request_opened", f"s{own}", data=data)
            store.append(event)
            named.append(event.text("request"))
        store.close()

    threads = [threading.Thread(target=ask, args=(own,)) for own in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(named) == len(set(named)) == 72
    store = open_store(url)
    assert sorted(r.request for r in store.requests()) == sorted(named)
    last = Event("request_opened", "late", data={"call": "c", "tier": "block"})
    store.append(last)
    assert int(last.text("request")[1:]) > 611_000
    store.close()


def test_a_silent_server_is_not_waited_for_and_said_in_one_line(url: str, wire: Wire) -> None:
    store = open_store(through(wire, url))
    store.append(note(1))
    wire.freeze()
    began = time.monotonic()
    with pytest.raises(StoreError) as told:
        store.append(note(2))
    assert time.monotonic() - began < 2.0
    assert str(told.value).startswith(f"the event store {store.place} did not answer in time; ")
    began = time.monotonic()
    with pytest.raises(StoreError):
        store.last("s")
    assert time.monotonic() - began < 4.0
    wire.mend()
    assert store.append(note(3)) in (2, 3)  # what was under way may have arrived
    store.close()


def test_a_long_answer_takes_what_it_takes_while_it_comes(store: Store) -> None:
    assert isinstance(store, PostgresStore)
    slow = "SELECT repeat('x', 100000), pg_sleep(0.1) FROM generate_series(1, %s)"
    assert len(store._link.rows(slow, (20,), seconds=1.0)) == 20
    with pytest.raises(StoreError, match="did not answer in time"):
        store._link.rows("SELECT pg_sleep(%s)", (20,), seconds=0.2)
    assert store.append(note()) == 1


def test_a_server_that_is_away_is_told_at_once_and_found_again(url: str, wire: Wire) -> None:
    store = open_store(through(wire, url))
    wire.refuse()
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(StoreError, match="; "):
            store.append(note())
    assert time.monotonic() - began < 1.5
    wire.mend()
    assert store.append(note()) == 1
    store.close()


def test_a_child_after_a_fork_has_a_connection_of_its_own(store: Store, url: str) -> None:
    store.append(note(1))
    held = threading.Event()
    done = threading.Event()

    def hold() -> None:
        with store._link.lock:  # type: ignore[attr-defined]
            held.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if store.append(note(2)) == 2 and store.last("s") == 2 else 1)
    done.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0
    assert store.append(note(3)) == 3
    assert [e.data["n"] for e in store.read("s")] == [1, 2, 3]


def test_many_writers_of_one_session_leave_no_gap(url: str) -> None:
    def write(n: int) -> None:
        store = open_store(url)
        for i in range(15):
            store.append(Event("call_start", "s", data={"call": f"{n}-{i}", "tool": "t"}))
        store.close()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_store(url)
    events = store.read("s")
    assert [e.seq for e in events] == list(range(1, 121))
    session = store.session("s")
    assert session is not None
    assert session.calls == 120
    store.close()


NAMES = ["a\0b", "\ud800", "x" * 5_000, "é" * 2_000, "'; drop table event; --", "%s %(a)s {}"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_no_name_is_too_odd(store: Store, name: str) -> None:
    data = {"call": name, "tool": name, "args": {name: name}}
    event = Event("call_start", name, ts=1.0, data=data)
    event.seq = store.append(event)
    asked = Event(
        "request_opened", name, data={"request": f"Q{name}", "call": name, "tier": "halt"}
    )
    asked.seq = store.append(asked)
    assert store.read(name) == [event, asked]
    assert (store.last(name), store.sessions()[0].calls) == (2, 1)
    request = store.request(f"Q{name}")
    assert request is not None
    assert request.args == {name: name}
    assert store.forget(name) == 2
    assert store.sessions() == []


def test_what_people_ask_in_sql_copes_with_what_the_database_cannot_hold(
    store: Store, url: str
) -> None:
    start = {
        "call": "c",
        "tool": "t",
        "args": "a\0\ud800b",
        "verdict": {"tier": "warn", "count": 2},
    }
    store.append(
        Event(
            "session_start", "s", ts=float("inf"), data={"agent": "\0x", "cwd": "/w", "host": "h"}
        )
    )
    store.append(Event("call_start", "s", ts=1.0, data=start))
    store.append(
        Event("call_end", "s", ts=2.0, data={"call": "c", "outcome": "ok", "result": "r" * 9_000})
    )
    store.append(Event("request_opened", "s", data={"call": "c", "tier": "halt"}))
    database = url.rpartition("/")[2]

    def ask(sql: str) -> list[tuple[object, ...]]:
        return postgres.server().run(sql, database)

    columns = "number, tool, args, outcome, tier, count, length(result)"
    assert ask(f"SELECT {columns} FROM loopguard.calls") == [
        (1, "t", "a\ufffd\ufffdb", "ok", "warn", 2, 161)
    ]
    assert ask("SELECT length(result) FROM loopguard.payloads") == [(9_000,)]
    assert ask("SELECT agent, calls, worst, waiting, events FROM loopguard.sessions") == [
        ("\ufffdx", 1, "warn", 1, 4)
    ]
    assert ask("SELECT request, tool, tier, resolution FROM loopguard.requests") == [
        ("R1", "t", "halt", "pending")
    ]
    assert ask("SELECT count(*) FROM loopguard.events") == [(4,)]


def test_equal_large_payloads_stand_there_once_a_session(store: Store, url: str) -> None:
    for session in "st":
        for n in range(5):
            data = {"call": f"c{n}", "outcome": "ok", "result": "x" * 50_000}
            store.append(Event("call_end", session, data=data))
    database = url.rpartition("/")[2]
    assert postgres.server().run("SELECT count(*) FROM loopguard.payload", database) == [(2,)]
    assert all(e.data["result"] == "x" * 50_000 for e in store.read("s"))
    assert 50_000 < store.size("s") < 60_000
    assert store.size() == store.size("s") + store.size("t")


def test_consoles_of_other_machines_count_as_long_as_they_beat(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    store.beat(now - 3600)  # a clock that is wrong by an hour
    assert list(store.attached(now)) == []
    other = os.uname_result(("Linux", "elsewhere", "", "", ""))
    monkeypatch.setattr(os, "uname", lambda: other)
    assert list(store.attached(now)) == [os.getpid()]


def test_a_store_that_takes_the_place_of_another_is_noticed(store: Store, url: str) -> None:
    store.append(note(1))
    database = url.rpartition("/")[2]
    postgres.server().run("UPDATE loopguard.meta SET store = 'another'", database)
    disconnect(url)
    with pytest.raises(Replaced):
        store.append(note(2))
    assert store.append(note(2)) == 2
    assert store.generation == 2


def test_a_human_is_heard_before_the_next_look(url: str) -> None:
    """The word itself wakes, not the poll: it is heard although the poll would come much later."""
    from loopguard_core.store.postgres import wake

    agent, human = open_store(url), open_store(url)
    agent.append(Event("request_opened", "s", data={"call": "c", "tier": "halt"}))
    before, wake.POLL = wake.POLL, 60.0
    try:
        agent.append(Event("request_opened", "other", data={"call": "c", "tier": "halt"}))
        while agent.changed(0) or agent.changed(0, session="s"):
            pass
        answer = {"request": "R1", "resolution": "approved"}
        threading.Timer(0.2, human.append, (Event("request_resolved", "s", data=answer),)).start()
        began = time.monotonic()
        assert agent.changed(60, session="s")
        assert agent.changed(0)
        human.append(Event("halt", "other"))
        assert agent.changed(60)
        assert agent.changed(0.2, session="s") is False
        assert time.monotonic() - began < 30
    finally:
        wake.POLL = before
    agent.close()
    human.close()


def test_reading_only_writes_nothing(url: str, store: Store) -> None:
    store.append(note())
    looking = open_store(url, create=False, read_only=True)
    assert looking.last("s") == 1
    with pytest.raises(StoreError, match="read-only"):
        looking.append(note())
    looking.close()


def test_a_database_that_is_read_only_stays_so(url: str, store: Store) -> None:
    store.append(note())
    database = url.rpartition("/")[2]
    for word in ("SET default_transaction_read_only = on", "RESET default_transaction_read_only"):
        postgres.server().run(f'ALTER DATABASE "{database}" {word}')
        disconnect(url)
        if word.startswith("SET"):
            with pytest.raises(StoreError, match="is read-only; name the primary"):
                store.append(note())
    assert store.append(note()) == 2


def test_who_waits_hears_on_although_the_connection_was_ended(url: str) -> None:
    agent, human = open_store(url), open_store(url)
    agent.append(Event("request_opened", "s", data={"call": "c", "tier": "halt"}))
    while agent.changed(0, session="s"):
        pass
    disconnect(url)
    assert agent.changed(30, session="s"), "what was told meanwhile is not known"
    answer = {"request": "R1", "resolution": "approved"}
    threading.Timer(0.1, human.append, (Event("request_resolved", "s", data=answer),)).start()
    assert agent.changed(30, session="s")
    agent.close()
    human.close()


def test_who_waits_in_a_session_hears_of_that_alone_and_of_nothing_after(url: str) -> None:
    waits, says = open_store(url), open_store(url)
    assert isinstance(waits, PostgresStore)
    heard = "SELECT count(*) FROM pg_listening_channels()"
    for session in ("s", "t" * 80, "é\0"):
        waits.changed(0, session=session)
        says.append(Event("resume", "other"))
        assert not waits.changed(0.05, session=session)
        says.append(Event("resume", session))
        assert waits.changed(20, session=session)
        assert waits._link.rows(heard)[0][0] == 1
        waits.unwatch(session)
        assert waits._link.rows(heard)[0][0] == 0
    waits.close()
    says.close()
