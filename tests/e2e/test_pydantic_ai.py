"""pydantic-ai's agent with our capability, against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, cast

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from inprocess import Desk, Hanging
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
)
from pydantic_ai.usage import RequestUsage

from loopguard_core.agents.pydantic_ai import LoopGuard, TurnHalted

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def read_file(path: str) -> str:
    """Read a file."""
    ran.append(path)
    return f"{path}: no such file"


class Scripted:
    """Asks for the same call until *times* results came back since the last prompt."""

    def __init__(self, times: int, tool: str = "read_file", **args: Any) -> None:
        self.times = times
        self.tool = tool
        self.args = args or {"path": "nope.txt"}
        self.seen: list[list[Any]] = []
        self._ids = 0

    def __call__(self, messages: list[Any], info: Any) -> ModelResponse:
        self.seen.append(list(messages))
        if len(self.results) < self.times:
            self._ids += 1
            part = ToolCallPart(self.tool, self.args, tool_call_id=f"call-{self._ids}")
            return ModelResponse(parts=[part])
        return ModelResponse(parts=[TextPart("gave up")])

    @property
    def results(self) -> list[str]:
        """Tool results since the last prompt, as the model got them."""
        found: list[str] = []
        for part in self.parts:
            if isinstance(part, UserPromptPart) and not str(part.content).startswith("[loopguard]"):
                found = []
            elif isinstance(part, (ToolReturnPart, RetryPromptPart)):
                found.append(str(part.content))
        return found

    @property
    def parts(self) -> list[Any]:
        asked = [m for m in self.seen[-1] if isinstance(m, ModelRequest)]
        return [part for message in asked for part in message.parts]


def agent(
    desk: Desk, model: Scripted, tool: Callable[..., Any] = read_file, **settings: Any
) -> Any:
    guard = LoopGuard(config=desk.config(**settings), store=desk.store)
    return Agent(FunctionModel(model), tools=[tool], capabilities=[guard])


def test_what_the_answers_used_up_is_recorded(desk: Desk) -> None:
    def answer(messages: list[Any], info: Any) -> ModelResponse:
        asked = sum(isinstance(m, ModelResponse) for m in messages)
        usage = RequestUsage(input_tokens=100, output_tokens=9, cache_read_tokens=60 * asked)
        if asked == 2:
            return ModelResponse(parts=[TextPart("done")], usage=usage)
        paths = ("a", "b") if asked else ("c",)
        calls = [ToolCallPart("read_file", {"path": p}, tool_call_id=p) for p in paths]
        return ModelResponse(parts=calls, usage=usage)

    agent(desk, cast("Scripted", answer)).run_sync("read them")
    assert desk.used() == [
        {"input": 100, "output": 9},
        {"input": 40, "output": 9, "cache_read": 60},
    ]


def test_a_call_that_is_cancelled_is_recorded_so(desk: Desk) -> None:
    tool = Hanging()
    tool.cancelled(agent(desk, Scripted(1), tool.read_file).run("read it"))
    assert desk.outcomes() == ["cancelled"]


def test_it_is_warned_blocked_and_halted(desk: Desk) -> None:
    model = Scripted(9)
    with pytest.raises(TurnHalted) as halted:
        agent(desk, model).run_sync("read it")
    first, second, third = model.results
    assert "loopguard" not in first
    assert "no such file" in second and "[loopguard]" in second
    assert "not run" in third
    assert (len(ran), halted.value.tool, halted.value.count) == (2, "read_file", 4)
    assert desk.outcomes() == ["ok", "ok", "blocked", "blocked"]


@pytest.mark.parametrize("word", ["approve", "modify"])
def test_a_human_elsewhere_lets_one_call_through(desk: Desk, word: str) -> None:
    model = Scripted(3)
    args = [{"path": "yes.txt"}] if word == "modify" else []
    with desk.human(word, *args):
        agent(desk, model, unattended_wait_seconds=40).run_sync("read it")
    assert ran[-1] == ("yes.txt" if word == "modify" else "nope.txt")
    assert ("human changed" in model.results[-1]) is (word == "modify")
    assert desk.outcomes() == ["ok", "ok", "ok"]


def test_a_halt_stops_it_and_resume_frees_it(desk: Desk) -> None:
    model = Scripted(1)
    guarded = agent(desk, model)
    history = guarded.run_sync("read it").all_messages()
    session = desk.sessions()[0].session
    desk.decide("halt", session=session, scope="session", note="wait for me")
    with pytest.raises(TurnHalted, match="wait for me"):
        guarded.run_sync("go on", message_history=history)
    desk.decide("resume", session)
    guarded.run_sync("go on", message_history=history)
    assert len(ran) == 2
    assert desk.outcomes() == ["ok", "blocked", "ok"], "a conversation is one session"


def test_structured_results_stay_and_the_advice_stands_beside_them(desk: Desk) -> None:
    def numbers() -> list[int]:
        """Numbers."""
        return [1, 2]

    model = Scripted(2, "numbers")
    model.args = {}
    agent(desk, model, numbers).run_sync("count")
    assert model.results == ["[1, 2]", "[1, 2]"]
    assert any("[loopguard]" in str(part.content) for part in model.parts)


def test_a_failing_tool_is_a_failed_call_with_advice(desk: Desk) -> None:
    def broken(path: str) -> str:
        """Break."""
        raise ModelRetry("try another")

    model = Scripted(2, "broken")
    with pytest.raises(Exception, match="retries"):
        agent(desk, model, broken).run_sync("break")
    assert set(desk.outcomes()) == {"error"}


def test_trap_6_a_deferred_call_is_not_counted_twice(desk: Desk) -> None:
    def risky(ctx: RunContext[None], path: str) -> str:
        """Risky."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        ran.append(path)
        return "done"

    model = Scripted(2, "risky")
    guard = LoopGuard(config=desk.config(), store=desk.store)
    deferring = Agent(
        FunctionModel(model),
        tools=[risky],
        capabilities=[guard],
        output_type=[str, DeferredToolRequests],
    )
    run = deferring.run_sync("do it")
    for _ in range(2):
        results = DeferredToolResults()
        for call in run.output.approvals:
            results.approvals[call.tool_call_id] = True
        run = deferring.run_sync(message_history=run.all_messages(), deferred_tool_results=results)
    assert run.output == "gave up" and len(ran) == 2
    events = desk.store.read(desk.sessions()[0].session)
    assert [e.type for e in events].count("call_start") == 2
    assert desk.outcomes() == ["ok", "ok"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"day": "2026-02-03"}, "it is 2026-02-03"),
        ({"day": "soon"}, "does not take these arguments: day: "),
        ({"when": 1}, "does not take these arguments: day: Field required"),
    ],
)
def test_changed_arguments_are_taken_as_the_models_are(
    desk: Desk, args: dict[str, Any], says: str
) -> None:
    def weather(day: date) -> str:
        """The weather."""
        ran.append(day.isoformat())
        return f"it is {day.isoformat()}"

    model = Scripted(3, "weather", day="2026-01-01")
    with desk.human("modify", args):
        agent(desk, model, weather, unattended_wait_seconds=40).run_sync("ask")
    assert says in model.results[-1] and "human changed" in model.results[-1]
    assert desk.outcomes()[-1] == ("ok" if len(ran) == 3 else "error")
