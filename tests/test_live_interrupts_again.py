"""An interrupt that meets a call whose id another call had before: that call ends, and the other is left alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from held_hooks import GRADED, Agent, ended, heard_whole, until
from interrupting import Interrupt
from loopguard_core.store.contract import Store
from sessions import loop, pending, session, store_in

#: another call under the id of ``read`` with 1, in its message ``m1``
ANOTHER: list[tuple[str, dict[str, Any], str]] = [
    ("read", {"q": 2}, ""),
    ("search", {"q": 1}, ""),
    ("read", {"q": 1}, "m2"),
]


def ends(store: Store, name: str = "s") -> dict[str, str]:
    return {e.text("call"): e.text("outcome") for e in store.read(name) if e.type == "call_end"}


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize(("tool", "args", "message"), ANOTHER)
def test_wherever_it_comes_while_another_call_is_judged(
    tmp_path: Path, tool: str, args: dict[str, Any], message: str, runs: bool
) -> None:
    """The first call under the id still *runs*, or has ended."""
    store = store_in(tmp_path)
    nth = 0
    while True:
        nth += 1 if nth < 30 else 3
        name = f"s{nth}"
        live = session(store, name)
        first = live.before("read", {"q": 1}, call="c1", message="m1")
        if not runs:
            live.after(first, "text")
        judged = None
        try:
            with Interrupt(nth) as interrupt:
                judged = live.before(tool, args, call="c1", message=message)
        except KeyboardInterrupt:
            assert live.guard.open_calls() == (["c1"] if runs else [])
        else:
            assert interrupt.left > 0
            assert judged.call.startswith("c1~")
            live.after(judged, "r")
        if runs:
            live.after(first, "text")
        assert not live.guard.open_calls()
        assert [start.text("call") for start in store.unended(name)] == []
        outcomes = ends(store, name)
        assert outcomes.pop("c1") == "ok", "nobody cancelled it"
        assert set(outcomes.values()) <= ({"cancelled"} if judged is None else {"ok"})
        if interrupt.left > 0:
            break
    assert nth > 30


def test_a_task_that_is_cancelled_while_it_waits(tmp_path: Path) -> None:
    store, desk = store_in(tmp_path), store_in(tmp_path)
    live = session(store, unattended_wait_seconds=60)
    live.turn("go")
    first = live.before("read", {"q": 1}, call="c1")
    loop(live, 2)

    async def cancelled() -> None:
        task = asyncio.create_task(live.before_async("search", {"q": 1}, call="c1"))
        request = await asyncio.to_thread(pending, desk)
        assert request.call.startswith("c1~")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert live.guard.open_calls() == ["c1"]
    live.after(first, "text")
    assert [r.resolution for r in store.requests()] == ["cancelled"]
    assert list(ends(store).values())[-2:] == ["cancelled", "ok"]


def test_a_hook_that_is_stopped_while_its_call_waits(tmp_path: Path) -> None:
    host = Agent(tmp_path, config=GRADED + "unattended_wait_seconds = 50\n")
    host.before("ls", tool_use_id="c1")
    host.loop()
    hook = host.start()
    heard_whole(hook, host.said("c1"))
    until(lambda: "request_opened" in host.kinds())
    hook.terminate()
    code, out, _ = ended(hook)
    assert code == 0 and '"permissionDecision":"deny"' in out
    resolved, end = host.events()[-2:]
    assert (resolved.data["resolution"], end.data["outcome"]) == ("cancelled", "cancelled")
    assert resolved.text("call") == end.text("call") and end.text("call").startswith("c1~")
    host.after("ls", tool_use_id="c1")
    last = host.events()[-1]
    assert (last.type, last.text("call")) == ("call_end", "c1")
