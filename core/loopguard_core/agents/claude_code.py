"""Claude Code's hooks (2.1.191 and 2.1.332 were run): input and output of ``type: command`` hooks.

Seen with the real program, and each the reason for a line below:
- ``continue: false`` alone lets the call run once more, so a halt says deny as well; older versions deny
  and go on, so the halt that counts is the latch in the store.
- A denied call has no Post event. ``PostToolBatch`` names every call of the message, also those that
  the user or another hook denied.
- ``updatedInput`` works without a permission decision. An explicit allow would skip the user's own
  permission prompt: letting a call run is saying nothing.
- ``additionalContext`` reaches the model beside the result, before and after a call, also a failed one.
- ``UserPromptSubmit`` also fires for wake-ups and notifications; ``source`` tells.
"""

from __future__ import annotations

from loopguard_core.agents.host import (
    AFTER,
    BEFORE,
    END,
    NOTHING,
    SETTLED,
    START,
    TURN,
    Adapter,
    Answer,
    Heard,
    Settled,
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
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStop",
    "SessionEnd",
)

_KINDS = {
    "SessionStart": START,
    "UserPromptSubmit": TURN,
    "PreToolUse": BEFORE,
    "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER,
    "PostToolBatch": SETTLED,
    "SubagentStop": END,
    "SessionEnd": END,
}

_HUMAN_SOURCES = ("", "user", "sdk")

_CANCELLED = ("Sibling tool call errored", "Request interrupted by user", "Cancelled: parallel")

# Fields of a tool's response that differ between two runs with the same result.
_VOLATILE = frozenset(
    ("durationMs", "durationSeconds", "totalDurationMs", "totalTokens", "usage", "agentId")
)


class ClaudeCode(Adapter):
    """Claude Code and whatever speaks its hook protocol in full."""

    name = "claude-code"
    limit = 600.0
    kinds = _KINDS

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        event = text(data, "hook_event_name") or event
        kind = _KINDS.get(event, NOTHING)
        session = need(data, "session_id")
        child = text(data, "agent_id")
        heard = Heard(kind, event, f"{session}/{child}" if child else session)
        heard.parent = session if child else ""
        heard.name = text(data, "agent_type") if child else ""
        heard.cwd = text(data, "cwd")
        if kind in (BEFORE, AFTER):
            heard.tool = need(data, "tool_name")
            heard.args = data.get("tool_input")
            heard.call = text(data, "tool_use_id")
        if kind == AFTER:
            _result(heard, data)
        elif kind == TURN:
            source = text(data, "source")
            heard.text = text(data, "prompt")
            heard.human = source in _HUMAN_SOURCES and not child
            heard.reason = source if source not in _HUMAN_SOURCES else "task"
        elif kind == START:
            heard.reason = text(data, "source")
            heard.resumed = heard.reason == "resume"
            if heard.reason == "compact":  # the same run goes on
                heard.kind = NOTHING
        elif kind == END:
            heard.reason = text(data, "reason") or event
            if event == "SubagentStop" and not child:
                heard.kind = NOTHING
        elif kind == SETTLED:
            calls = data.get("tool_calls")
            listed = calls if isinstance(calls, list) else []
            heard.settled = [_settled(c) for c in listed if isinstance(c, dict)]
        return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        specific: dict[str, Any] = {"hookEventName": heard.event}
        out: dict[str, Any] = {"hookSpecificOutput": specific}
        if answer.notice:
            out["systemMessage"] = answer.notice
        if not answer.run:
            specific["permissionDecision"] = "deny"
            specific["permissionDecisionReason"] = answer.message
            if answer.ends_turn:
                out["continue"] = False
                out["stopReason"] = answer.notice or answer.message
            return out
        if answer.args is not None:
            specific["updatedInput"] = answer.args
        if answer.message:
            specific["additionalContext"] = answer.message
        return out if len(specific) > 1 or answer.notice else None

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        return beside_result(heard, advice)

    def folder(self, heard: Heard, environ: Mapping[str, str]) -> str:
        return environ.get("CLAUDE_PROJECT_DIR") or heard.cwd  # cwd follows the model's own cd

    def exports(self, heard: Heard, environ: Mapping[str, str]) -> str:
        return environ.get("CLAUDE_ENV_FILE", "") if heard.kind == START else ""

    def pid(self, environ: Mapping[str, str]) -> int:
        said = environ.get("CLAUDE_PID", "")
        return int(said) if said.isdecimal() else 0


def _result(heard: Heard, data: Mapping[str, Any]) -> None:
    if heard.event == "PostToolUseFailure":
        heard.result = text(data, "error")
        heard.outcome = "cancelled" if data.get("is_interrupt") is True else "error"
    else:
        heard.result = plain(data.get("tool_response"))
    took = data.get("duration_ms")
    if isinstance(took, (int, float)) and not isinstance(took, bool) and 0 <= took < 1e12:
        heard.duration = took / 1000


def _settled(call: Mapping[str, Any]) -> Settled:
    """A call of a batch. One that had no Post event of its own was denied, or fell with a sibling."""
    result = plain(call.get("tool_response"))
    cancelled = isinstance(result, str) and any(mark in result for mark in _CANCELLED)
    return Settled(
        text(call, "tool_use_id"),
        text(call, "tool_name"),
        call.get("tool_input"),
        result,
        "cancelled" if cancelled else "denied",
    )


def plain(response: object) -> Any:
    """A tool's response as text where it is text in a wrapping, without what differs between runs."""
    if isinstance(response, list):
        parts = [p.get("text") for p in response if isinstance(p, dict) and p.get("type") == "text"]
        whole = len(parts) == len(response) and all(isinstance(p, str) for p in parts)
        return "\n".join(str(p) for p in parts) if whole else response
    if not isinstance(response, dict):
        return response
    if isinstance(response.get("stdout"), str):
        streams = (response["stdout"], response.get("stderr"))
        return "\n".join(s for s in streams if isinstance(s, str) and s)
    return {name: value for name, value in response.items() if name not in _VOLATILE}


ADAPTER = ClaudeCode()
