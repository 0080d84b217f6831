"""A guard whose beginning or end is interrupted (Ctrl-C in a notebook) keeps nobody out, and ends all the same."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from traceback import extract_tb

import pytest

from interrupting import Interrupt
from loopguard_core.shim import ConfigError, LoopGuard
from loopguard_core.store.door import open_store


def free(place: str) -> None:
    """Others can write to the store."""
    with sqlite3.connect(place, timeout=0, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    other.close()


@pytest.mark.parametrize(("within", "apart"), [("", 6), ("core/store/", 6), ("core/shim", 1)])
def test_an_interrupt_while_a_guard_begins_locks_nobody_out_while_its_traceback_is_kept(
    within: str, apart: int, tmp_path: Path
) -> None:
    place, nth, kept = str(tmp_path / "e.db"), 0, []
    LoopGuard(session="first", store=place).close()
    while True:
        nth += apart
        guard = None
        try:
            with Interrupt(nth, within) as interrupt:
                guard = LoopGuard(session=f"s{nth}", store=place, say=lambda line: None)
        except KeyboardInterrupt as error:
            kept.append(error)
            if "__init__" not in [frame.name for frame in extract_tb(error.__traceback__)]:
                os.environ.pop("LOOPGUARD_SESSION", None)  # it had begun, and nobody was given it
        free(place)
        assert guard is not None or "LOOPGUARD_SESSION" not in os.environ
        if guard is not None:
            guard.close()
        if interrupt.left > 0:
            break
    assert nth > 20


@pytest.mark.parametrize(("within", "apart"), [("", 5), ("session/leaving", 1), ("core/shim", 1)])
def test_an_end_that_is_interrupted_is_made_up_for_by_the_next(
    within: str, apart: int, tmp_path: Path
) -> None:
    nth = 0
    while True:
        nth += apart
        place = str(tmp_path / f"{nth}.db")
        guard = LoopGuard(session="s", store=place, say=lambda line: None)
        guard.before_call("read", {"n": 1})
        try:
            with Interrupt(nth, within) as interrupt:
                guard.close()
        except KeyboardInterrupt:
            pass
        free(place)
        guard.close()
        assert "LOOPGUARD_SESSION" not in os.environ
        store = open_store(place)
        events = store.read("s")
        store.close()
        assert [e.type for e in events if e.type.endswith("_end")] == ["call_end", "session_end"]
        if interrupt.left > 0:
            break
    assert nth > 5


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    code: int


class Own(Exception):
    __notes__ = ("mine",)  # type: ignore[assignment]


class Fixed(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("fixed")


@pytest.mark.parametrize("kind", [Frozen, Own, Fixed])
def test_an_exception_that_takes_no_notes_reaches_the_agent_as_it_is(
    kind: type[Exception], tmp_path: Path
) -> None:
    with LoopGuard(store=str(tmp_path / "e.db"), policy="graded") as guard:

        @guard.tool
        def fetch(n: int) -> None:
            raise kind(500)

        for _ in range(2):
            with pytest.raises(kind):
                fetch(1)
        assert len(guard.take_advice()) == 1


@pytest.mark.parametrize("store", ["a\0b.db", "\ud800.db"])
def test_a_store_that_can_be_no_path_is_a_wrong_setting(store: str) -> None:
    with pytest.raises(ConfigError, match="store is no path"):
        LoopGuard(store=store)


@pytest.mark.parametrize("handled", ["while it is judged", "while it runs"])
def test_a_handler_that_closes_the_guard_and_exits_says_nothing_of_a_store(
    handled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program does that is asked to end."""
    said: list[str] = []
    guard = LoopGuard(session="s", store=tmp_path / "events.db", policy="graded", say=said.append)

    def over(*_: object) -> None:
        guard.close("terminated")
        raise SystemExit

    def tool(n: int) -> str:
        if handled == "while it runs":
            over()
        return "text"

    if handled == "while it is judged":
        monkeypatch.setattr("loopguard_core.session.live.Payload", over)
    with pytest.raises(SystemExit):
        guard.tool(tool)(1)
    monkeypatch.undo()
    assert said == []
    with closing(open_store(str(tmp_path / "events.db"))) as store:
        events = store.read("s")
    assert events[-1].type == "session_end"
    ends = [e.data["outcome"] for e in events if e.type == "call_end"]
    assert ends == (["pending"] if handled == "while it runs" else [])
    guard.before_call("tool", {"n": 2})
    assert "was closed" in said[0], "who uses a guard that is closed is told"
