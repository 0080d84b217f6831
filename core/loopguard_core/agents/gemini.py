"""Gemini CLI's hooks (0.61 was run).

It names no calls: a result is matched to the open call with the same tool and arguments. Its times are
in milliseconds. ``decision: "ask"`` hangs without a terminal and is never used. ``continue: false``
before a tool stops the run. Changed arguments are ``tool_input``; the CLI itself tells the model. A
command that fails is a success here, with ``Exit Code: N`` in its text. Its own loop detection speaks to the
model before it stops the run; ``BeforeModel`` shows that.
"""

from __future__ import annotations

from loopguard_core.agents.host import (
    AFTER,
    BEFORE,
    END,
    NATIVE,
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
from loopguard_core.patterns import MULTILINE, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS = ("SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "SessionEnd")

_KINDS = {
    "SessionStart": START,
    "BeforeAgent": TURN,
    "BeforeTool": BEFORE,
    "AfterTool": AFTER,
    "SessionEnd": END,
}

_LOOP = "System: Potential loop detected"

_VOLATILE = lazy(r"^Process Group PGID: \d+\n?", MULTILINE)
_EXIT = lazy(r"^Exit Code: (\d+)", MULTILINE)


class Gemini(Adapter):
    """The Gemini command line."""

    name = "gemini"
    limit = 600.0
    kinds = _KINDS

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        event = text(data, "hook_event_name") or event
        heard = Heard(_KINDS.get(event, NOTHING), event, need(data, "session_id"))
        heard.cwd = text(data, "cwd")
        if heard.kind in (BEFORE, AFTER):
            heard.tool = need(data, "tool_name")
            heard.args = data.get("tool_input")
        if heard.kind == AFTER:
            _result(heard, data.get("tool_response"))
        elif event == "BeforeModel":
            _native(heard, data.get("llm_request"))
        elif heard.kind == TURN:
            heard.text = text(data, "prompt")
        elif heard.kind == START:
            heard.reason = text(data, "source")
            heard.resumed = heard.reason == "resume"
        elif heard.kind == END:
            heard.reason = text(data, "reason")
        return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        out: dict[str, Any] = {}
        if answer.notice:
            out["systemMessage"] = answer.notice
        if not answer.run:
            out["decision"] = "deny"
            out["reason"] = answer.message
            if answer.ends_turn:
                out["continue"] = False
                out["stopReason"] = answer.message
            return out
        if answer.args is not None:
            specific = {"hookEventName": heard.event, "tool_input": answer.args}
            out["hookSpecificOutput"] = specific
        return out or None

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        return beside_result(heard, advice)


def _native(heard: Heard, request: object) -> None:
    """Whether the CLI's own loop detection has just spoken to the model."""
    messages = request.get("messages") if isinstance(request, dict) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    said = last.get("content") if isinstance(last, dict) else None
    if isinstance(said, str) and said.startswith(_LOOP):
        heard.kind = NATIVE
        heard.text = said
        heard.foreign = {
            "tier": "warn",
            "policy": "gemini-cli",
            "source": "gemini-cli",
            "detector": "loop_detection",
            "reason": said[:2_000],
        }


def _result(heard: Heard, response: object) -> None:
    said = response.get("llmContent") if isinstance(response, dict) else response
    if not isinstance(said, str):
        heard.result = said
        return
    heard.result = _VOLATILE.sub("", said)
    exit_code = _EXIT.search(said)
    failed = isinstance(response, dict) and bool(response.get("error"))
    if failed or (exit_code and exit_code.group(1) != "0"):
        heard.outcome = "error"


ADAPTER = Gemini()
