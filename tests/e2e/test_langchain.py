"""LangChain's agent with our middleware, against a scripted chat model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed")

from inprocess import Desk, Hanging
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from loopguard_core.agents.langchain import LoopGuard

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
def read_file(path: str) -> str:
    """Read a file."""
    ran.append(path)
    return f"{path}: no such file"


class Scripted(GenericFakeChatModel):
    """Asks for the same file *times* times, then gives up; keeps what it received."""

    seen: list[list[BaseMessage]]

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.seen.append(list(messages))
        return super()._generate(messages, *args, **options)

    @property
    def results(self) -> list[ToolMessage]:
        """Tool results in the last request."""
        return [m for m in self.seen[-1] if isinstance(m, ToolMessage)]


def loop(times: int, name: str = "read_file", **args: Any) -> Iterator[AIMessage]:
    args = args or {"path": "nope.txt"}
    for number in range(times):
        call = {"name": name, "args": args, "id": f"call-{number}"}
        yield AIMessage(content="", tool_calls=[call])
    yield AIMessage(content="gave up")


def agent(desk: Desk, model: Scripted, tools: list[Any] | None = None, **more: Any) -> Any:
    settings = more.pop("settings", {})
    guard = LoopGuard(config=desk.config(**settings), store=desk.store)
    return create_agent(model, tools or [read_file], middleware=[guard], **more)


def ask(given: Any, text: str = "read nope.txt", config: Any = None, *, sync: bool = True) -> Any:
    message = {"messages": [{"role": "user", "content": text}]}
    if sync:
        return given.invoke(message, config)
    return asyncio.run(given.ainvoke(message, config))


def test_a_call_that_is_cancelled_is_recorded_so(desk: Desk) -> None:
    hanging = Hanging()
    given = agent(desk, Scripted(messages=loop(1), seen=[]), [tool(hanging.read_file)])
    hanging.cancelled(given.ainvoke({"messages": [{"role": "user", "content": "read it"}]}))
    assert desk.outcomes() == ["cancelled"]


@pytest.mark.parametrize("sync", [True, False])
def test_what_each_answer_used_up_is_recorded_once(desk: Desk, sync: bool) -> None:
    def answers() -> Iterator[AIMessage]:
        details = {"cache_read": 70, "cache_creation": 5}
        usage: Any = {"input_tokens": 100, "output_tokens": 9, "total_tokens": 109}
        usage["input_token_details"] = details
        calls = [{"name": "read_file", "args": {"path": p}, "id": p} for p in ("a", "b")]
        yield AIMessage(content="", tool_calls=calls, usage_metadata=usage)
        yield AIMessage(content="done", usage_metadata={**usage, "input_token_details": {}})

    ask(agent(desk, Scripted(messages=answers(), seen=[])), sync=sync)
    assert desk.used() == [
        {"input": 25, "output": 9, "cache_read": 70, "cache_write": 5},
        {"input": 100, "output": 9},
    ]


@pytest.mark.parametrize("sync", [True, False])
def test_it_is_warned_blocked_and_halted(desk: Desk, sync: bool) -> None:
    model = Scripted(messages=loop(9), seen=[])
    out = ask(agent(desk, model), sync=sync)
    first, second, third = model.results
    assert "loopguard" not in first.content
    assert "no such file" in second.content and "[loopguard]" in second.content
    assert "not run" in third.content and third.status == "error"
    assert len(ran) == 2 and len(model.seen) == 4, "the halt ends the run before the model is asked"
    assert "[loopguard]" in out["messages"][-1].content
    assert desk.outcomes() == ["ok", "ok", "blocked", "blocked"]
    assert [s.ended for s in desk.sessions()] == [True]


@pytest.mark.parametrize("sync", [True, False])
def test_a_human_elsewhere_lets_one_call_through(desk: Desk, sync: bool) -> None:
    model = Scripted(messages=loop(3), seen=[])
    with desk.human("approve"):
        ask(agent(desk, model, settings={"unattended_wait_seconds": 40}), sync=sync)
    assert len(ran) == 3
    assert desk.outcomes() == ["ok", "ok", "ok"]


def test_a_human_changes_the_arguments(desk: Desk) -> None:
    model = Scripted(messages=loop(3), seen=[])
    with desk.human("modify", {"path": "yes.txt"}):
        ask(agent(desk, model, settings={"unattended_wait_seconds": 40}))
    assert ran[-1] == "yes.txt"
    assert "human changed" in model.results[-1].content


def test_a_halt_stops_it_and_resume_frees_it(desk: Desk) -> None:
    model = Scripted(messages=[m for _ in range(3) for m in loop(1)].__iter__(), seen=[])
    guarded = agent(desk, model, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t1"}}
    ask(guarded, config=thread)
    session = desk.sessions()[0].session
    desk.decide("halt", session=session, scope="session", note="wait for me")
    halted = ask(guarded, config=thread)
    assert len(ran) == 1 and "wait for me" in halted["messages"][-1].content
    desk.decide("resume", session)
    model.messages = loop(1)
    ask(guarded, config=thread)
    assert len(ran) == 2
    assert desk.outcomes() == ["ok", "blocked", "ok"], "a thread is one session"


def test_trap_6_a_resumed_interrupt_is_not_counted_twice(desk: Desk) -> None:
    @tool
    def ask_human(path: str) -> str:
        """Ask."""
        answer = interrupt({"path": path})
        ran.append(path)
        return f"human said {answer}"

    model = Scripted(messages=loop(2, "ask_human", path="x"), seen=[])
    guarded = agent(desk, model, [ask_human], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t1"}}
    ask(guarded, config=thread)
    for answer in ("yes", "no"):
        guarded.invoke(Command(resume=answer), thread)
    assert [m.content.partition("\n")[0] for m in model.results] == [
        "human said yes",
        "human said no",
    ]
    assert len(ran) == 2
    assert desk.outcomes() == ["ok", "ok"]
    events = desk.store.read(desk.sessions()[0].session)
    assert [e.type for e in events].count("call_start") == 2


def test_an_agent_inside_a_tool_is_a_child(desk: Desk) -> None:
    inner = agent(desk, Scripted(messages=loop(1), seen=[]))

    @tool
    def delegate(task: str) -> str:
        """Delegate."""
        return str(ask(inner, task)["messages"][-1].content)

    ask(agent(desk, Scripted(messages=loop(1, "delegate", task="look"), seen=[]), [delegate]))
    parents = {s.session: s.parent for s in desk.sessions()}
    assert sorted(bool(parent) for parent in parents.values()) == [False, True]
    assert all(parent in parents for parent in parents.values() if parent)


def test_a_tool_that_raises_is_a_failed_call(desk: Desk) -> None:
    @tool
    def broken(path: str) -> str:
        """Break."""
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        ask(agent(desk, Scripted(messages=loop(1, "broken", path="x"), seen=[]), [broken]))
    assert desk.outcomes() == ["error"]
