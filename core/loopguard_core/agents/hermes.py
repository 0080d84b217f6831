"""Hermes Agent's plugin hooks (0.19 was run). ``loopguard-console install hermes`` writes the plugin.

The hooks run inside hermes. ``pre_tool_call`` may block with a message, and waits for a human by sleeping;
``approve`` would ask through hermes' own gate and is never used. Advice is appended by
``transform_tool_result``. There is no halt for a plugin: a halt denies, call by call, until the human lets
go. Hermes' own guardrails stand behind ours: a call that they block is recorded with their verdict.
"""

from __future__ import annotations

from loopguard_core.agents.embedded import Sessions
from loopguard_core.events import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.agents.embedded import Guarded
    from loopguard_core.config import Config
    from loopguard_core.decision import Decision
    from loopguard_core.store.contract import Store

_OUTCOMES = {"ok": "ok", "error": "error", "blocked": "denied", "cancelled": "cancelled"}


class Plugin:
    """The guard of one hermes process. *config* and *store* are the configured ones unless given."""

    def __init__(self, config: Config | None = None, store: Store | None = None) -> None:
        self._sessions = Sessions("hermes", config, store)
        self._parents: dict[str, str] = {}
        self._decisions: dict[str, Decision] = {}
        self._advice: dict[str, str] = {}

    def register(self, ctx: Any) -> None:
        """Register every hook with hermes' plugin context."""
        for hook, callback in (
            ("pre_llm_call", self.turn),
            ("pre_tool_call", self.before),
            ("post_tool_call", self.after),
            ("transform_tool_result", self.advise),
            ("subagent_start", self.child),
            ("on_session_finalize", self.end),
        ):
            ctx.register_hook(hook, callback)

    def turn(self, session_id: str = "", user_message: Any = "", **more: Any) -> None:
        """A conversation's turn begins."""
        text = user_message if isinstance(user_message, str) else str(user_message or "")
        reason = "task" if session_id in self._parents else ""
        if more.get("platform") == "cron":
            reason = "cron"
        self._guarded(session_id).turn(reason or text, human=not reason)

    def before(
        self,
        tool_name: str = "",
        args: Any = None,
        session_id: str = "",
        tool_call_id: str = "",
        **more: Any,
    ) -> dict[str, str] | None:
        """Judge a call; a refusal becomes its result."""
        decision = self._guarded(session_id).before(tool_name, args, tool_call_id)
        if not decision.run:
            return {"action": "block", "message": decision.message}
        if decision.modified and isinstance(args, dict) and isinstance(decision.args, dict):
            given = dict(decision.args)
            args.clear()  # hermes runs the call with the object that it showed us
            args.update(given)
        self._decisions[tool_call_id] = decision
        return None

    def after(
        self,
        result: Any = None,
        session_id: str = "",
        tool_call_id: str = "",
        status: Any = "ok",
        error_type: Any = None,
        error_message: Any = None,
        **more: Any,
    ) -> None:
        """Record a result. Fires for blocked calls too, with their refusal."""
        decision = self._decisions.pop(tool_call_id, None)
        if decision is None:
            return
        native = None
        if error_type == "guardrail_block":
            reason = str(error_message or "")[:2_000]
            native = {"tier": "block", "policy": "hermes", "source": "hermes", "reason": reason}
        outcome = _outcome(str(status), result)
        advice = self._guarded(session_id).after(decision, result, outcome=outcome, foreign=native)
        if advice:
            self._advice[tool_call_id] = advice

    def advise(self, result: Any = None, tool_call_id: str = "", **more: Any) -> str | None:
        """The result with advice behind it."""
        advice = self._advice.pop(tool_call_id, "")
        return f"{result}\n\n{advice}" if advice else None

    def child(self, child_session_id: Any = "", parent_session_id: Any = "", **more: Any) -> None:
        """A subagent starts: its session has a parent."""
        self._parents[str(child_session_id or "")] = str(parent_session_id or "")

    def end(self, session_id: Any = "", **more: Any) -> None:
        """A session is over."""
        self._sessions.end(str(session_id or ""), str(more.get("reason") or ""))

    def _guarded(self, session: str) -> Guarded:
        return self._sessions.get(session, parent=self._parents.get(session, ""))


def _outcome(status: str, result: Any) -> str:
    """How a call ended: a command that failed is a success to hermes, with its exit code in the result."""
    outcome = _OUTCOMES.get(status, "ok")
    if outcome != "ok" or not isinstance(result, str):
        return outcome
    try:
        said = load(result)
    except ValueError:
        return outcome
    failed = isinstance(said, dict) and (said.get("exit_code") or said.get("error"))
    return "error" if failed else outcome


def register(ctx: Any) -> None:
    """What hermes calls when it loads the plugin."""
    Plugin().register(ctx)
