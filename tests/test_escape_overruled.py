"""A person who stops what was just let run: their word counts for a call that its agent has not taken up yet."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Request, Store
from sessions import loop, pending, session, store_in

ASK: dict[str, Any] = {"unattended_wait_seconds": 600}
HALT = ("halt", {"scope": "turn", "note": "wait for me"})


def resolved(asked: Request, **said: object) -> tuple[str, dict[str, Any]]:
    data = {"request": asked.request, "call": asked.call, "signature": asked.signature}
    return "request_resolved", {**data, "resolution": "approved", **said}


def say(desk: Store, *words: tuple[str, dict[str, Any]]) -> None:
    """*words* in one transaction: the agent sees the first not before the last."""
    desk.extend([Event(type, "s", ts=9e8, data={**data, "by": "you@desk"}) for type, data in words])


@pytest.mark.parametrize("resolution", ["approved", "modified"])
def test_a_halt_after_the_approval_stops_the_call(tmp_path: Path, resolution: str) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    said: list[str] = []
    live = session(store, said=said, **ASK)
    loop(live, 2)
    with ThreadPoolExecutor() as threads:
        waits = threads.submit(live.before, "search", {"q": 1})
        say(desk, resolved(pending(desk), resolution=resolution, args={"q": 2}), HALT)
        decision = waits.result(20)
    assert not decision.run and decision.ends_turn
    assert "a human halted this turn" in decision.message
    assert "wait for me" in decision.message
    assert "you@desk halted the agent" in said[-1]
    end = desk.read("s")[-1]
    assert (end.type, end.data["outcome"]) == ("call_end", "blocked")
    assert not live.before("read", {}).run


def test_a_task_that_comes_late_to_its_answer_heeds_what_was_said_since(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)

    async def scene() -> bool:
        waits = asyncio.create_task(live.before_async("search", {"q": 1}))
        while not desk.requests(pending=True):
            await asyncio.sleep(0.005)
        say(desk, resolved(pending(desk)), HALT)
        return (await waits).run

    assert asyncio.run(scene()) is False


def test_an_approval_after_the_halt_stands(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, **ASK)
    loop(live, 2)
    with ThreadPoolExecutor() as threads:
        waits = threads.submit(live.before, "search", {"q": 1})
        say(desk, HALT, resolved(pending(desk)))
        assert waits.result(20).run
    assert not live.before("read", {}).run, "the halt holds for what comes after it"


def test_what_runs_unanswered_does_not_run_after_a_halt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, unanswered={"block": "run"})
    loop(live, 2)
    add, journal = live._journal.add, live._journal

    def halted_right_after(event: Event, once: bool = False) -> None:
        add(event, once)
        if event.type == "request_resolved":
            say(desk, HALT)

    monkeypatch.setattr(journal, "add", halted_right_after)
    decision = live.before("search", {"q": 1})
    assert not decision.run and "a human halted" in decision.message
