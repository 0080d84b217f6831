"""Identical calls at once, in threads, tasks or one parallel batch, cannot slip past a threshold."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.decision import Decision
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.identity import Digester
from loopguard_core.policies.registry import create
from sessions import session, store_in

#: policy -> its options, and how many identical failing calls may run before it stops them
STOPS: dict[str, tuple[dict[str, Any], int]] = {
    "hermes": ({"hard_stop_enabled": True}, 5),
    "hermes-seed": ({"hard_stop_enabled": True}, 5),
    "hermes-0.22": ({"hard_stop_enabled": True}, 5),
    "tool-loop-guard": ({}, 2),
    "graded": ({}, 2),
    "dsh": ({}, 8),
    "progress": ({}, 4),
}
MANY = 24


def settings(name: str) -> dict[str, Any]:
    return {"policy": name, "mode": "enforce", "policies": {name: STOPS[name][0]}}


@pytest.mark.parametrize("name", list(STOPS))
def test_threads_that_call_at_once(name: str, tmp_path: Path) -> None:
    started = threading.Barrier(MANY)
    decided = threading.Barrier(MANY)
    ran: list[Decision] = []

    with session(store_in(tmp_path), **settings(name)) as live:

        def work() -> None:
            started.wait()
            decision = live.before("fetch", {"url": "x"})
            decided.wait()  # nothing ends before everything was decided
            if decision.run:
                ran.append(decision)
                live.after(decision, "boom", outcome="error")

        threads = [threading.Thread(target=work) for _ in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ran) == STOPS[name][1]
        if name != "progress":  # for which a batch is one step, whose answers nobody has seen yet
            assert not live.before("fetch", {"url": "x"}).run


@pytest.mark.parametrize("name", list(STOPS))
def test_tasks_that_call_at_once(name: str, tmp_path: Path) -> None:
    asked: list[bool] = []

    async def work(live: Any, go: asyncio.Event) -> bool:
        decision = await live.before_async("fetch", {"url": "x"})
        asked.append(decision.run)
        if not decision.run:
            return False
        await go.wait()
        live.after(decision, "boom", outcome="error")
        return True

    async def batch(live: Any) -> int:
        go = asyncio.Event()
        tasks = [asyncio.ensure_future(work(live, go)) for _ in range(MANY)]
        while len(asked) < MANY:
            await asyncio.sleep(0.001)
        go.set()
        return sum(await asyncio.gather(*tasks))

    with session(store_in(tmp_path), **settings(name)) as live:
        assert asyncio.run(batch(live)) == STOPS[name][1]


def start(name: str, message: str = "m") -> Event:
    data = {"call": name, "tool": "fetch", "args": {"url": "x"}, "message": message}
    return Event("call_start", data=data)


@pytest.mark.parametrize("name", list(STOPS))
def test_one_parallel_batch(name: str) -> None:
    guard = Guard(create(name, STOPS[name][0]), mode="enforce")
    ran = []
    for index in range(MANY):
        event = start(f"c{index}")
        if guard.rule(event).action == "run":
            ran.append(event)
        guard.apply(event)
    assert len(ran) == STOPS[name][1]


@pytest.mark.parametrize("name", ["hermes", "hermes-seed", "hermes-0.22", "dsh"])
def test_presumed_repeats_are_forgotten_when_the_calls_turn_out_otherwise(name: str) -> None:
    guard = Guard(create(name, STOPS[name][0]), mode="enforce")
    for index in range(STOPS[name][1]):
        guard.apply(start(f"c{index}"))
    stopped = guard.rule(start("one more"))
    assert stopped.action == "refuse"
    assert "still running" in stopped.verdict.reason
    for index in range(STOPS[name][1]):
        data = {"call": f"c{index}", "outcome": "ok", "result": f"answer {index}"}
        guard.apply(Event("call_end", data=data))
    assert guard.rule(start("one more")).action == "run"


def test_calls_that_never_end_are_forgotten_with_the_turn_and_with_their_process() -> None:
    for forget in (Event("user_message"), Event("session_start", data={"resumed": True})):
        guard = Guard(create("dsh"), mode="enforce")
        for index in range(8):
            guard.apply(start(f"c{index}"))
        assert guard.rule(start("one more")).action == "refuse"
        guard.apply(forget)
        assert guard.rule(start("one more")).action == "run"


def test_threads_that_hash_at_once_agree() -> None:
    body = "line\n" * 20_000
    texts = [f"{n}{body}{n}" for n in range(6)] * 30
    values = [{"text": text, "n": [1, 2]} for text in texts[:6]] * 30
    digester, started = Digester(b"key"), threading.Barrier(4)
    found: list[list[str]] = []

    def work() -> None:
        started.wait()
        found.append([digester(text) for text in texts] + [digester.of(v)[1] for v in values])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one = Digester(b"key")
    right = [one(text) for text in texts] + [one.of(value)[1] for value in values]
    assert found == [right] * 4


@pytest.mark.parametrize("size", [2, 3, 4, 6])
@pytest.mark.parametrize("name", list(STOPS))
def test_no_call_of_a_batch_slips_past_a_threshold_that_stands(
    name: str, size: int, tmp_path: Path
) -> None:
    """Whatever another detector of the policy says of calls that stand side by side in one message."""

    def message(number: int, calls: int) -> list[bool]:
        decisions = [live.before("fetch", {"url": "x"}, message=f"m{number}") for _ in range(calls)]
        for decision in decisions:
            live.after(decision, "boom", outcome="error")
        return [decision.run for decision in decisions]

    with session(store_in(tmp_path), **settings(name)) as live:
        number = 0
        while message(number, 1)[0]:
            number += 1
        for _ in range(4):
            number += 1
            assert not any(message(number, size))
