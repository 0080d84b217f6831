"""A task for which no thread waits, as there is none or its loop is not asyncio's, waits for a human all the same."""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from loopguard_core import escape
from loopguard_core.decision import Decision
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import Store
from sessions import loop, session, store_in


@pytest.fixture
def desk(tmp_path: Path) -> Store:
    return store_in(tmp_path)


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LiveSession:
    """A session in which the next call is stopped, in a process that is out of threads."""
    made = session(store_in(tmp_path), unattended_wait_seconds=20)
    loop(made, 2)

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    return made


async def asked(desk: Store) -> str:
    while not desk.requests(pending=True):
        await asyncio.sleep(0.01)
    return desk.requests(pending=True)[0].request


@pytest.mark.parametrize(("decide", "runs"), [(escape.approve, True), (escape.deny, False)])
def test_it_takes_the_answer_and_holds_up_no_other_task(
    desk: Store, live: LiveSession, decide: Callable[[Store, str], object], runs: bool
) -> None:
    async def both() -> Decision:
        waits = asyncio.create_task(live.before_async("search", {"q": 1}))
        decide(desk, await asked(desk))
        return await waits

    assert asyncio.run(both()).run is runs
    assert [e for e in desk.read("s") if e.type == "gap"] == []


def test_it_may_be_cancelled(desk: Store, live: LiveSession) -> None:
    async def both() -> None:
        waits = asyncio.create_task(live.before_async("search", {"q": 1}))
        await asked(desk)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits

    asyncio.run(both())
    assert [r.resolution for r in desk.requests()] == ["cancelled"]
    assert live.guard.open_calls() == []


def test_it_waits_no_longer_than_it_may(desk: Store, live: LiveSession) -> None:
    decision = asyncio.run(live.before_async("search", {"q": 1}, wait_limit=0.1))
    assert not decision.run
    assert [r.resolution for r in desk.requests()] == ["expired"]


@types.coroutine
def step(seconds: float) -> Generator[float]:
    """As a loop that is not asyncio's has its tasks sleep."""
    yield seconds


@pytest.mark.parametrize(("decide", "runs"), [(escape.approve, True), (escape.deny, False)])
def test_a_task_of_trio_lets_the_others_go_on(
    decide: Callable[[Store, str], object],
    runs: bool,
    tmp_path: Path,
    desk: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trio = types.SimpleNamespace(
        lowlevel=types.SimpleNamespace(current_task=lambda: None), sleep=step
    )
    monkeypatch.setitem(sys.modules, "trio", trio)
    with session(store_in(tmp_path), unattended_wait_seconds=20) as live:
        loop(live, 2)
        task = live.before_async("search", {"q": 1})
        assert task.send(None) == task.send(None) > 0, "it sleeps, so that others can run"
        decide(desk, desk.requests(pending=True)[0].request)
        with pytest.raises(StopIteration) as ended:
            task.send(None)
        assert ended.value.value.run is runs
        if not runs:
            return
        task = live.before_async("search", {"q": 1})
        task.send(None)
        with pytest.raises(KeyboardInterrupt):  # as a task is cancelled
            task.throw(KeyboardInterrupt)
    assert {r.resolution for r in desk.requests()} == {"approved", "cancelled"}
