"""OpenAI Agents SDK (0.24 was run): tool guardrails. Extra: ``loopguard-console[openai-agents]``.

    from loopguard_core.agents.openai_agents import LoopGuard

    agent = Agent(name="researcher", tools=LoopGuard().tools([search, read_file]))

One ``Runner.run`` is one turn and one session, also when it is resumed from its state; ``session`` names one
session for all runs. A refusal is the guardrail's rejection, advice is appended to the output, a halt
raises ``ToolInputGuardrailTripwireTriggered`` out of the run with the refusal in ``output_info``.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from loopguard_core.agents.embedded import KEPT, Guarded, Sessions, not_running
from loopguard_core.agents.extra import needs

with needs("openai-agents"):
    from agents import (
        FunctionTool,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolOutputGuardrail,
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import Tool

    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.store.contract import Store

# How the SDK words an exception of a tool for the model, unless the tool has a function of its own.
_FAILED = "An error occurred while running the tool"


class LoopGuard:
    """Guards function tools. *config* and *store* are the configured ones unless given."""

    def __init__(
        self,
        session: str = "",
        *,
        config: Config | None = None,
        store: Store | None = None,
    ) -> None:
        self._sessions = Sessions("openai-agents", config, store)
        self._session = session
        self._runs: OrderedDict[int, tuple[Any, str]] = OrderedDict()
        self._calls: OrderedDict[str, str] = OrderedDict()
        self._decisions: dict[str, Decision] = {}

    def tools(self, tools: Iterable[Tool]) -> list[Tool]:
        """*tools* with the guard around each; what is not a function tool stays as it is."""
        return [self.tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    def tool(self, tool: FunctionTool) -> FunctionTool:
        """One function tool with the guard around it, beside the guardrails that it has; once, however often asked."""
        if any(g.guardrail_function == self._before for g in tool.tool_input_guardrails or []):
            return tool
        before = ToolInputGuardrail(guardrail_function=self._before, name="loopguard")
        after = ToolOutputGuardrail(guardrail_function=self._after, name="loopguard")
        return replace(
            tool,
            tool_input_guardrails=[*(tool.tool_input_guardrails or []), before],
            tool_output_guardrails=[*(tool.tool_output_guardrails or []), after],
            on_invoke_tool=self._invoke(tool.on_invoke_tool),
        )

    async def _before(self, data: Any) -> Any:
        context = data.context
        guarded = self._guarded(context)
        guarded.used_so_far(str(id(context.usage)), _used(context.usage))
        args = _arguments(context.tool_arguments)
        decision = await guarded.before_async(context.tool_name, args, context.tool_call_id)
        if decision.run:
            self._decisions[context.tool_call_id] = decision
            return ToolGuardrailFunctionOutput.allow()
        if decision.ends_turn:
            return ToolGuardrailFunctionOutput.raise_exception(decision.message)
        return ToolGuardrailFunctionOutput.reject_content(decision.message)

    def _invoke(self, invoke: Any) -> Any:
        async def guarded_invoke(context: Any, arguments: str) -> Any:
            decision = self._decisions.get(context.tool_call_id)
            if decision is None:
                return await invoke(context, arguments)
            if decision.modified:
                arguments = json.dumps(decision.args)
            guarded = self._guarded(context)
            token = guarded.running()
            try:
                return await invoke(context, arguments)
            except BaseException as error:
                guarded.failed(self._decisions.pop(context.tool_call_id), error)
                raise
            finally:
                not_running(token)

        return guarded_invoke

    async def _after(self, data: Any) -> Any:
        decision = self._decisions.pop(data.context.tool_call_id, None)
        if decision is None:
            return ToolGuardrailFunctionOutput.allow()
        output = data.output
        failed = isinstance(output, str) and output.startswith(_FAILED)
        advice = self._guarded(data.context).after(
            decision, output, outcome="error" if failed else "ok"
        )
        if not advice:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(f"{output}\n\n{advice}")

    def _guarded(self, context: Any) -> Guarded:
        """The session of the run that *context* belongs to.

        All calls of a run share its usage; a run that goes on from its state has a copy of it, but still
        knows the calls that it made before.
        """
        usage = context.usage
        known = self._runs.get(id(usage))
        if known is not None:
            guarded = self._sessions.get(known[1])
        else:
            earlier = self._resumed(context)
            guarded = self._sessions.get(earlier or self._session)
            if not earlier:
                guarded.turn()
            _remember(self._runs, id(usage), (usage, guarded.live.session))
        _remember(self._calls, context.tool_call_id, guarded.live.session)
        return guarded

    def _resumed(self, context: Any) -> str:
        made = getattr(context, "_tool_invocations", None) or {}
        return next((self._calls[call] for call in made if call in self._calls), "")


def _remember(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > 4 * KEPT:
        known.popitem(last=False)


def _used(usage: Any) -> dict[str, int]:
    """What a run has used up so far; its input counts what a cache served, too."""
    details = getattr(usage, "input_tokens_details", None)
    read = getattr(details, "cached_tokens", None) or 0
    sent = max(0, (usage.input_tokens or 0) - read)
    return {"input": sent, "output": usage.output_tokens or 0, "cache_read": read}


def _arguments(said: str) -> Any:
    """The arguments of a call: the model's JSON, or its raw text where that is none."""
    try:
        return json.loads(said) if said else {}
    except ValueError:
        return said
