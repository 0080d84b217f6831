"""The shim: what an agent author's tools give back, and what is never raised into the agent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from loopguard_core import escape
from loopguard_core.config import ConfigError
from loopguard_core.shim import LoopGuard, TurnHalted
from loopguard_core.store.door import open_store
from processes import environment
from sessions import meanwhile, pending


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOOPGUARD_STORE", str(tmp_path / "events.db"))
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "events.db"


@pytest.fixture
def guard() -> Iterator[LoopGuard]:
    with LoopGuard("tester", policy="graded", say=lambda line: None) as made:
        yield made


def test_results_pass_through_as_they_are_and_advice_is_appended_to_text(guard: LoopGuard) -> None:
    rows = [{"a": 1}]

    @guard.tool
    def fetch(what: str) -> Any:
        return rows if what == "rows" else f"text of {what}"

    assert fetch("rows") is rows
    assert fetch("rows") is rows, "also where there is advice"
    (advice,) = guard.take_advice()
    assert advice.startswith("[loopguard] ")
    assert guard.take_advice() == []
    assert fetch("page") == "text of page"
    assert fetch("page").startswith("text of page\n\n[loopguard] ")


def test_advice_is_given_to_the_authors_hook() -> None:
    told: list[tuple[str, str]] = []

    def hook(decision: Any, text: str) -> None:
        told.append((decision.tool, text))
        raise RuntimeError("an author's mistake")

    said: list[str] = []
    with LoopGuard("t", policy="graded", on_advice=hook, say=said.append) as guard:
        count = guard.tool(lambda: 3, name="count")
        assert [count(), count()] == [3, 3]
    assert told[0][0] == "count"
    assert "on_advice raised" in said[0]


def test_a_refusal_is_a_tool_result_and_a_halt_ends_the_loop(guard: LoopGuard) -> None:
    ran = []

    @guard.tool
    def search(query: str) -> str:
        ran.append(query)
        return "r"

    for _ in range(2):
        search("quantum computing")
    assert search("quantum computing").startswith("[loopguard] This call was not run.")
    with pytest.raises(TurnHalted) as caught:
        search("quantum computing")
    halted = caught.value
    assert (halted.tool, halted.count) == ("search", 4)
    assert halted.signature.startswith("search:")
    assert halted.window == [halted.signature] * 4
    assert halted.request
    assert len(ran) == 2
    with pytest.raises(TurnHalted):
        search("something else")
    guard.new_turn("go on")
    assert search("something else") == "r"


def test_an_author_may_have_the_halt_as_text() -> None:
    with LoopGuard("t", policy="graded", raise_on_halt=False, say=lambda line: None) as guard:
        search = guard.tool(lambda: "r", name="search")
        answers = [search() for _ in range(5)]
    assert all("[loopguard]" in answer for answer in answers[1:])


def test_an_async_tool_is_guarded_alike(guard: LoopGuard) -> None:
    @guard.tool(name="look")
    async def search(query: str) -> str:
        await asyncio.sleep(0)
        return "r"

    async def scene() -> list[str]:
        return [await search("q") for _ in range(3)]

    first, second, third = asyncio.run(scene())
    assert first == "r"
    assert "[loopguard]" in second
    assert "not run" in third


def test_explicit_calls(guard: LoopGuard) -> None:
    for expected in (True, True, False):
        decision = guard.before_call("search", {"q": 1}, call=os.urandom(4).hex())
        assert decision.run is expected
        result = guard.after_call(decision, "r" if decision.run else None)
        assert isinstance(result, str)
    assert "not run" in str(result)


def test_what_a_tool_raises_is_raised_unchanged_and_counts_as_a_failure(place: Path) -> None:
    error = ValueError("no such page")
    options = {"hermes": {"exact_failure_warn_after": 1}}
    with LoopGuard("t", policy="hermes", policies=options, say=lambda line: None) as guard:

        @guard.tool
        def fetch() -> None:
            raise error

        with pytest.raises(ValueError) as caught:
            fetch()
        assert caught.value is error
        assert "[loopguard]" in error.__notes__[0]
    (end,) = [e for e in open_store(str(place)).read(guard.session) if e.type == "call_end"]
    assert (end.data["outcome"], end.data["result"]) == ("error", "ValueError: no such page")


def test_the_same_call_is_the_same_however_it_is_spelled(guard: LoopGuard, place: Path) -> None:
    class Tools:
        @guard.tool
        def find(self, what: str, limit: int = 10) -> str:
            return what

    tools = Tools()
    tools.find("x")
    tools.find(what="x", limit=10)
    assert "not run" in Tools().find("x", 10)
    events = open_store(str(place)).read(guard.session)
    args = [e.data["args"] for e in events if e.type == "call_start"]
    assert args == [{"what": "x", "limit": 10}] * 3


def test_positional_and_starred_arguments_have_a_place(guard: LoopGuard) -> None:
    @guard.tool
    def join(first: str, /, *more: str, sep: str = "-") -> str:
        return sep.join([first, *more])

    assert join("a", "b", "c", sep="+") == "a+b+c"
    assert guard.tool(max)(3, 4) == 4


def test_a_session_marks_its_process_and_its_children(guard: LoopGuard, place: Path) -> None:
    assert os.environ["LOOPGUARD_SESSION"] == guard.session
    parent, quiet = guard.session, list[str]().append
    with LoopGuard("child", parent=parent, policy="graded", say=quiet) as child:
        assert os.environ["LOOPGUARD_SESSION"] == child.session
    assert os.environ["LOOPGUARD_SESSION"] == guard.session
    guard.close()
    guard.close()
    assert "LOOPGUARD_SESSION" not in os.environ
    known = open_store(str(place)).session(child.session)
    assert known is not None
    assert (known.parent, known.ended) == (guard.session, True)


def test_guards_that_close_in_another_order_leave_the_open_ones_mark(guard: LoopGuard) -> None:
    """As in a server that serves several agents at a time."""
    guard.close()
    for first in (0, 1):
        both = [LoopGuard(name, policy="graded", say=print) for name in ("one", "two")]
        both[first].close()
        both[first].close()
        assert os.environ["LOOPGUARD_SESSION"] == both[1 - first].session
        both[1 - first].close()
        assert "LOOPGUARD_SESSION" not in os.environ


def test_a_wrong_file_is_said_and_a_wrong_setting_raised(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text('mode = "shout"')
    said: list[str] = []
    with LoopGuard("t", say=said.append) as guard:
        assert guard.live.config.mode == "ask"
    assert "mode is one of" in said[0]
    with pytest.raises(ConfigError, match="mode is one of"):
        LoopGuard("t", mode="loud", say=said.append)
    assert "LOOPGUARD_SESSION" not in os.environ


def test_an_agent_that_just_exits_ends_its_session(place: Path) -> None:
    code = (
        "from loopguard_core.shim import LoopGuard\n"
        "guard = LoopGuard('script', session='one')\n"
        "guard.tool(lambda: 1, name='f')()\n"
    )
    env = environment(LOOPGUARD_STORE=str(place), XDG_STATE_HOME=str(place.parent))
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    known = open_store(str(place)).session("one")
    assert known is not None
    assert (known.ended, known.calls) == (True, 1)


IMPORTS = """
import sys
before = set(sys.modules)
import loopguard_core, loopguard_core.shim, loopguard_core.hook.process, loopguard_core.policies.progress
new = {n.partition(".")[0] for n in set(sys.modules) - before}
strangers = sorted(n for n in new - sys.stdlib_module_names if n != "loopguard_core")
slow = {"asyncio", "contextlib", "copy", "dataclasses", "inspect", "pathlib", "tomllib", "typing"}
slow = sorted(slow & new)
print(strangers, slow)
"""


def test_importing_core_brings_nothing_outside_the_standard_library(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", IMPORTS],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[] []"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_store_can_be_named_by_its_file(kind: type, tmp_path: Path) -> None:
    mine = tmp_path / "mine.db"
    with LoopGuard("tester", store=kind(mine)) as guard:
        assert guard.tool(lambda q: q)(1) == 1
    store = open_store(str(mine))
    assert [s.agent for s in store.sessions()] == ["tester"]
    store.close()


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0 broken"])
def test_a_store_that_cannot_be_used_is_said_once_and_the_guard_goes_on(
    content: bytes | None, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    if content is None:
        bad.mkdir()
    else:
        bad.write_bytes(content)
    said: list[str] = []
    with LoopGuard("tester", policy="graded", store=bad, say=said.append) as guard:
        search = guard.tool(lambda q: "page")
        got = [search("x") for _ in range(3)]
    assert got[0] == "page" and "was not run" in got[2]
    assert len([line for line in said if "event store" in line]) == (0 if content == b"" else 1)


def test_what_an_answer_used_up_is_recorded(guard: LoopGuard, place: Path) -> None:
    guard.used(input=12, output=3, cache_read=400, cost_usd=0.25, message="m1")
    guard.used(output=1)
    told = [e.data for e in open_store(str(place)).read(guard.session) if e.type == "usage"]
    assert told == [
        {"input": 12, "output": 3, "cache_read": 400, "cost_usd": 0.25, "message": "m1"},
        {"output": 1},
    ]


def test_a_mock_of_a_tool_can_be_guarded(guard: LoopGuard) -> None:
    assert guard.tool(Mock(return_value=3))(1) == 3
    assert asyncio.run(guard.tool(AsyncMock(return_value=4))(q=1)) == 4
    assert guard.tool(partial(partial(pow, 2), 3))() == 8


def test_arguments_of_a_human_that_the_tool_does_not_take_are_its_error(place: Path) -> None:
    ran: list[object] = []

    def search(query: str, limit: int = 5) -> str:
        ran.append((query, limit))
        return "found"

    async def fetch(url: str) -> str:
        ran.append(url)
        return "page"

    desk = open_store(str(place))

    def change(args: object) -> None:
        escape.modify(desk, pending(desk).request, args)

    with LoopGuard(
        "a", session="s", policy="graded", unattended_wait_seconds=60, say=lambda _: None
    ) as guard:
        tool, awaited = guard.tool(search), guard.tool(fetch)
        for _ in range(2):
            tool("x")
        with meanwhile(lambda: change({"nope": 1})):
            told = tool("x")
        assert "unexpected keyword argument" in told or "missing a required argument" in told
        assert "A human changed the arguments" in told
        for _ in range(2):
            asyncio.run(awaited("u"))
        with meanwhile(lambda: change({})):
            assert "missing a required argument: 'url'" in asyncio.run(awaited("u"))
    assert ran == [("x", 5), ("x", 5), "u", "u"]
    ends = [e.text("outcome") for e in desk.read("s") if e.type == "call_end"]
    assert ends == ["ok", "ok", "error"] * 2
