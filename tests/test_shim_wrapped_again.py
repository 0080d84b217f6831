"""A tool that is wrapped again, as by a cell of a notebook that runs twice: each call of it counts once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.shim import LoopGuard


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopGuard]:
    monkeypatch.delenv("LOOPGUARD_SESSION", raising=False)
    with LoopGuard("tester", store=tmp_path / "events.db", say=lambda line: None) as made:
        yield made


def counted(guard: LoopGuard) -> list[str]:
    """The tools of all calls in the log."""
    store = guard.live._journal.store
    assert store is not None
    return [e.text("tool") for e in store.read(guard.session) if e.type == "call_start"]


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def log(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return log


class Toolbox:
    def search(self, query: str) -> str:
        return f"about {query}"

    async def look(self, query: str) -> str:
        return f"about {query}"

    def __call__(self, query: str) -> str:
        return f"about {query}"


@pytest.mark.parametrize("between", [lambda f: f, logged, partial])
@pytest.mark.parametrize("kind", ["function", "method", "object"])
def test_what_a_guard_guards_already_it_gives_back(
    kind: str, between: Callable[[Any], Any], guard: LoopGuard
) -> None:
    box = Toolbox()
    tools: dict[str, Callable[[str], str]] = {
        "function": lambda query: f"about {query}",
        "method": box.search,
        "object": box,
    }
    once = guard.tool(tools[kind], name="search")
    twice = between(once)
    assert guard.tool(twice) is twice
    assert guard(guard(twice)) is twice
    assert twice("cats") == "about cats"
    assert counted(guard) == ["search"]


def test_a_method_of_a_guarded_class_and_an_async_one(guard: LoopGuard) -> None:
    class Guarded(Toolbox):
        search = guard.tool(Toolbox.search)
        look = guard.tool(Toolbox.look)
        __call__ = guard.tool(Toolbox.__call__, name="ask")

    box: Any = Guarded()
    assert guard.tool(box.search)("cats") == "about cats"
    assert asyncio.run(guard.tool(box.look)("cats")) == "about cats"
    assert guard.tool(box)("cats") == "about cats"
    assert counted(guard) == ["search", "look", "ask"]


def test_under_another_name_it_counts_by_that_name_alone(guard: LoopGuard) -> None:
    search = guard.tool(Toolbox().search)
    find = guard.tool(search, name="find")
    assert find("cats") == search("cats") == "about cats"
    assert counted(guard) == ["find", "search"]


def test_a_closed_guard_has_no_part_in_what_the_next_one_guards(
    guard: LoopGuard, tmp_path: Path
) -> None:
    def search(query: str) -> str:
        return "nothing new"

    said: list[str] = []
    tool: Callable[..., Any] = search
    for _ in range(3):
        earlier = LoopGuard("earlier", store=tmp_path / "earlier.db", say=said.append)
        tool = earlier.tool(tool)
        tool("cats")
        earlier.close()
    assert guard.tool(tool)("cats") == "nothing new"
    assert counted(guard) == ["search"]
    assert said == []


def test_two_open_guards_both_count(guard: LoopGuard, tmp_path: Path) -> None:
    with LoopGuard("other", store=tmp_path / "other.db", say=lambda line: None) as other:
        guard.tool(other.tool(Toolbox().search))("cats")
        assert counted(other) == counted(guard) == ["search"]
