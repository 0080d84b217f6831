"""pydantic-ai (2.68 was run): a capability. Extra: ``loopguard-console[pydantic-ai]``.

    from loopguard_core.agents.pydantic_ai import LoopGuard

    agent = Agent(model, tools=tools, capabilities=[LoopGuard()])

One run is one turn; a conversation (``conversation_id``, which the message history carries on) is one
session. A refusal becomes the tool's result, advice is appended to it. A halt raises ``TurnHalted`` out of
the run, since pydantic-ai has no other way to end one from a tool.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from loopguard_core.agents.embedded import Sessions, not_running
from loopguard_core.agents.extra import needs
from loopguard_core.functions import not_taken
from loopguard_core.halted import TurnHalted

with needs("pydantic-ai"):
    from pydantic import ValidationError
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution
    from pydantic_ai.messages import ToolReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.agents.embedded import Guarded
    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.store.contract import Store

__all__ = ["LoopGuard", "TurnHalted"]


class LoopGuard(AbstractCapability[Any]):
    """Guards the tool calls of an agent. *config* and *store* are the configured ones unless given."""

    def __init__(self, config: Config | None = None, store: Store | None = None) -> None:
        self._sessions = Sessions("pydantic-ai", config, store)

    async def before_run(self, ctx: Any) -> None:
        """A run begins: a turn, unless it goes on with what was deferred."""
        self._guarded(ctx).used_so_far(str(ctx.run_id), _used(ctx.usage), before=True)
        prompt = ctx.prompt
        if prompt is not None:
            self._guarded(ctx).turn(prompt if isinstance(prompt, str) else str(prompt))

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        """Judge a call, run it, record its result. Raises ``TurnHalted``."""
        guarded = self._guarded(ctx)
        # what was deferred and is approved now is the call that it was, though another run makes it
        approved = getattr(ctx, "tool_call_approved", False)
        message = "" if approved else f"{ctx.run_id}/{ctx.run_step}"
        guarded.used_so_far(str(ctx.run_id), _used(ctx.usage))
        decision = await guarded.before_async(
            call.tool_name, args, call.tool_call_id, message=message
        )
        if not decision.run:
            if decision.ends_turn:
                raise guarded.halt(decision)
            return decision.message
        if decision.modified:
            try:
                args = _taken(ctx, call.tool_name, decision.args)
            except ValueError as error:
                said = not_taken(_wrong(error))
                return f"{said}\n\n{guarded.after(decision, said, outcome='error')}"
        token = guarded.running()
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred):
            raise  # the call goes on when the run is resumed
        except SkipToolExecution as skipped:
            guarded.after(decision, skipped.result)
            raise
        except ModelRetry as retry:
            advice = guarded.failed(decision, retry)
            if advice:
                raise ModelRetry(f"{retry.message}\n\n{advice}") from retry
            raise
        except BaseException as error:
            guarded.failed(decision, error)
            raise
        finally:
            not_running(token)
        return _advised(guarded, decision, result)

    def _guarded(self, ctx: Any) -> Guarded:
        return self._sessions.get(str(ctx.conversation_id or ctx.run_id or ""))


def _taken(ctx: Any, name: str, args: Any) -> Any:
    """*args*, which a human gave as JSON, as the tool called *name* takes them. Raises ``ValueError``."""
    tool = (ctx.tool_manager.tools or {}).get(name) if ctx.tool_manager is not None else None
    if tool is None:
        return args
    said = json.dumps(args)
    return tool.args_validator.validate_json(said, context=ctx.validation_context)


def _wrong(error: ValueError) -> str:
    """What pydantic says of each argument, in one line."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())


def _used(usage: Any) -> dict[str, int]:
    """What a run has used up so far; its input counts what a cache served, too."""
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    said = {"input": max(0, (usage.input_tokens or 0) - read - written)}
    said |= {"output": usage.output_tokens or 0, "cache_read": read, "cache_write": written}
    return said


def _advised(guarded: Guarded, decision: Decision, result: Any) -> Any:
    advice = guarded.after(decision, result)
    if not advice:
        return result
    if isinstance(result, str):
        return f"{result}\n\n{advice}"
    if isinstance(result, ToolReturn):
        return replace(result, content=_with(result.content, advice))
    return ToolReturn(return_value=result, content=advice)


def _with(content: Any, advice: str) -> Any:
    """What a tool says beside its result, with *advice* after it."""
    if content is None:
        return advice
    return [*([content] if isinstance(content, str) else content), advice]
