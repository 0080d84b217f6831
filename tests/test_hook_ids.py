"""A model server that names its calls anew in every message: each hook is about a call of its own."""

from __future__ import annotations

from pathlib import Path

from hooks import Host
from loopguard_core import escape
from loopguard_core.events import Event
from loopguard_core.store.door import open_store

ASK = 'policy = "graded"\n'


def _log(host: Host, type: str) -> list[Event]:
    store = open_store(str(host.store))
    try:
        return [e for e in store.read("s1") if e.type == type]
    finally:
        store.close()


def test_an_id_that_comes_again_after_its_end_is_another_call(tmp_path: Path) -> None:
    host = Host(tmp_path, config=ASK)
    ran = []
    for turn in range(2):
        host.send("UserPromptSubmit", prompt=f"go on {turn}")
        for _ in range(3):
            denied = host.before(tool_use_id="call_0").denied
            ran.append(not denied)
            if not denied:
                host.after(tool_use_id="call_0")
    assert ran == [True, True, False] * 2
    starts, ends = _log(host, "call_start"), _log(host, "call_end")
    assert [e.data["call"] for e in starts] == [e.data["call"] for e in ends]
    assert len({e.data["call"] for e in starts}) == 6
    assert [e.data["outcome"] for e in ends] == ["error", "error", "blocked"] * 2


def test_a_hook_that_is_installed_twice_counts_once(tmp_path: Path) -> None:
    host = Host(tmp_path, config=ASK)
    for _ in range(2):
        host.before()
        assert not host.send("PreToolUse", **host._tool("cat nope")).denied
        host.after()
        host.send("PostToolUse", **host._tool("cat nope"), tool_response="again")
    assert len(_log(host, "call_start")) == len(_log(host, "call_end")) == 2


def test_a_late_approval_lets_one_call_run_under_an_id_that_comes_again(tmp_path: Path) -> None:
    host = Host(tmp_path, config=ASK)
    for _ in range(3):
        if not host.before(tool_use_id="call_0").denied:
            host.after(tool_use_id="call_0")
    store = open_store(str(host.store))
    escape.approve(store, "R1", by="you")
    store.close()
    ran = []
    for _ in range(3):
        ran.append(not host.before(tool_use_id="call_0").denied)
        if ran[-1]:
            host.after(tool_use_id="call_0")
    assert ran == [True, False, False]
