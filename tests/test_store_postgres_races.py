"""Several who write at the same moment, where the order of what each holds decides whether they get on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

import postgres
from commands import until
from loopguard_core.events import Event
from loopguard_core.store.contract import Stale, Store, Taken
from loopguard_core.store.door import open_store
from test_fleet_roles import ask

pytestmark = postgres.needs

#: A note is not written while somebody holds the gate, so that others come in between.
GATED = """
CREATE FUNCTION gated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$;
CREATE TRIGGER gated BEFORE INSERT ON loopguard.event FOR EACH ROW WHEN (NEW.type = 'note')
EXECUTE FUNCTION gated()"""
AT_GATE = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = '{0}'"


@pytest.fixture
def url() -> str:
    made = postgres.server().database()
    open_store(made).close()
    postgres.server().run(GATED, made.rpartition("/")[2])
    return made


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


@contextmanager
def gate(url: str) -> Iterator[threading.Thread]:
    """Holds the gate; the thread that it gives opens it a while after its start."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_advisory_lock(7)")

        def open_it() -> None:
            time.sleep(0.3)
            db.execute("SELECT pg_advisory_unlock(7)")

        opening = threading.Thread(target=open_it)
        yield opening
        opening.join()


def at_gate(url: str) -> bool:
    """Whether a note is just being written."""
    return postgres.server().run(AT_GATE.format(url.rpartition("/")[2])) != [(0,)]


def answer(request: str, resolution: str) -> Event:
    return Event("request_resolved", "s", data={"request": request, "resolution": resolution})


def test_who_sends_much_and_who_answers_do_not_wait_for_each_other(url: str, store: Store) -> None:
    asked = ask(store, "s")
    sent: list[object] = []

    def send() -> None:
        with closing(open_store(url)) as other:
            sent.append(other.extend([Event("note", "s"), answer(asked, "expired")], expect=2))

    sending = threading.Thread(target=send)
    with gate(url) as opening:
        sending.start()
        until(lambda: at_gate(url), "a note that is being written")
        opening.start()
        with pytest.raises((Taken, Stale)):
            store.append(answer(asked, "approved"))
    sending.join()
    assert sent == [2]
    found = store.request(asked)
    assert found is not None
    assert found.resolution == "expired"


def test_what_is_under_way_while_a_session_is_deleted_leaves_no_headless_log(
    url: str, store: Store
) -> None:
    name = url.rpartition("/")[2]
    for n in range(3):
        ask(store, "s", f"c{n}")
    sent: list[object] = []

    def send() -> None:
        with closing(open_store(url)) as other:
            sent.append(other.append(Event("note", "s", data={"text": "x" * 9000})))

    sending = threading.Thread(target=send)
    with gate(url) as opening:
        sending.start()
        until(lambda: at_gate(url), "a note that is being written")
        opening.start()
        assert store.forget("s") == 7
    sending.join()
    assert sent == [7]
    assert (store.read("s"), store.requests(), store.sessions()) == ([], [], [])
    store.append(Event("call_end", "s"))
    assert [e.seq for e in store.read("s")] == [1]
    assert postgres.server().run("SELECT count(*) FROM loopguard.payload", name) == [(0,)]
