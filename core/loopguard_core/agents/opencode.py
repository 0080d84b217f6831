"""opencode (1.18 was run): what our own plugin, which ``install`` writes, says and understands.

opencode runs plugins in JavaScript inside its process; ours starts the hook for each event and does what it
answers: ``deny`` is thrown as an error that the model reads, ``halt`` aborts the running turn as well,
``args`` replace the call's, ``advice`` is appended to its output, ``notice`` is shown to the person.
"""

from __future__ import annotations

from loopguard_core.agents.host import (
    AFTER,
    BEFORE,
    END,
    NOTHING,
    SETTLED,
    TURN,
    Adapter,
    Answer,
    Heard,
    Settled,
    need,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KINDS = {"turn": TURN, "before": BEFORE, "after": AFTER, "failed": SETTLED, "end": END}


class OpenCode(Adapter):
    """opencode, through our plugin."""

    name = "opencode"
    limit = 600.0
    kinds = _KINDS

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        heard = Heard(_KINDS.get(event, NOTHING), event, need(data, "session"))
        heard.parent = text(data, "parent")
        heard.cwd = text(data, "directory")
        heard.text = text(data, "text")
        heard.human = not heard.parent  # a subagent's prompt is written by its parent
        heard.reason = "task" if heard.parent else ""
        heard.tool = text(data, "tool")
        heard.call = text(data, "call")
        heard.args = data.get("args")
        if heard.kind == AFTER:
            heard.result = data.get("output")
            code = data.get("exit")
            if isinstance(code, int) and code != 0:
                heard.outcome = "error"
        elif heard.kind == SETTLED:
            said = text(data, "output")
            heard.settled = [Settled(heard.call, heard.tool, heard.args, said, "error")]
        elif heard.kind == END:
            heard.reason = "deleted"
        return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        out: dict[str, Any] = {}
        if answer.notice:
            out["notice"] = answer.notice
        if not answer.run:
            out["deny"] = answer.message or "refused by the loop guard"
            if answer.ends_turn:
                out["halt"] = True
            return out
        if answer.args is not None:
            out["args"] = answer.args
        if answer.message:
            out["advice"] = answer.message
        return out or None

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        return {"advice": advice} if advice else None


ADAPTER = OpenCode()
