"""What a record of Claude Code says of a call: by the flag, the decision and the texts it uses."""

from __future__ import annotations

import re

from loopguard_core.importers.base import obj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = "[Request interrupted by user"
_DENIED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "Permission for this tool use was denied",
    "Permission to use ",
    "Claude requested permissions to ",
)
_SIBLING = re.compile(r"<tool_use_error>(Sibling tool call errored|Cancelled: parallel tool call)")
_HOOK = re.compile(
    r"(?:PreToolUse:[^\n]{0,200}? hook (?:blocking )?error|Execution stopped by PreToolUse hook):? ?"
)
HOOK_TIERS = {
    "hook_additional_context": "warn",
    "hook_blocking_error": "block",
    "hook_stopped_continuation": "halt",
}
#: record types that carry nothing of the chain of calls
BOOKKEEPING = frozenset(
    [
        "summary",
        "file-history-snapshot",
        "file-history-delta",
        "queue-operation",
        "last-prompt",
        "mode",
        "permission-mode",
        "atis-latch",
        "pr-link",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "tools-used",
        "cost-state",
        "custom-title",
        "agent-name",
        "agent-color",
        "tag",
        "ai-title",
        "stream_event",
        "rate_limit_event",
        "worktree-state",
    ]
)


def hook_verdict(tier: str, reason: str, detector: str = "") -> dict[str, Any]:
    """A hook's word as another guard's verdict; its own prefix is left out."""
    reason = _HOOK.sub("", reason, count=1)
    verdict = {"tier": tier, "policy": "hook", "reason": reason.strip()[:2_000], "source": "hook"}
    return {**verdict, "detector": detector} if detector else verdict


def outcome_of(record: dict[str, Any], block: dict[str, Any], text: str) -> str:
    """How a call ended: *block* is the result in *record*, *text* what it says."""
    if _SIBLING.match(text) or text.startswith(INTERRUPTED):
        return "cancelled"
    if block.get("is_error"):
        decision = obj(record.get("permissionDecision"))
        refused = decision.get("decision") in ("reject", "deny")
        if _HOOK.match(text) or (refused and decision.get("source") == "hook"):
            return "blocked"
        if refused or text.startswith(_DENIED):
            return "denied"
        return "cancelled" if obj(record.get("toolUseResult")).get("interrupted") else "error"
    return "ok"
