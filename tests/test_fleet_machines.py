"""Which machines are behind: told by the machine, shown by doctor and console, and mended by a console."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from commands import until
from loopguard_console.chains import _mark
from loopguard_console.desk import Desk
from loopguard_console.doctor import machines
from loopguard_console.feed import Batch
from loopguard_console.guards import guard_of
from loopguard_console.inspector.marks import mark_words
from loopguard_console.sending import Sender
from loopguard_console.widgets.status import StatusBar
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.recording.calls import ListEvents
from loopguard_core.session.live import LiveSession
from loopguard_core.session.returning import drain_all
from loopguard_core.store.contract import Machine, Stale, Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.memory import MemoryStore
from loopguard_core.store.spool import Spool, open_spool
from sessions import call
from wire import Wire

HERE = os.uname().nodename


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "postgres":
        if postgres.missing():
            pytest.skip(postgres.missing())
        made: Store = open_store(postgres.emptied())
    else:
        made = MemoryStore()
    yield made
    made.close()


def test_the_store_knows_its_machines_by_their_sessions_and_by_what_they_say(store: Store) -> None:
    assert store.machines() == []
    for n, host in enumerate(("web-1", "web-1", "web-2")):
        store.append(Event("session_start", f"s{n}", ts=10.0 + n, data={"host": host}))
    store.append(Event("session_end", "s1", ts=20.0))
    found = store.machines()
    assert [(m.host, m.running, m.heard, m.behind) for m in found] == [
        ("web-1", 1, 20.0, 0),
        ("web-2", 1, 12.0, 0),
    ]
    store.machine(7, 30.0)
    mine = next(m for m in store.machines() if m.host == HERE)
    assert (mine.running, mine.heard, mine.behind, mine.told) == (0, 30.0, 7, 30.0)
    store.machine(0, 31.0)
    assert next(m for m in store.machines(store.sessions()) if m.host == HERE).behind == 0


def test_one_process_at_a_time_sends_what_waits_of_a_session(tmp_path: Path) -> None:
    one, other = (Spool(str(tmp_path / "spool.db")) for _ in range(2))
    one.append(Event("note", "s", data={"spooled": 0}))
    with one.alone("s") as mine, other.alone("s") as theirs:
        assert (mine, theirs) == (True, False)
        assert drain_all(other, MemoryStore()) == 0
    with other.alone("s") as theirs:
        assert theirs
    assert drain_all(other, MemoryStore()) == 1


def test_while_it_sends_a_machine_says_how_much_is_still_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, server = Spool(str(tmp_path / "spool.db")), MemoryStore()
    told: list[int] = []
    tell = server.machine

    def heard(behind: int, ts: float) -> None:
        told.append(behind)
        tell(behind, ts)

    monkeypatch.setattr(server, "machine", heard)
    for session, events in (("a", 3), ("b", 5)):
        for n in range(events):
            spool.append(Event("note", session, ts=float(n), data={"spooled": 0}))
    assert drain_all(spool, server) == 8
    assert told == [8, 5, 0]
    assert drain_all(spool, server) == 0 and told == [8, 5, 0]


def test_nobodys_word_is_sent_from_a_spool(tmp_path: Path) -> None:
    """Whoever could write the file could otherwise have it sent by somebody who may decide."""
    spool, server = Spool(str(tmp_path / "spool.db")), MemoryStore()
    server.append(Event("session_start", "s", ts=1.0))
    said = [
        Event("request_opened", "s", data={"call": "c1", "tier": "block", "request": "RX"}),
        Event("request_resolved", "s", data={"request": "RX", "resolution": "approved"}),
        Event("grant", "s", data={"grant": "G1", "scope": "session"}),
        *(Event(kind, "s") for kind in ("halt", "resume", "reset")),
        Event("note", "s", data={"text": "kept"}),
    ]
    for n, event in enumerate(said):
        event.ts = 2.0 + n
        spool.append(event)
    drain_all(spool, server)
    assert [e.type for e in server.read("s")] == ["session_start", "request_opened", "note"]
    assert spool.backlog() == {}


def test_a_session_that_lives_is_begun_on_the_server_by_its_own_process(tmp_path: Path) -> None:
    """Who writes to it first owns it there, and may be the only one who may."""
    spool, server = Spool(str(tmp_path / "spool.db")), MemoryStore()
    for name, pid in (("lives", os.getpid()), ("died", 2**22 + 1)):
        spool.append(Event("session_start", name, ts=1.0, data={"pid": pid, "spooled": 0}))
    assert drain_all(spool, server) == 1
    assert spool.backlog() == {"lives": 1}
    server.append(Event("note", "lives", ts=0.5))
    assert drain_all(spool, server) == 1
    assert [e.type for e in server.read("lives")] == ["note", "session_start"]


def test_one_session_that_cannot_be_sent_does_not_keep_the_others_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it belongs to another login."""
    spool, server = Spool(str(tmp_path / "spool.db")), MemoryStore()
    for name in ("theirs", "a", "b"):
        spool.append(Event("note", name, ts=1.0, data={"spooled": 0}))
    extend = server.extend

    def refused(events: list[Event], *, expect: int | None = None) -> int:
        if events[0].session == "theirs":
            raise StoreError("this login may not do that")
        return extend(events, expect=expect)

    monkeypatch.setattr(server, "extend", refused)
    assert drain_all(spool, server) == 2
    assert spool.backlog() == {"theirs": 1}
    with pytest.raises(StoreError):
        drain_all(spool, server)


def test_what_follows_a_request_finds_it_under_the_name_that_the_server_gave(
    tmp_path: Path,
) -> None:
    """Its opening arrived and the answer did not; what came after it was sent later, by somebody else."""
    spool, server = Spool(str(tmp_path / "spool.db")), MemoryStore()
    opened = {"call": "c1", "tier": "block"}
    server.append(Event("request_opened", "s", ts=5.0, data=dict(opened)))
    spool.append(Event("request_opened", "s", ts=5.0, data={**opened, "spooled": 0}))
    mine = spool.requests()[0].request
    assert drain_all(spool, server) == 0
    said = {"request": mine, "call": "c1", "resolution": "expired", "spooled": 0}
    spool.append(Event("request_resolved", "s", ts=6.0, data=said))
    assert drain_all(spool, server) == 1
    assert [(r.request, r.resolution) for r in server.requests()] == [("R1", "expired")]


@pytest.mark.parametrize("expects", [True, False])
def test_what_is_written_while_a_session_is_let_go_is_not_forgotten_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expects: bool
) -> None:
    """By an agent that writes on after its own last event, the quick way."""
    agents, sender = (Spool(str(tmp_path / "spool.db")) for _ in range(2))
    server = MemoryStore()
    for n in range(10):
        agents.append(Event("note", "s", ts=float(n), data={"spooled": 0, "text": "x" * 3_000}))
    forget = sender.forget
    gone: list[str] = []
    monkeypatch.setattr(sender, "forget", gone.append)
    assert drain_all(sender, server) == 10
    late = Event("note", "s", ts=10.0, data={"spooled": 0})
    if expects:
        with pytest.raises(Stale):
            agents.append(late, expect=10)
        agents.append(late, expect=0)
    else:
        agents.append(late)
    assert forget(gone[0]) == 10
    assert agents.backlog() == {"s": 1}
    assert drain_all(sender, server) == 1
    assert [e.ts for e in server.read("s")] == [float(n) for n in range(11)]


@postgres.needs
def test_what_a_dead_agent_left_is_seen_and_sent_by_a_console_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    url = postgres.emptied()
    with Wire(int(postgres.server().port)) as wire:
        place = url.replace(f":{postgres.server().port}/", f":{wire.port}/")
        config = Config({"policy": "graded", "store": place})
        live = LiveSession(config, "s", agent="a", attach=True, say=lambda line: None)
        wire.refuse()
        call(live, args={"q": 1})
        live._journal.close()
        found = machines.examine(place)
        assert [f.what for f in found] == ["3 events of 1 session wait on this machine"]
        sender = Sender(place, every=0.02)
        with pytest.raises(StoreError):
            sender.send()
        sender.start()
        wire.mend()
        until(lambda: open_store(url).last("s") == 4, "what was left")
        sender.stop()
        sender.join(20)
        spool = open_spool(place, create=False)
        assert spool is not None and spool.backlog() == {}
        said = [f.what for f in machines.examine(place)]
        assert len(said) == 1 and said[0].startswith(f"{HERE}: 1 session, heard ")


def test_doctor_says_which_machine_is_behind_and_which_is_silent() -> None:
    one = Machine("web-1")
    one.running, one.heard, one.behind, one.told = 2, 990.0, 120, 980.0
    found = machines._of(one, 1_000.0)
    assert (found.state, found.what) == (
        "note",
        "web-1: 2 sessions, heard 10s ago; 120 events waited there 20s ago",
    )
    one.behind, one.heard = 0, 0.0
    assert machines._of(one, 1_000.0).state == "note"
    one.running = 0
    assert machines._of(one, 1_000.0).state == "ok"
    assert machines.examine("/some/file.db") == []


def test_what_came_late_is_not_called_lost() -> None:
    late = Event("gap", "s", data={"count": 0, "reason": "the event store is away since 12:00:00"})
    for said in (mark_words(late)[1], _mark(late)):
        assert said == "what follows arrived later: the event store is away since 12:00:00"
    lost = Event("gap", "s", data={"count": 3, "reason": "locked"})
    assert mark_words(lost)[1].startswith("3 events could not be written")
    assert _mark(lost) == "3 events could not be written: locked"


def test_the_console_says_which_machine_is_behind() -> None:
    desk = Desk(live=True, guard_of=guard_of, events_of=lambda session: ListEvents())
    one, two = Machine("web-1\x1b[31m"), Machine("web-2")
    one.behind, two.behind = 1_200, 3
    desk.take(Batch(time.time(), behind=(one, two)))
    text = "".join(part for part, _ in StatusBar()._behind(desk))
    assert "2 machines behind, web-1" in text and "1.2k events behind" in text
    assert "\x1b" not in text
    desk.take(Batch(time.time()))
    assert StatusBar()._behind(desk) == []
