"""Sessions go from one store to another, each event once and in order, wherever it is stopped."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import command, until
from faulty import Faulty
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.forwarding import Forwarder
from loopguard_core.store.memory import MemoryStore
from processes import CONSOLE, environment
from sessions import loop, session


def log(store: Store, name: str) -> list[Event]:
    return store.read(name)


def recorded(store: Store, name: str, calls: int, *, asked: bool = True) -> None:
    """A session of *calls* calls, with a request that was answered."""
    at = 1_000.0
    store.append(Event("session_start", name, ts=at, data={"agent": "a", "host": "h"}))
    for n in range(calls):
        call = {"call": f"c{n}", "tool": "t", "args": {"n": n, "text": "x" * (n % 5 * 900)}}
        store.append(Event("call_start", name, ts=at + n, data=call))
        if asked and n % 5 == 1:
            opened = Event(
                "request_opened", name, ts=at + n, data={"call": f"c{n}", "tier": "block"}
            )
            store.append(opened)
            answer = {"request": opened.text("request"), "resolution": "expired", "call": f"c{n}"}
            store.append(Event("request_resolved", name, ts=at + n, data=answer))
        end = {"call": f"c{n}", "outcome": "ok", "result": "r" * 2_500}
        store.append(Event("call_end", name, ts=at + n + 0.5, data=end))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "from").mkdir()
    store = open_store(str(tmp_path / "from" / "events.db"))
    yield store
    store.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "to").mkdir()
    store = open_store(str(tmp_path / "to" / "events.db"))
    yield store
    store.close()


def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "from" / "events.db", tmp_path / "to" / "events.db"


def test_everything_is_copied_once_under_its_number(
    tmp_path: Path, here: Store, there: Store
) -> None:
    recorded(here, "one", 300)
    recorded(here, "two", 7)
    done = command(None, "forward", *places(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert done.out == "2 sessions, 740 events copied\n"
    for name in ("one", "two"):
        assert log(there, name) == log(here, name)
    again = command(None, "forward", *places(tmp_path), "--json")
    assert (again.code, again.objects[0]["events"], again.objects[0]["known"]) == (0, 0, 740)


def test_one_session_can_be_named(tmp_path: Path, here: Store, there: Store) -> None:
    for name in ("one", "two", "three"):
        recorded(here, name, 3)
    done = command(
        None, "forward", *places(tmp_path), "--session", "one", "--session", "th", "--json"
    )
    assert done.code == 0
    assert sorted(s.session for s in there.sessions()) == ["one", "three"]
    wrong = command(None, "forward", *places(tmp_path), "--session", "nobody")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    stops=st.lists(st.integers(0, 20), max_size=6),
    seed=st.integers(0, 999),
)
def test_stopped_anywhere_it_goes_on(sizes: list[int], stops: list[int], seed: int) -> None:
    """Also where the target fails, and where more is written to the source meanwhile."""
    source, target, rng = MemoryStore(), MemoryStore(), random.Random(seed)
    for at, calls in enumerate(sizes):
        recorded(source, f"s{at}", calls)
    for stop in stops:
        faulty = Faulty(target)
        events = Forwarder(source, faulty).sessions([s.session for s in source.sessions()])
        with contextlib.suppress(StoreError):
            for _ in islice(events, stop):
                faulty.broken = rng.random() < 0.1
        source.append(Event("note", "s0", ts=2_000.0, data={"text": str(stop)}))
    list(Forwarder(source, target).sessions([s.session for s in source.sessions()]))
    for found in source.sessions():
        assert log(target, found.session) == log(source, found.session)


def test_killed_in_the_middle_it_goes_on(tmp_path: Path, here: Store, there: Store) -> None:
    for at in range(6):
        recorded(here, f"s{at}", 400, asked=at % 2 == 0)
    argv = [*CONSOLE, "forward", *map(str, places(tmp_path))]

    def copied() -> int:
        return sum(found.seq for found in there.sessions())

    def copied_to(enough: int) -> bool:
        return copied() >= enough

    for n in range(4):
        # what the process before it left may be enough: it must have begun itself to be interrupted
        enough = max(900 * (n + 1), copied() + 1)
        running = subprocess.Popen(argv, env=environment(XDG_STATE_HOME=str(tmp_path)))
        until(partial(copied_to, enough), "events")
        running.send_signal(signal.SIGKILL if n % 2 else signal.SIGINT)
        assert running.wait(30) in (-signal.SIGKILL, 130, 0)
    assert command(None, "forward", *places(tmp_path)).code == 0
    for found in here.sessions():
        assert log(there, found.session) == log(here, found.session)


def test_two_at_a_time_do_no_harm(here: Store, there: Store) -> None:
    for at in range(3):
        recorded(here, f"s{at}", 250, asked=False)
        here.append(Event("user_message", f"s{at}", ts=1.0, data={"text": "x"}))
    names = [s.session for s in here.sessions()]
    forwarders = [Forwarder(here, there) for _ in range(3)]
    threads = [threading.Thread(target=lambda f=f: list(f.sessions(names))) for f in forwarders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [f.result.diverged for f in forwarders] == [{}, {}, {}]
    for name in names:
        assert log(there, name) == log(here, name)


def test_a_request_whose_name_is_taken_gets_another_with_all_that_refers_to_it(
    tmp_path: Path, here: Store, there: Store
) -> None:
    loop(session(here, "asked", mode="enforce", policy="graded"), 3)
    request = here.requests()[-1].request
    escape.approve(here, request, by="you@desk")  # late: a grant that names it
    escape.deny(here, request, by="you@desk", note="no more")  # takes it back
    here.append(Event("note", "asked", data={"on": request, "text": "see to it"}))
    recorded(there, "other", 3)
    assert there.requests()[-1].request == request == "R1"
    done = command(None, "forward", *places(tmp_path))
    assert done.code == 0
    assert "R1 of asked is called R1@asked there" in done.err
    copied = there.request("R1@asked")
    assert copied is not None and (copied.session, copied.resolution) == ("asked", "expired")
    named = [
        (e.type, e.text("request") or e.text("on"))
        for e in log(there, "asked")
        if e.text("request") or e.text("on")
    ]
    assert named == [
        (kind, "R1@asked")
        for kind in ("request_opened", "request_resolved", "grant", "revoke", "note")
    ]
    assert [r.session for r in there.requests()] == ["other", "asked"]
    again = command(None, "forward", *places(tmp_path), "--json").objects[0]
    assert (again["events"], again["diverged"]) == (0, {})


def test_a_session_that_went_on_differently_is_left_alone_and_named(
    tmp_path: Path, here: Store, there: Store
) -> None:
    recorded(here, "both", 200)
    recorded(here, "fine", 2)
    assert command(None, "forward", *places(tmp_path)).code == 0
    there.append(Event("halt", "both", ts=9.0, data={"by": "you@desk"}))
    recorded(here, "later", 1)
    for n in range(300):
        here.append(Event("note", "both", ts=9.0 + n, data={"text": str(n)}))
        there.append(Event("note", "both", ts=9.0 + n, data={"text": str(n)}))
    before = log(there, "both")
    done = command(None, "forward", *places(tmp_path))
    assert done.code == 1
    first = len(before) - 300
    assert f"session both was left alone: from its event {first} on (note in " in done.err
    assert "halt in" in done.err
    assert log(there, "both") == before
    assert log(there, "later") == log(here, "later")
    ahead = command(None, "forward", *reversed(places(tmp_path)), "--session", "fine")
    assert (ahead.code, ahead.out) == (0, "1 session, 0 events copied, 7 were there already\n")


def test_what_was_redacted_stays_redacted_and_digests_stay(here: Store, there: Store) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    live = session(here, "secrets")
    for _ in range(2):
        live.after(live.before("fetch", {"password": "hunter2hunter2", "key": secret}), secret)
    list(Forwarder(here, there).sessions(["secrets"]))
    assert log(there, "secrets") == log(here, "secrets")
    assert "[redacted:" in str(log(there, "secrets")) and secret not in str(log(there, "secrets"))


def test_what_comes_is_followed_until_it_is_stopped(
    tmp_path: Path, here: Store, there: Store
) -> None:
    recorded(here, "old", 3)
    argv = [*CONSOLE, "forward", *map(str, places(tmp_path)), "--follow"]
    running = subprocess.Popen(
        argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: there.last("old") == here.last("old"), "what was there")
    live = session(here, "new")
    loop(live, 2)
    until(lambda: there.last("new") == here.last("new"), "what came")
    live.end()
    until(lambda: there.last("new") == here.last("new"), "the end")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (0, "")
    assert out.startswith("2 sessions, ")
    assert log(there, "new") == log(here, "new")


def test_wrong_stores_are_refused_in_one_line(tmp_path: Path, here: Store) -> None:
    recorded(here, "s", 1)
    source, target = places(tmp_path)
    (tmp_path / "link.db").symlink_to(source)
    for pair in ((source, source), (tmp_path / "no.db", target), (source, tmp_path / "link.db")):
        done = command(None, "forward", *pair)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    folder = command(None, "forward", source, tmp_path)
    assert (folder.code, folder.err.count("\n")) == (1, 1)


def test_a_guarded_agent_cannot_forward_itself_an_approval(
    tmp_path: Path, here: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(here, "s", 1)
    monkeypatch.setenv("LOOPGUARD_SESSION", "s")
    done = command(None, "forward", *places(tmp_path))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert not places(tmp_path)[1].exists()
