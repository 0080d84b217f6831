"""Codex's hooks (0.171 was run): Claude's shape, but not Claude's answers.

Codex rejects an answer whole, and lets the call run, where it holds a field that it does not support:
``continue``, ``stopReason``, ``ask``, or an ``allow`` that changes nothing. So:
- there is no halt here: a halt denies, call by call, until the human lets go;
- changed arguments need ``allow`` beside them (the sandbox and the approval policy still apply), and a
  shell call takes a string ``command`` only;
- ``PostToolUse`` says nothing of success: a failing command looks like any other.
A denied call has no Post event. A subagent's events carry its id and kind beside its parent's session; its
prompt, which its parent wrote, comes as a prompt too.
"""

from __future__ import annotations

from loopguard_core.agents.host import (
    AFTER,
    BEFORE,
    END,
    NOTHING,
    START,
    TURN,
    Adapter,
    Answer,
    Heard,
    beside_result,
    need,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SubagentStop",
    "SessionEnd",
)

_KINDS = {
    "SessionStart": START,
    "UserPromptSubmit": TURN,
    "PreToolUse": BEFORE,
    "PostToolUse": AFTER,
    "SubagentStop": END,
    "SessionEnd": END,
}


class Codex(Adapter):
    """The Codex command line."""

    name = "codex"
    limit = 600.0
    kinds = _KINDS

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        event = text(data, "hook_event_name") or event
        session, child = need(data, "session_id"), text(data, "agent_id")
        heard = Heard(_KINDS.get(event, NOTHING), event, child or session)
        heard.parent = session if child else ""
        heard.name = text(data, "agent_type") if child else ""
        heard.cwd = text(data, "cwd")
        if heard.kind in (BEFORE, AFTER):
            heard.tool = need(data, "tool_name")
            heard.args = data.get("tool_input")
            heard.call = text(data, "tool_use_id")
            heard.result = data.get("tool_response")
        elif heard.kind == TURN:
            heard.text = text(data, "prompt")
            heard.human = not child
            heard.reason = "task" if child else ""
        elif heard.kind == START:
            heard.reason = text(data, "source")
            heard.resumed = heard.reason == "resume"
            if heard.reason == "compact":
                heard.kind = NOTHING
        elif heard.kind == END:
            heard.reason = text(data, "reason")
            if event == "SubagentStop" and not child:
                heard.kind = NOTHING
        return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        specific: dict[str, Any] = {"hookEventName": heard.event}
        out: dict[str, Any] = {"hookSpecificOutput": specific}
        if answer.notice:
            out["systemMessage"] = answer.notice
        if not answer.run:
            specific["permissionDecision"] = "deny"
            specific["permissionDecisionReason"] = answer.message or "refused by the loop guard"
            return out
        if answer.args is not None:
            specific["permissionDecision"] = "allow"
            specific["updatedInput"] = answer.args
        if answer.message:
            specific["additionalContext"] = answer.message
        return out if len(specific) > 1 or answer.notice else None

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        return beside_result(heard, advice)


ADAPTER = Codex()
