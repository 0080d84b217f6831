"""What lies between a process and its server: names without an answer, poolers, limits, other versions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files

import pytest

import postgres
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from test_fleet_roles import ask

pytestmark = postgres.needs


@pytest.fixture
def url() -> str:
    return postgres.emptied()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        yield opened


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The system's look-ups of names never answer; those that were begun."""
    from loopguard_core.store.postgres import resolving

    begun: list[object] = []
    over = threading.Event()

    def look_up(name: object, *_: object, **__: object) -> list[object]:
        begun.append(name)
        over.wait(60)
        raise OSError("over")

    monkeypatch.setattr(resolving, "getaddrinfo", look_up)
    yield begun
    over.set()


def test_a_name_without_an_answer_is_not_waited_for(silent: list[object]) -> None:
    place = "postgresql://loopguard@silent.example/loopguard"
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(StoreError, match="its host's name has no answer; see the name server"):
            open_store(place, patience=0.1)
        assert time.monotonic() - began < 5
    assert len(silent) == 1  # who asks again waits for the same answer


@pytest.mark.slow
def test_a_session_goes_on_where_its_server_has_no_address(silent: list[object]) -> None:
    said: list[str] = []
    config = Config({"store": "postgresql://loopguard@mute.example/other"})
    with LiveSession(config, "s", say=said.append) as live:
        for n in range(3):
            decision = live.before("search", {"q": n})
            assert decision.run
            live.after(decision, "x")
    assert silent
    assert "its host's name has no answer" in " ".join(said)


@pytest.mark.parametrize(
    ("given", "hosts", "addresses"),
    [
        ("host=a", "a,a", "10.0.0.1,::2"),
        ("host=a,10.9.9.9", "a,a,10.9.9.9", "10.0.0.1,::2,"),
        ("host=lost,/run/pg", "/run/pg", ""),
        ("host=10.9.9.9", "10.9.9.9", None),
        ("host=a hostaddr=10.1.1.1", "a", "10.1.1.1"),
        ("host=/run/pg", "/run/pg", None),
        ("postgresql://[::1]:7/db", "::1", None),
    ],
)
def test_a_name_becomes_all_its_addresses(
    given: str, hosts: str, addresses: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psycopg.conninfo import conninfo_to_dict

    from loopguard_core.store.postgres import resolving

    def look_up(name: bytes, *_: object, **__: object) -> list[object]:
        if name != b"a":
            raise OSError("unknown")
        return [(0, 0, 0, "", ("10.0.0.1", 0)), (0, 0, 0, "", ("::2", 0, 0, 0))]

    monkeypatch.setattr(resolving, "getaddrinfo", look_up)
    made = conninfo_to_dict(resolving.addressed(given, time.monotonic() + 5))
    assert (made["host"], made.get("hostaddr")) == (hosts, addresses)


def test_a_server_is_found_by_its_name(url: str) -> None:
    with closing(open_store(url.replace("127.0.0.1", "localhost"))) as store:
        assert store.append(Event("note", "s")) == 1


def test_a_name_that_nobody_has_is_said(url: str) -> None:
    with pytest.raises(StoreError, match="its host is unknown; see the address"):
        open_store("postgresql://loopguard:geheim@nobody.invalid/loopguard")


def _empty(store: Store) -> None:
    """What a pooler does with a connection before it gives it to somebody else."""
    store._link._db.pgconn.exec_(b"DISCARD ALL")  # type: ignore[attr-defined]


def test_a_connection_that_a_pooler_emptied_is_made_anew(store: Store) -> None:
    for n in range(4):
        store.append(Event("note", "s"))
        assert store.last("s") == n + 1
    asked = [ask(store, f"s{n}") for n in range(4)]
    _empty(store)
    assert store.append(Event("note", "s")) == 5
    _empty(store)
    assert store.last("s") == 5
    _empty(store)
    asked.append(ask(store, "s4"))
    _empty(store)
    assert store.extend([Event("note", "s"), Event("note", "t")]) == 2
    assert [r.request for r in store.requests()] == asked
    assert [e.seq for e in store.read("s")] == [1, 2, 3, 4, 5, 6]


def test_where_no_connection_is_left_it_is_said(url: str) -> None:
    name = url.rpartition("/")[2]
    few = f"few_{name}"
    postgres.server().run(f"CREATE ROLE {few} LOGIN CONNECTION LIMIT 1", name)
    place = url.replace(f"//{postgres.USER}@", f"//{few}@")
    postgres.server().run(f"GRANT USAGE ON SCHEMA loopguard TO {few}", name)
    postgres.server().run(f"GRANT ALL ON ALL TABLES IN SCHEMA loopguard TO {few}", name)
    with (
        closing(open_store(place)),
        pytest.raises(StoreError, match="has no connection left; raise max_connections"),
    ):
        open_store(place)


def test_an_update_says_anew_who_may_do_what() -> None:
    """A store of before: brought up to date by its owner, an agent's login that waited for it can ask."""
    from loopguard_core.store.postgres.schema import STEPS

    server = postgres.server()
    url = server.database()
    name = url.rpartition("/")[2]
    open_store(url).close()
    server.run(files("loopguard_core.store.postgres").joinpath("roles.sql").read_text(), name)
    server.run("DROP SCHEMA loopguard CASCADE; CREATE SCHEMA loopguard", name)
    server.run("CREATE TABLE loopguard.meta (version integer, store text)", name)
    server.run("INSERT INTO loopguard.meta VALUES (4, 'x')", name)
    for _, script in STEPS[:4]:
        server.run(script, name)
    server.run("GRANT USAGE ON SCHEMA loopguard TO loopguard_agent", name)
    server.run("GRANT SELECT ON loopguard.meta TO loopguard_agent", name)
    server.run(f"CREATE ROLE late_{name} LOGIN IN ROLE loopguard_agent", name)
    place = url.replace(f"//{postgres.USER}@", f"//late_{name}@")
    with pytest.raises(
        StoreError, match="the store is older; open it once for writing, as the role"
    ):
        open_store(place)
    open_store(url).close()
    with closing(open_store(place)) as store:
        assert ask(store, "s") == "R1"
        with pytest.raises(StoreError, match="does not allow this user"):
            store.append(Event("halt", "s"))
