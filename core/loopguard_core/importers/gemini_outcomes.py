"""What a Gemini CLI call came to: its status, the exit code in its output, hooks that spoke in it."""

from __future__ import annotations

import json
import re

from loopguard_core.importers.base import array, obj
from loopguard_core.importers.reading import foreign, host_spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EXIT = re.compile(r"^Exit Code: (-?\d+)", re.M)
_BLOCKED = re.compile(
    r"(?:Tool execution blocked|Agent execution stopped by hook|Blocked by hook): ?"
)
_HALTED = "Agent execution stopped"
_ADVICE = re.compile(r"\s*<hook_context>(.*?)</hook_context>", re.S)
_HOST_LINES = re.compile(r"^(?:Process Group PGID|Background PIDs|PIDs?): .*$", re.M)


def outcome_of(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The outcome of *call*, which has a ``status`` and a ``result``, and what else its end says."""
    result = _response(call)
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    more: dict[str, Any] = {"result": result}
    if isinstance(result, str):
        advice = [list(m.span()) for m in _ADVICE.finditer(text)]
        if spans := _apart(sorted([*advice, *host_spans(text, _HOST_LINES)])):
            more["host_spans"] = spans
    status = call.get("status")
    if status == "cancelled":
        refused = "did not allow" in text or "denied" in text.lower()
        return ("denied" if refused else "cancelled"), more
    if blocked := _BLOCKED.match(text):
        tier = "halt" if text.startswith(_HALTED) else "block"
        more["verdict"] = foreign(tier, text[blocked.end() :], "hook")
        return "blocked", more
    if advised := _ADVICE.search(text):
        more["verdict"] = foreign("warn", advised[1], "hook")
    exited = _EXIT.search(text)
    if status == "error" or (exited and int(exited[1]) != 0):
        return "error", more
    return "ok", more


def _apart(spans: list[list[int]]) -> list[list[int]]:
    """Sorted spans without overlaps."""
    out: list[list[int]] = []
    for start, end in spans:
        if out and start < out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def _response(call: dict[str, Any]) -> Any:
    """The result of a call: the text of its function response where there is one."""
    parts = [
        obj(obj(p).get("functionResponse")).get("response")
        for p in array(call.get("result"))
        if "functionResponse" in obj(p)
    ]
    if len(parts) == 1 and isinstance(parts[0], dict):
        response = parts[0]
        for name in ("output", "error"):
            if isinstance(response.get(name), str) and len(response) == 1:
                return response[name]
        return response
    return parts or call.get("result")
