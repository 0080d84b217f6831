"""A server goes away under its agents and comes back: they go on, and nothing is lost or there twice."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from commands import until
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.session import returning
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import spool_file
from loopguard_core.store.spool import open_spool
from outage import Heard, Line, agent, server
from sessions import call, loop


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    return server(tmp_path, monkeypatch)


def at_server(line: Line) -> Store:
    return open_store(str(line.place))


def back(live: Heard) -> None:
    until(lambda: not live.away, "the session to come back")


def calls_of(store: Store, name: str = "s") -> list[int]:
    return [e.data["args"]["q"] for e in store.read(name) if e.type == "call_start"]


def numbered(store: Store, name: str = "s") -> bool:
    return [e.seq for e in store.read(name)] == [*range(1, store.last(name) + 1)]


def test_what_happens_meanwhile_comes_later_in_order_and_once(line: Line) -> None:
    live, there = agent(line), at_server(line)
    for n in range(3):
        call(live, args={"q": n})
    line.mode = "away"
    for n in range(3, 8):
        assert call(live, args={"q": n}).run
    assert calls_of(there) == [0, 1, 2]
    assert "away since" in live.away
    assert [m for _, m in line.tries if _ == "MainThread"] == ["append"]
    line.mode = "up"
    back(live)
    for n in range(8, 10):
        call(live, args={"q": n})
    assert calls_of(there) == [*range(10)]
    assert numbered(there)
    late = [
        e.data["args"]["q"]
        for e in there.read("s")
        if e.type == "call_start" and "spooled" in e.data
    ]
    assert late == [3, 4, 5, 6, 7]
    gap = next(e for e in there.read("s") if e.type == "gap")
    assert gap.data["count"] == 0 and "away since" in gap.text("reason")
    assert gap.text("host") == os.uname().nodename
    assert [x.partition(";")[0] for x in live.said] == [
        f"the event store {line.name} is away",
        "the event store is back",
    ]
    spool = open_spool(line.name)
    assert spool is not None and spool.backlog() == {}


def test_an_answer_that_was_lost_on_the_way_does_not_give_an_event_twice(line: Line) -> None:
    live, there = agent(line), at_server(line)
    call(live, args={"q": 0})
    line.mode = "deaf"
    for n in range(1, 4):
        call(live, args={"q": n})
    assert calls_of(there) == [0, 1]  # written, and not known to be
    line.mode = "up"
    back(live)
    assert calls_of(there) == [0, 1, 2, 3]
    assert numbered(there)


@pytest.mark.parametrize("first", ["the packet", "the packet, unseen", "what waits here"])
@pytest.mark.parametrize("what", ["a call", "a turn"])
def test_a_packet_that_arrives_after_it_was_given_up_gives_nothing_twice(
    line: Line, what: str, first: str
) -> None:
    live, there = agent(line), at_server(line)
    call(live, args={"q": 0})
    line.mode = "slow"
    if what == "a call":
        call(live, args={"q": 1})
    else:
        live.turn("more")
    if first == "the packet":
        assert line.arrive() == 1
    elif (
        first == "the packet, unseen"
    ):  # it comes between the look at the log and what is sent by it
        line.before = lambda method: method == "extend" and line.arrive()
    line.mode = "up"
    back(live)
    assert line.arrive() == 0
    found = there.read("s")
    assert [e.seq for e in found] == [*range(1, len(found) + 1)]
    assert len({(e.type, e.ts) for e in found}) == len(found)
    assert calls_of(there) == ([0, 1] if what == "a call" else [0])
    assert sum(e.type == "user_message" for e in found) == (what == "a turn")


def test_a_call_in_the_moment_of_the_return_comes_along(line: Line) -> None:
    live, there = agent(line), at_server(line)
    line.mode = "away"
    call(live, args={"q": 0})
    anew, called = threading.Event(), threading.Event()

    def hold(method: str) -> None:
        """What waited is sent, and the guard is just made anew from it."""
        back = threading.current_thread().name == "loopguard-return"
        if back and method == "last_turn" and not anew.is_set():
            anew.set()
            called.wait(30)

    line.before = hold
    line.mode = "up"
    assert anew.wait(30)
    call(live, args={"q": 1})
    called.set()
    back(live)
    call(live, args={"q": 2})
    assert calls_of(there) == [0, 1, 2]
    assert numbered(there)


def test_the_guard_goes_on_where_it_was_and_stops_the_loop(line: Line) -> None:
    """The counts of before, during and after the outage are one: warn on the 2nd, block on the 3rd."""
    live = agent(line, mode="enforce")
    call(live)
    line.mode = "away"
    call(live)
    third = call(live)
    assert not third.run
    assert "Nobody can be asked: the event store is away since" in third.message
    line.mode = "up"
    back(live)
    assert not call(live).run
    there = at_server(line)
    assert [e.data["verdict"]["tier"] for e in there.read("s") if e.type == "call_start"] == [
        "allow",
        "allow",
        "block",
        "halt",
    ]


def test_what_a_person_said_meanwhile_holds_when_it_is_back(line: Line) -> None:
    live, there = agent(line), at_server(line)
    call(live, args={"q": 1})
    line.mode = "away"
    call(live, args={"q": 2})
    escape.halt(there, session="s", by="you@desk")
    assert call(live, args={"q": 3}).run  # it could not know
    line.mode = "up"
    back(live)
    refused = call(live, args={"q": 4})
    assert not refused.run and "halted" in refused.message
    types = [e.type for e in there.read("s") if e.type in ("halt", "call_start")]
    assert types == ["call_start", "halt", "call_start", "call_start", "call_start"]
    assert numbered(there)


def test_a_request_of_the_outage_can_be_approved_late(line: Line) -> None:
    live, there = agent(line), at_server(line)
    loop(live, 2)
    line.mode = "away"
    refused = call(live)
    assert not refused.run and refused.request
    assert "nobody can be asked" in live.said[-1]
    line.mode = "up"
    back(live)
    asked = there.request(refused.request)
    assert asked is not None and asked.resolution == "expired"
    escape.approve(there, refused.request, by="you@desk")
    assert call(live).run


def test_a_session_that_died_with_events_here_is_picked_up_by_the_next_agent(line: Line) -> None:
    live, there = agent(line, "first"), at_server(line)
    call(live, args={"q": 1})
    line.mode = "away"
    for n in (2, 3):
        call(live, args={"q": n})
    live._journal.close()  # as a process that dies: nothing more is written or sent
    line.mode = "up"
    other = agent(line, "second")
    until(lambda: calls_of(there, "first") == [1, 2, 3], "what the first left")
    assert numbered(there, "first")
    other.end()


def test_a_session_that_ends_in_an_outage_tries_once_more(line: Line) -> None:
    live, other = agent(line), agent(line, "stays")
    line.mode = "away"
    for each in (live, other):
        call(each, args={"q": 1})
    other.end()
    line.mode = "up"
    live.end()
    there = at_server(line)
    assert [e.type for e in there.read("s")][-1] == "session_end"
    assert numbered(there)
    spool = open_spool(line.name)
    assert spool is not None and "s" not in spool.backlog()


def failing(line: Line, thread: str, times: int) -> list[str]:
    """What *thread* asks the server fails with an error of our own, so many *times*; what it asked."""
    asked: list[str] = []

    def fail(method: str) -> None:
        if threading.current_thread().name == thread and len(asked) < times:
            asked.append(method)
            raise ZeroDivisionError("a fault")

    line.before = fail
    return asked


def test_an_error_of_our_own_on_the_way_back_is_said_once_and_is_not_the_end_of_the_way(
    line: Line,
) -> None:
    live = agent(line)
    line.mode = "away"
    call(live, args={"q": 1})
    asked = failing(line, "loopguard-return", 3)
    line.mode = "up"
    back(live)
    assert len(asked) == 3
    assert [x for x in live.said if "internal error" in x] == [
        "internal error on the way back to the server: ZeroDivisionError('a fault')"
    ]


def test_an_error_of_our_own_in_the_last_try_is_said_and_what_waits_stays(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returning, "FIRST", 60.0)  # nobody else looks
    live = agent(line)
    line.mode = "away"
    call(live, args={"q": 1})
    failing(line, "MainThread", 1)
    line.mode = "up"
    live.end()
    assert (
        live.said[-1]
        == "internal error while what waits here was sent: ZeroDivisionError('a fault')"
    )
    spool = open_spool(line.name)
    assert spool is not None and list(spool.backlog()) == ["s"]


def test_a_session_that_ends_waits_for_whoever_is_just_sending_it(line: Line) -> None:
    live = agent(line)
    line.mode = "away"
    call(live, args={"q": 1})
    spool = open_spool(line.name)
    assert spool is not None
    lock = spool.alone("s")
    assert lock.__enter__()
    letting = threading.Timer(0.2, lock.__exit__, (None, None, None))
    line.mode = "up"
    letting.start()
    live.end()
    assert [e.type for e in at_server(line).read("s")][-1] == "session_end"
    letting.join()


def test_a_session_that_goes_on_first_sends_what_waits_of_it(line: Line) -> None:
    live = agent(line)
    call(live)
    line.mode = "away"
    call(live)
    live._journal.close()
    line.mode = "up"
    again = agent(line, mode="enforce")
    assert not call(again).run  # the third in a row: the two of before count
    there = at_server(line)
    assert numbered(there)
    assert len(calls_of(there)) == 3


def test_a_server_that_is_away_from_the_start(line: Line) -> None:
    line.mode = "away"
    live = agent(line)
    call(live, args={"q": 1})
    live.turn("again")
    line.mode = "up"
    back(live)
    call(live, args={"q": 2})
    there = at_server(line)
    assert [e.type for e in there.read("s")][:2] == ["gap", "session_start"]
    assert calls_of(there) == [1, 2]
    found = there.session("s")
    assert found is not None and found.agent == "a"


def test_hook_processes_find_the_state_of_the_session_in_what_waits_here(line: Line) -> None:
    """One process a call, none of which lives to see the server again."""
    line.mode = "away"
    tiers = []
    for _ in range(4):
        live = agent(line, attach=True, mode="enforce")
        decision = live.before("search", {"q": 1})
        live.after(decision, "r")
        tiers.append(decision.ruling.verdict.tier.word)
    assert tiers == ["allow", "allow", "block", "halt"]
    line.mode = "up"
    after = agent(line, attach=True, mode="enforce")
    assert not after.before("search", {"q": 1}).run
    there = at_server(line)
    assert numbered(there)
    assert len(calls_of(there)) == 5
    assert [e.type for e in there.read("s")].count("session_start") == 1


def test_what_waits_here_is_private_and_holds_no_secret(line: Line, tmp_path: Path) -> None:
    live = agent(line)
    line.mode = "away"
    secret = "sk-proj-" + "a1B2" * 12
    live.after(live.before("fetch", {"key": secret}), secret)
    file = Path(spool_file(line.name))
    assert file.is_relative_to(tmp_path / "state")
    for path in file.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert secret.encode() not in path.read_bytes()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    line.mode = "up"
    back(live)
    assert secret not in str(at_server(line).read("s"))


def test_where_nothing_can_be_kept_here_either_the_gap_is_counted(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = agent(line)
    file = Path(spool_file(line.name))
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(file.parent, ignore_errors=True)
    file.parent.write_text("")  # a file stands where the spool's folder would
    line.mode = "away"
    assert call(live).run
    assert live.failure
    line.mode = "up"
    monkeypatch.setattr(live._journal, "_retry_at", 0.0)
    call(live)
    gaps = [e for e in at_server(line).read("s") if e.type == "gap"]
    assert [g.data["count"] for g in gaps] == [2]


def test_many_sessions_of_one_process_come_back(line: Line) -> None:
    lives = [agent(line, f"s{n}") for n in range(12)]
    line.mode = "away"
    for n, live in enumerate(lives):
        for q in range(n % 4):
            call(live, args={"q": q})
    line.mode = "up"
    for live in lives:
        back(live)
    there = at_server(line)
    for n in range(12):
        assert calls_of(there, f"s{n}") == [*range(n % 4)]
        assert numbered(there, f"s{n}")


def test_a_child_goes_on_while_the_server_is_away(line: Line) -> None:
    live = agent(line)
    line.mode = "away"
    call(live, args={"q": 0})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call(live, args={"q": 1})
            line.mode = "up"  # for it alone: it finds its own way back
            back(live)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    call(live, args={"q": 2})
    line.mode = "up"
    back(live)
    assert calls_of(at_server(line)) == [0, 1, 2]
    assert numbered(at_server(line))


def test_more_than_a_batch_is_sent_and_a_person_may_write_meanwhile(line: Line) -> None:
    live, there = agent(line), at_server(line)
    line.mode = "away"
    for n in range(700):
        call(live, args={"q": n})
    there.append(Event("note", "s", ts=1.0, data={"text": "here"}))
    line.mode = "up"
    back(live)
    assert calls_of(there) == [*range(700)]
    assert numbered(there)


@pytest.mark.parametrize("as_folder", [False, True])
def test_a_spool_that_is_damaged_is_put_aside_and_said(line: Line, as_folder: bool) -> None:
    path = Path(spool_file(line.name))
    path.parent.mkdir(parents=True)
    if as_folder:
        path.mkdir()
    else:
        path.write_bytes(b"nothing of ours " * 99)
    live, there = agent(line), at_server(line)
    assert path.name in live.said[0]
    call(live, args={"q": 1})
    line.mode = "away"
    call(live, args={"q": 2})
    line.mode = "up"
    back(live)
    assert calls_of(there) == [1, 2]
    assert len([p for p in path.parent.iterdir() if ".damaged-" in p.name]) == 1


def test_a_spool_that_breaks_off_does_not_keep_a_session_from_its_server(line: Line) -> None:
    spool, there = open_spool(line.name), at_server(line)
    assert spool is not None
    for n in range(200):
        spool.append(Event("note", "first", ts=float(n), data={"n": n}))
    spool.close()
    path = Path(spool_file(line.name))
    for beside in path.parent.glob("spool.db-*"):
        beside.unlink()
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 9_000)
    other = agent(line, "second")
    call(other, args={"q": 1})
    assert calls_of(there, "second") == [1]
    assert any("is not sent" in said for said in other.said)
