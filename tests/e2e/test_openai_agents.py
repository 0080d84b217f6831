"""The OpenAI Agents SDK with our guardrails, against a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents.tool_guardrails", reason="openai-agents is not installed")

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.exceptions import ToolInputGuardrailTripwireTriggered
from agents.testing.model import ScriptedModel
from agents.usage import Usage
from inprocess import Desk, Hanging
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_usage import InputTokensDetails

from loopguard_core.agents.openai_agents import LoopGuard

set_tracing_disabled(True)
ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    ran.append(path)
    return f"{path}: no such file"


def calls(times: int, tool: str = "read_file", first: int = 0) -> list[Any]:
    """A model that asks for the same call *times* times, then gives up."""
    arguments = '{"path": "nope.txt"}'
    asked = [
        [
            ResponseFunctionToolCall(
                type="function_call", name=tool, arguments=arguments, call_id=f"call-{first + n}"
            )
        ]
        for n in range(times)
    ]
    text = ResponseOutputText(type="output_text", text="gave up", annotations=[])
    said = ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[text]
    )
    return [*asked, [said]]


def received(model: ScriptedModel) -> list[str]:
    """Tool outputs in the model's last request."""
    given = model.last_call.input
    items = [i for i in given if isinstance(i, dict)]
    return [str(i["output"]) for i in items if i.get("type") == "function_call_output"]


def agent(desk: Desk, model: ScriptedModel, tool: Any = read_file, **settings: Any) -> Any:
    guard = LoopGuard("one", config=desk.config(**settings), store=desk.store)
    return Agent(name="reader", model=model, tools=guard.tools([tool]))


def run(given: Any, text: Any = "read it", *, sync: bool = True) -> Any:
    return Runner.run_sync(given, text) if sync else asyncio.run(Runner.run(given, text))


def test_what_the_answers_used_up_is_recorded(desk: Desk) -> None:
    details = InputTokensDetails(cached_tokens=70, cache_write_tokens=0)
    usage = Usage(requests=1, input_tokens=100, output_tokens=9, input_tokens_details=details)
    model = ScriptedModel([{"output": output, "usage": usage} for output in calls(2)])
    run(agent(desk, model))
    assert desk.used() == [{"input": 30, "output": 9, "cache_read": 70}] * 2


def test_a_call_that_is_cancelled_is_recorded_so(desk: Desk) -> None:
    hanging = Hanging()
    given = agent(desk, ScriptedModel(calls(1)), function_tool(hanging.read_file))
    hanging.cancelled(Runner.run(given, "read it"))
    assert desk.outcomes() == ["cancelled"]


@pytest.mark.parametrize("sync", [True, False])
def test_it_is_warned_blocked_and_halted(desk: Desk, sync: bool) -> None:
    model = ScriptedModel(calls(9))
    with pytest.raises(ToolInputGuardrailTripwireTriggered) as halted:
        run(agent(desk, model), sync=sync)
    first, second, third = received(model)
    assert "loopguard" not in first
    assert "no such file" in second and "[loopguard]" in second
    assert "not run" in third
    assert len(ran) == 2
    assert "[loopguard]" in str(halted.value.output.output_info)
    assert desk.outcomes() == ["ok", "ok", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_a_human_elsewhere_lets_one_call_through(desk: Desk, word: str) -> None:
    model = ScriptedModel(calls(3))
    args = [{"path": "yes.txt"}] if word == "modify" else []
    with desk.human(word, *args):
        run(agent(desk, model, unattended_wait_seconds=40))
    assert ran[-1] == ("yes.txt" if word == "modify" else "nope.txt")
    assert ("human changed" in received(model)[-1]) is (word == "modify")
    assert desk.outcomes() == ["ok", "ok", "ok"]


def test_a_halt_stops_it_and_resume_frees_it(desk: Desk) -> None:
    model = ScriptedModel([*calls(1), *calls(1, first=1)[:1], *calls(1, first=2)])
    guarded = agent(desk, model)
    run(guarded)
    desk.decide("halt", session="one", scope="session", note="wait for me")
    with pytest.raises(ToolInputGuardrailTripwireTriggered) as halted:
        run(guarded)
    assert "wait for me" in str(halted.value.output.output_info)
    desk.decide("resume", "one")
    run(guarded)
    assert len(ran) == 2
    assert desk.outcomes() == ["ok", "blocked", "ok"]


def test_each_run_is_a_turn(desk: Desk) -> None:
    model = ScriptedModel([*calls(2), *calls(2, first=2)])
    guarded = agent(desk, model)
    run(guarded)
    run(guarded)
    assert len(ran) == 4 and "loopguard" not in received(model)[0]


def test_a_failing_tool_is_a_failed_call(desk: Desk) -> None:
    @function_tool
    def broken(path: str) -> str:
        """Break."""
        raise ValueError("broken")

    model = ScriptedModel(calls(2, "broken"))
    run(agent(desk, model, broken))
    assert desk.outcomes() == ["error", "error"]
    assert "[loopguard]" in received(model)[1]


def test_trap_6_a_call_that_waits_for_approval_is_not_counted_twice(desk: Desk) -> None:
    @function_tool(needs_approval=True)
    def risky(path: str) -> str:
        """Risky."""
        ran.append(path)
        return "done"

    model = ScriptedModel(calls(2, "risky"))
    given = agent(desk, model, risky)
    result = run(given)
    while result.interruptions:
        state = result.to_state()
        for asked in result.interruptions:
            state.approve(asked)
        result = run(given, state)
    assert result.final_output == "gave up" and len(ran) == 2
    assert desk.outcomes() == ["ok", "ok"]
    assert "[loopguard]" in received(model)[1], "a resumed run is the same turn"
