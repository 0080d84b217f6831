"""A call that its guard stops does not run, whatever fails in the guard between the verdict and the answer."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import loopguard_core
from interrupting import Interrupt, limited
from loopguard_core import escape
from loopguard_core.session import failing
from loopguard_core.shim import LoopGuard
from loopguard_core.store.door import open_store
from sessions import loop, session, store_in

#: (settings, calls before the one that is stopped)
STOPPED = [
    ({}, 2),
    ({"unattended_wait_seconds": 0.05}, 2),
    ({"mode": "enforce"}, 2),
    ({"mode": "enforce"}, 5),
]


class Fault(Interrupt):
    """What is wrong in the guard itself."""

    def strike(self) -> None:
        raise OSError("too many open files")


@pytest.mark.parametrize(("settings", "before"), STOPPED)
def test_a_fault_wherever_it_comes_lets_no_stopped_call_run(
    settings: dict[str, Any], before: int, tmp_path: Path
) -> None:
    store, nth = store_in(tmp_path), 20  # the first functions are those that look at the arguments
    while True:
        nth += 11
        live = session(store, f"s{nth}", **settings)
        loop(live, before)
        with Fault(nth) as fault:
            decision = live.before("search", {"q": 1})
        assert not decision.run
        assert "not run" in decision.message or "not be asked" in decision.message
        assert not live.guard.asked()
        live.end()
        events = store.read(f"s{nth}")
        started = [e.text("call") for e in events if e.type == "call_start"]
        assert started == [e.text("call") for e in events if e.type == "call_end"]
        if fault.left > 0:
            break
    assert nth > 40
    store.close()


def test_what_is_to_run_where_nobody_answers_runs(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    live = session(store, unattended_wait_seconds=30, unanswered={"block": "run"})
    loop(live, 2)
    live._stopped()._waiting._look = broken  # type: ignore[method-assign,assignment]
    assert live.before("search", {"q": 1}).run
    store.close()


def broken(*_: object) -> Any:
    raise OSError("too many open files")


def test_an_alarm_ends_the_wait_of_a_held_call_and_reaches_the_agent(tmp_path: Path) -> None:
    store, ran = store_in(tmp_path), list[int]()
    with limited(), LoopGuard(session="s", store=store, unattended_wait_seconds=30) as guard:
        fetch = guard.tool(ran.append, name="fetch")
        fetch(0)
        escape.set_breakpoint(store, "s", "tool:fetch")
        alarm = threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
        alarm.start()
        with pytest.raises(TimeoutError):
            fetch(1)
        assert ran == [0]
        ends = [e.text("outcome") for e in store.read("s") if e.type == "call_end"]
        assert ends == ["ok", "cancelled"]
        assert store.requests(session="s", pending=True) == []
    store.close()


@pytest.mark.parametrize("patience", [0, 0.1])
def test_a_task_of_another_loop_is_guarded(patience: float, tmp_path: Path) -> None:
    ran: list[int] = []
    with LoopGuard(
        store=str(tmp_path / "e.db"),
        policy="graded",
        unattended_wait_seconds=patience,
        say=lambda line: None,
    ) as guard:

        @guard.tool
        async def fetch(n: int) -> str:
            ran.append(n)
            return "same"

        for _ in range(3):
            driven(fetch(1))
    assert ran == [1, 1]


def driven(task: Coroutine[Any, Any, Any]) -> Any:
    try:
        while True:
            task.send(None)
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("stopped", [True, False])
def test_at_the_end_of_the_stack_a_call_is_judged_on_another_one(
    stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, there = failing.elsewhere, list[bool]()

    def noted(what: object, act: Callable[[], object]) -> object:
        there.append((found := real(what, act)) is not None)
        return found

    monkeypatch.setattr(failing, "elsewhere", noted)

    def at(depth: int, act: Callable[[], object]) -> object:
        return act() if depth <= 0 else at(depth - 1, act)

    depth = len(inspect.stack(0))
    for room in range(4, 34):
        place, ran = str(tmp_path / f"{room}.db"), list[int]()
        guard = LoopGuard(session="s", store=place, policy="graded", say=lambda line: None)
        fetch = guard.tool(ran.append, name="fetch")
        for n in range(2):
            fetch(0 if stopped else -n - 1)
        try:
            at(sys.getrecursionlimit() - depth - room, lambda: fetch(0))  # noqa: B023
        except RecursionError:  # no room even to ask for it
            assert len(ran) == 2
        assert len(ran) == 2 or not stopped
        fetch(7)
        guard.close()
        store = open_store(place)
        events = store.read("s")
        store.close()
        assert events[-1].type == "session_end"
        assert ran[-1] == 7
        assert [e.data["args"] for e in events if e.type == "call_start"][-1] == {"*": [7]}
    assert any(there)


@pytest.mark.parametrize("limit", ["x", float("nan"), float("inf"), [1], 10**400])
def test_a_limit_of_the_host_that_is_no_number_of_seconds_is_not_one(
    limit: Any, tmp_path: Path
) -> None:
    said: list[str] = []
    with LoopGuard(store=str(tmp_path / "e.db"), policy="graded", say=said.append) as guard:
        runs = []
        for _ in range(3):
            decision = guard.before_call("fetch", {"n": 1}, wait_limit=limit)
            guard.after_call(decision, "same")
            runs.append(decision.run)
    assert runs == [True, True, False]
    assert [line for line in said if "wait_limit" in line]


GONE = """
import shutil, sys
sys.path.insert(0, sys.argv[1])
from loopguard_core.shim import LoopGuard, TurnHalted
ran = []
with LoopGuard(store=sys.argv[2], unattended_wait_seconds=float(sys.argv[3]), policy="graded", say=lambda line: None) as guard:
    fetch = guard.tool(lambda n: ran.append(n) or "same", name="fetch")
    fetch(0)
    shutil.rmtree(sys.argv[1])
    for _ in range(5):
        try:
            fetch(1)
        except TurnHalted:
            pass
print(len(ran))
"""


@pytest.mark.parametrize("patience", [0, 0.1])
def test_an_agent_whose_guard_is_replaced_on_the_disk_stays_guarded(
    patience: float, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    shutil.copytree(loopguard_core.__path__[0], code / "loopguard_core")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LOOPGUARD_", "PYTHONPATH"))}
    done = subprocess.run(
        [sys.executable, "-c", GONE, str(code), str(tmp_path / "e.db"), str(patience)],
        capture_output=True,
        text=True,
        env={**env, "HOME": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("3\n", "")
