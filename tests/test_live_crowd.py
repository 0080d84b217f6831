"""A session that several processes serve: what others write during a call makes no call cost what the turn is long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.identity import Digester
from loopguard_core.shim import LoopGuard
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.memory import MemoryStore
from loopguard_core.store.sqlite import SqliteStore

CALLS = 120


def opened(kind: str, folder: Path) -> tuple[Store, Store]:
    """The store as two processes have it."""
    if kind == "memory":
        return (store := MemoryStore()), store
    path = str(folder / "events.db")
    return SqliteStore(path), SqliteStore(path)


@pytest.fixture
def guard() -> Iterator[Callable[..., LoopGuard]]:
    """Makes guards of one session; they are closed in the end."""
    with ExitStack() as made:
        yield lambda name, **how: made.enter_context(LoopGuard(name, session="shared", **how))


def beside(one: LoopGuard, other: LoopGuard, calls: int = CALLS) -> None:
    """Calls of *one* during each of which *other* makes one."""
    for n in range(calls):
        decision = one.before_call("outer", {"n": n})
        other.after_call(other.before_call("inner", {"n": n % 7}), n % 3)
        one.after_call(decision, f"result {n}")


def replayed(of: LoopGuard, store: Store) -> bool:
    """Whether a replay of the log gives the verdicts that stand in it."""
    config = of.live.config
    digester = of.live.guard.digester
    assert isinstance(digester, Digester)
    fold = Guard(config.make_policy(), mode=config.mode, digester=digester)
    for event in store.read(of.session, payloads=False):
        verdict = fold.apply(event)
        if event.type in ("call_start", "call_end"):
            stored = event.data.get("verdict")
            if stored != (None if verdict is None else verdict.to_json()):
                return False
    return True


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_end_costs_what_others_wrote_and_not_the_turn(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: Callable[..., LoopGuard]
) -> None:
    read = 0

    def counted(of: type[Store]) -> None:
        real = of.read

        def reading(self: Store, session: str, **how: Any) -> list[Event]:
            nonlocal read
            found = real(self, session, **how)
            read += len(found)
            return found

        monkeypatch.setattr(of, "read", reading)

    counted(MemoryStore if kind == "memory" else SqliteStore)
    first, second = opened(kind, tmp_path)
    one = guard("one", store=first, mode="observe")
    other = guard("other", store=second, mode="observe")
    beside(one, other)
    written = first.last("shared")
    assert written >= 4 * CALLS
    assert (
        read < 4 * written
    )  # each wrote half of it; folding the turn anew for each end reads a hundred times that
    assert replayed(one, first)
    numbers = [event.seq for event in first.read("shared")]
    assert numbers == list(range(1, written + 1))


def test_a_store_that_fails_while_nobody_else_may_write_stops_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: Callable[..., LoopGuard]
) -> None:
    first, second = opened("sqlite", tmp_path)
    said: list[str] = []
    one = guard("one", store=first, say=said.append)
    other = guard("other", store=second)
    beside(one, other, 3)

    for where in ("__enter__", "__exit__"):

        class Failing:
            """A block whose beginning, or whose end, fails."""

            def __enter__(self, where: str = where) -> None:
                if where == "__enter__":
                    raise StoreError("the disk is full")

            def __exit__(self, *_: object) -> None:
                raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "exclusively", lambda self: Failing())
            beside(one, other, 1)
        assert one.before_call("outer", {"where": where}).run
    monkeypatch.setattr("loopguard_core.session.journal._FIRST_PAUSE", 0.0)
    one.live._journal._retry_at = 0.0
    one.new_turn("go on")
    assert replayed(one, first)
    log = first.read("shared")
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert sum("full" in line for line in said) == 1


def test_a_store_that_was_replaced_while_others_write_is_begun_anew(
    tmp_path: Path, guard: Callable[..., LoopGuard]
) -> None:
    first, second = opened("sqlite", tmp_path)
    said: list[str] = []
    one = guard("one", store=first, say=said.append)
    other = guard("other", store=second, say=said.append)
    beside(one, other, 3)
    decision = one.before_call("outer", {"n": "last"})
    for file in tmp_path.glob("events.db*"):
        file.unlink()
    assert one.after_call(decision, "r") == "r"
    beside(one, other, 2)
    log = first.read("shared")
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert {"session_start", "gap", "call_end"} <= {event.type for event in log}
