"""Several processes, or guards of one, serve one session: it goes on until the last of them has left it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopguard_core import escape
from loopguard_core.inbox import runs, still_waiting
from loopguard_core.session import leaving
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store
from processes import environment
from sessions import approve_pending, pending

OTHER = """
import sys
from loopguard_core.shim import LoopGuard
guard = LoopGuard("other", session="s", store=sys.argv[1], policy="graded")
guard.before_call("theirs", {}, call="theirs")
print("there", flush=True)
sys.stdin.readline()
guard.close("it leaves")
print("left", flush=True)
sys.stdin.readline()
"""


class Other:
    """Another process that serves the session, with a call that runs."""

    def __init__(self, place: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(place)],
            env=environment(XDG_STATE_HOME=str(place.parent / "state")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.said() == "there"

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def leave(self) -> None:
        self.tell()
        assert self.said() == "left"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    return tmp_path / "events.db"


@pytest.fixture
def guard(place: Path) -> Iterator[LoopGuard]:
    with LoopGuard("a", session="s", store=place, policy="graded", say=lambda _: None) as guard:
        yield guard


@pytest.fixture
def other(guard: LoopGuard, place: Path) -> Iterator[Other]:
    other = Other(place)
    yield other
    other.process.kill()
    other.process.communicate(timeout=30)


def ends(place: Path) -> dict[str, str]:
    log = open_store(str(place)).read("s")
    return {e.text("call"): e.text("outcome") for e in log if e.type == "call_end"}


def types(place: Path) -> list[str]:
    return [e.type for e in open_store(str(place)).read("s")]


def test_a_session_goes_on_in_the_process_that_is_left(
    guard: LoopGuard, other: Other, place: Path
) -> None:
    mine = guard.before_call("mine", {}, call="mine")
    other.leave()
    store = open_store(str(place))
    known = store.session("s")
    assert known is not None and not known.ended and known.pid == guard.live._pid
    assert ends(place) == {"theirs": "pending"}, "it ended what it began, and no more"
    guard.after_call(mine, "text")
    assert ends(place)["mine"] == "ok"
    guard.close()
    known = store.session("s")
    assert known is not None and known.ended
    assert types(place).count("session_end") == 1


def test_who_leaves_first_ends_nothing_also_where_it_began_first(
    guard: LoopGuard, other: Other, place: Path
) -> None:
    guard.close()
    known = open_store(str(place)).session("s")
    assert known is not None and not known.ended and known.pid == other.process.pid
    assert "theirs" not in ends(place)
    other.leave()
    known = open_store(str(place)).session("s")
    assert known is not None and known.ended and ends(place)["theirs"] == "pending"


def test_a_request_of_the_one_that_is_left_still_waits_and_can_be_answered(
    guard: LoopGuard, other: Other, place: Path
) -> None:
    guard.live.config.unattended_wait_seconds = 60
    for _ in range(2):
        guard.after_call(guard.before_call("search", {"q": 1}), "r")
    ran: list[bool] = []
    waits = threading.Thread(target=lambda: ran.append(guard.before_call("search", {"q": 1}).run))
    waits.start()
    store = open_store(str(place))
    asked = pending(store)
    other.leave()
    assert [r.request for r in still_waiting(store)] == [asked.request]
    assert escape.sweep(store) == []
    approve_pending(store)
    waits.join(30)
    assert ran == [True]


def test_a_process_that_is_killed_ends_nothing_and_the_last_one_does(
    guard: LoopGuard, other: Other, place: Path
) -> None:
    other.process.kill()
    other.process.wait(30)
    store = open_store(str(place))
    assert runs(store, "s"), "the other one still serves it"
    guard.close()
    known = store.session("s")
    assert known is not None and known.ended and ends(place) == {"theirs": "pending"}


def test_one_that_is_left_alone_while_it_leaves_ends_the_session(
    guard: LoopGuard, other: Other, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard.before_call("mine", {}, call="mine")
    end = leaving._end_own

    def meanwhile(*args: Any) -> None:
        other.leave()
        end(*args)

    monkeypatch.setattr(leaving, "_end_own", meanwhile)
    guard.close()
    known = open_store(str(place)).session("s")
    assert known is not None and known.ended
    assert types(place)[-1] == "session_end"
    assert ends(place) == {"theirs": "pending", "mine": "pending"}


def test_processes_that_leave_at_once_end_the_session_once(place: Path) -> None:
    others = [Other(place) for _ in range(2)]
    for other in others:
        other.tell()
    assert [other.said() for other in others] == ["left", "left"]
    known = open_store(str(place)).session("s")
    assert known is not None and known.ended
    assert types(place).count("session_end") == 1 and types(place)[-1] == "session_end"
    for other in others:
        other.process.communicate(timeout=30)


def test_a_second_guard_in_one_process_leaves_the_first_ones_calls_alone(
    guard: LoopGuard, place: Path
) -> None:
    mine = guard.before_call("mine", {}, call="mine")
    with LoopGuard("b", session="s", store=place, policy="graded") as second:
        second.before_call("theirs", {}, call="theirs")
    assert ends(place) == {"theirs": "pending"} and "session_end" not in types(place)
    guard.after_call(mine, "text")
    ended = [e for e in open_store(str(place)).read("s") if e.type == "call_end"]
    assert "verdict" in ended[-1].data, "it is judged: it did not end with the other's start"
    guard.close()
    assert types(place)[-1] == "session_end"
