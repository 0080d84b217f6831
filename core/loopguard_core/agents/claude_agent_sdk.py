"""Claude Agent SDK (0.2.189 was run): hooks for ``ClaudeAgentOptions``. Extra: ``[claude-agent-sdk]``.

    from loopguard_core.agents.claude_agent_sdk import LoopGuard

    options = ClaudeAgentOptions(hooks=LoopGuard().hooks())

The hooks run in this process and speak Claude Code's protocol, so everything that holds there holds here
(see ``agents.claude_code``). A hook that waits for a human awaits: the SDK's other work goes on. Hooks that
the program has of its own are kept: ``LoopGuard().hooks(mine)``.
"""

from __future__ import annotations

from typing import Any

from loopguard_core.agents import host
from loopguard_core.agents.claude_code import ADAPTER, EVENTS
from loopguard_core.agents.embedded import Guarded, Sessions
from loopguard_core.agents.extra import needs

with needs("claude-agent-sdk"):
    from claude_agent_sdk import HookMatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard_core.agents.host import Heard
    from loopguard_core.config import Config
    from loopguard_core.store.contract import Store

#: Seconds that Claude Code waits for a hook that may wait for a human, and for the others.
WAITING, RECORDING = 600.0, 60.0

_MARGIN = 5.0

# A hook that fails blocks its call, where this version of the SDK can say so.
_WAITING: dict[str, Any] = {"timeout": WAITING}
if "on_failure" in getattr(HookMatcher, "__dataclass_fields__", {}):
    _WAITING["on_failure"] = "block"


class LoopGuard:
    """Guards the tool calls of Claude. *config* and *store* are the configured ones unless given."""

    def __init__(self, config: Config | None = None, store: Store | None = None) -> None:
        self._sessions = Sessions("claude-agent-sdk", config, store)

    def hooks(self, own: Mapping[Any, list[Any]] | None = None) -> dict[Any, list[Any]]:
        """Hooks for ``ClaudeAgentOptions(hooks=…)``: the program's *own*, then the guard's."""
        hooks = {event: list(matchers) for event, matchers in (own or {}).items()}
        for event in EVENTS:
            if any(self._answer in matcher.hooks for matcher in hooks.get(event, [])):
                continue  # they were given to the program before
            more = _WAITING if event == "PreToolUse" else {"timeout": RECORDING}
            hooks.setdefault(event, []).append(HookMatcher(hooks=[self._answer], **more))
        return hooks

    async def _answer(self, data: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        heard = ADAPTER.hear(data, "")
        if heard.kind == host.NOTHING:
            return {}
        guarded = self._sessions.get(heard.session, parent=heard.parent, name=heard.name)
        if heard.kind == host.BEFORE:
            return await self._before(heard, guarded)
        if heard.kind == host.AFTER:
            decision = guarded.live.recall(heard.call, heard.tool, heard.args)
            advice = guarded.live.after(
                decision, heard.result, outcome=heard.outcome, duration=heard.duration
            )
            return _python(ADAPTER.after(heard, advice))
        if heard.kind == host.TURN:
            guarded.turn(heard.text if heard.human else heard.reason, human=heard.human)
        elif heard.kind == host.SETTLED:
            guarded.settle(heard.settled)
        elif heard.kind == host.END:
            self._sessions.end(heard.session, heard.reason)
        return {}

    async def _before(self, heard: Heard, guarded: Guarded) -> dict[str, Any]:
        decision = await guarded.live.before_async(
            heard.tool, heard.args, call=heard.call, wait_limit=WAITING - _MARGIN
        )
        answer = host.Answer(
            decision.run,
            "" if decision.run and not decision.modified else decision.message,
            args=decision.args if decision.modified else None,
            ends_turn=decision.ends_turn,
        )
        return _python(ADAPTER.before(heard, answer))


def _python(answer: dict[str, Any] | None) -> dict[str, Any]:
    """An answer as the SDK spells it: ``continue`` is a word of the language."""
    out = dict(answer or {})
    if "continue" in out:
        out["continue_"] = out.pop("continue")
    return out
