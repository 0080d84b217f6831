"""Several who write at the same moment, where the order of what each holds decides whether they get on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

import postgres
from commands import until
from loopguard_core.events import Event
from loopguard_core.store.contract import Stale, Store, Taken
from loopguard_core.store.door import open_store
from test_fleet_roles import ask

pytestmark = postgres.needs

#: A note is written so slowly that somebody else comes in between.
SLOWLY = """
CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END $$;
CREATE TRIGGER slowly BEFORE INSERT ON loopguard.event FOR EACH ROW WHEN (NEW.type = 'note')
EXECUTE FUNCTION slowly()"""
ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '{0}'"


@pytest.fixture
def url() -> str:
    made = postgres.server().database()
    open_store(made).close()
    postgres.server().run(SLOWLY, made.rpartition("/")[2])
    return made


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


def until_asleep(url: str) -> None:
    """Until a note is just being written."""
    asleep = ASLEEP.format(url.rpartition("/")[2])
    until(lambda: postgres.server().run(asleep) != [(0,)], "a note that is being written")


def answer(request: str, resolution: str) -> Event:
    return Event("request_resolved", "s", data={"request": request, "resolution": resolution})


def test_who_sends_much_and_who_answers_do_not_wait_for_each_other(url: str, store: Store) -> None:
    asked = ask(store, "s")
    sent: list[object] = []

    def send() -> None:
        with closing(open_store(url)) as other:
            sent.append(other.extend([Event("note", "s"), answer(asked, "expired")], expect=2))

    sending = threading.Thread(target=send)
    sending.start()
    until_asleep(url)
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
    sending.start()
    until_asleep(url)
    assert store.forget("s") == 7
    sending.join()
    assert sent == [7]
    assert (store.read("s"), store.requests(), store.sessions()) == ([], [], [])
    store.append(Event("call_end", "s"))
    assert [e.seq for e in store.read("s")] == [1]
    assert postgres.server().run("SELECT count(*) FROM loopguard.payload", name) == [(0,)]
