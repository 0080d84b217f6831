"""LangChain (1.5 was run): a middleware for ``create_agent``. Extra: ``loopguard-console[langchain]``.

    from loopguard_core.agents.langchain import LoopGuard

    agent = create_agent(model, tools, middleware=[LoopGuard()])

One invocation is one turn. The session's name stands in the agent's state, so with a checkpointer a thread
is one session, also in another process. A refusal becomes the tool's message with ``status="error"``,
advice is appended to the result, a halt ends the run before the next model call. Calls are counted by
their ids: a resumed ``interrupt()`` runs the tool node again and counts nothing twice.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from loopguard_core.agents.embedded import Guarded, Sessions, last_text, not_running
from loopguard_core.agents.extra import needs

with needs("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.store.contract import Store


class GuardedState(AgentState[Any]):
    """The agent's state with the name of its guarded session."""

    loopguard_session: NotRequired[Annotated[str, PrivateStateAttr]]


class LoopGuard(AgentMiddleware[GuardedState, Any]):
    """Guards the tool calls of an agent. *config* and *store* are the configured ones unless given."""

    state_schema = GuardedState

    def __init__(self, config: Config | None = None, store: Store | None = None) -> None:
        super().__init__()
        self._sessions = Sessions("langchain", config, store)

    # -- a run -----------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """A run begins: a turn."""
        guarded = self._sessions.get(state.get("loopguard_session") or "")
        guarded.turn(last_text(state.get("messages")))
        return {"loopguard_session": guarded.live.session}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """As ``before_agent``."""
        return self.before_agent(state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """A run is over; so is its session, unless a checkpointer keeps it."""
        if state.get("loopguard_session"):
            _count(self._guarded(state), state)
        if "thread_id" not in get_config().get("configurable", {}):
            self._sessions.end(state.get("loopguard_session", ""))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """As ``after_agent``."""
        self.after_agent(state, runtime)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """A halted turn ends here instead of asking the model once more."""
        halted = self._guarded(state).halted
        if not halted:
            return None
        return {"jump_to": "end", "messages": [AIMessage(halted)]}

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """As ``before_model``."""
        return self.before_model(state, runtime)

    # -- a call ----------------------------------------------------------------------------------

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Judge a call, run it, record its result."""
        guarded = self._guarded(request.state)
        _count(guarded, request.state)
        decision = guarded.before(**_asked(request))
        if not decision.run:
            return _refusal(request, decision)
        token = guarded.running()
        try:
            result = handler(_changed(request, decision))
        except GraphBubbleUp:
            raise  # an interrupt: the call goes on when the run is resumed
        except BaseException as error:
            guarded.failed(decision, error)
            raise
        finally:
            not_running(token)
        return _record(guarded, decision, request, result)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As ``wrap_tool_call``, without blocking the event loop while a human is waited for."""
        guarded = self._guarded(request.state)
        _count(guarded, request.state)
        decision = await guarded.before_async(**_asked(request))
        if not decision.run:
            return _refusal(request, decision)
        token = guarded.running()
        try:
            result = await handler(_changed(request, decision))
        except GraphBubbleUp:
            raise
        except BaseException as error:
            guarded.failed(decision, error)
            raise
        finally:
            not_running(token)
        return _record(guarded, decision, request, result)

    def _guarded(self, state: Any) -> Guarded:
        return self._sessions.get(state.get("loopguard_session") or "")


def _asked(request: Any) -> dict[str, Any]:
    call = request.tool_call
    messages = request.state.get("messages") or [None]
    return {
        "tool": call["name"],
        "args": call["args"],
        "call": call["id"] or "",
        "message": str(getattr(messages[-1], "id", None) or ""),
    }


def _count(guarded: Guarded, state: Any) -> None:
    """Record what the model's last answer used up, where it says so."""
    last = (state.get("messages") or [None])[-1]
    usage, answer = getattr(last, "usage_metadata", None), getattr(last, "id", None)
    if not isinstance(usage, dict) or not answer:
        return
    details = usage.get("input_token_details") or {}
    read, written = details.get("cache_read") or 0, details.get("cache_creation") or 0
    said = {"input": (usage.get("input_tokens") or 0) - read - written}
    said |= {"output": usage.get("output_tokens"), "cache_read": read, "cache_write": written}
    guarded.used(str(answer), said)


def _changed(request: Any, decision: Decision) -> Any:
    if not decision.modified:
        return request
    return request.override(tool_call={**request.tool_call, "args": decision.args})


def _refusal(request: Any, decision: Decision) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(decision.message, tool_call_id=call["id"], name=call["name"], status="error")


def _record(guarded: Guarded, decision: Decision, request: Any, result: Any) -> Any:
    message = _message(result, request.tool_call["id"])
    if message is None:
        guarded.after(decision, repr(result))
        return result
    outcome = "error" if message.status == "error" else "ok"
    advice = guarded.after(decision, message.content, outcome=outcome)
    if advice:
        content = message.content
        if isinstance(content, str):
            message.content = f"{content}\n\n{advice}" if content else advice
        else:
            message.content = [*content, {"type": "text", "text": advice}]
    return result


def _message(result: Any, call: str) -> Any:
    """The tool's message in what a tool node gives back, None where there is none."""
    if isinstance(result, ToolMessage):
        return result
    update = result.update if isinstance(result, Command) else None
    messages = update.get("messages", []) if isinstance(update, dict) else []
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id == call:
            return message
    return None
