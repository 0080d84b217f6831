"""GitHub Copilot CLI's hooks (1.0.102 was run).

The input names neither the event (the command line does) nor the call: a result is matched to the open
call with the same tool and arguments. ``continue: false`` is ignored, so there is no halt: a halt denies,
call by call, until the human lets go. Changed arguments are ``modifiedArgs``. A command that fails is a
success here, with its exit code in the text.
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
    need,
    text,
)
from loopguard_core.patterns import lazy
from loopguard_core.plain_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS = (
    "sessionStart",
    "userPromptSubmitted",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStop",
    "sessionEnd",
)

_KINDS = {
    "sessionStart": START,
    "userPromptSubmitted": TURN,
    "preToolUse": BEFORE,
    "postToolUse": AFTER,
    "postToolUseFailure": AFTER,
    "subagentStop": END,
    "sessionEnd": END,
}

_SHELL = lazy(r"<shellId: \S+ completed with exit code (-?\d+)>")


class Copilot(Adapter):
    """The GitHub Copilot command line."""

    name = "copilot"
    limit = 600.0
    kinds = _KINDS

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        heard = Heard(_KINDS.get(event, NOTHING), event, need(data, "sessionId"))
        heard.cwd = text(data, "cwd")
        heard.parent = text(data, "parentAgentId")
        if heard.parent:  # a subagent speaks under its own id; only its end is told by its parent
            heard.session = text(data, "agentId") or heard.session
            heard.name = text(data, "agentType")
        if heard.kind in (BEFORE, AFTER):
            heard.tool = need(data, "toolName")
            heard.args = _args(data.get("toolArgs"))
        if heard.kind == AFTER:
            _result(heard, data)
        elif heard.kind == TURN:
            heard.text = text(data, "prompt")
            heard.human = not heard.parent
            heard.reason = "task" if heard.parent else ""
        elif heard.kind == START:
            heard.reason = text(data, "source")
            heard.resumed = heard.reason == "resume"
        elif heard.kind == END:
            heard.reason = text(data, "reason") or text(data, "stopReason")
            if event == "subagentStop" and not heard.parent:
                heard.kind = NOTHING
        return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        if not answer.run:
            return {
                "permissionDecision": "deny",
                "permissionDecisionReason": answer.message or "refused by the loop guard",
            }
        out: dict[str, Any] = {}
        if answer.args is not None:
            out["modifiedArgs"] = answer.args
        if answer.message:
            out["additionalContext"] = answer.message
        return out or None

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        return {"additionalContext": advice} if advice else None


def _args(said: object) -> object:
    if isinstance(said, str):  # older versions send the arguments as JSON in a string
        try:
            return loads(said)
        except ValueError:
            return said
    return said


def _result(heard: Heard, data: Mapping[str, Any]) -> None:
    response = data.get("toolResult")
    said = response.get("textResultForLlm") if isinstance(response, dict) else response
    kind = text(response, "resultType") if isinstance(response, dict) else ""
    if said is None:
        said = data.get("error")
    heard.result = said
    heard.outcome = "error" if heard.event == "postToolUseFailure" or kind == "failure" else "ok"
    if kind in ("denied", "rejected"):
        heard.outcome = "denied"
    if isinstance(said, str):
        exit_code = _SHELL.search(said)
        heard.result = _SHELL.sub(r"<shell completed with exit code \1>", said)
        if exit_code and exit_code.group(1) != "0":
            heard.outcome = "error"


ADAPTER = Copilot()
