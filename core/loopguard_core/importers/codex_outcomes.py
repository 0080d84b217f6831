"""What the text of a Codex result says: exit codes, refusals, and the host's bookkeeping."""

from __future__ import annotations

import re

from loopguard_core.importers.base import array, obj
from loopguard_core.importers.reading import foreign, host_spans, parsed, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.M)
_FAILED = re.compile(
    r"exec_command failed|apply_patch verification failed|failed to parse function arguments"
    r"|unsupported call|execution error|Script (?:failed|error)|tool call error"
    r"|sandbox error|failed in sandbox|command timed out|err: "
)
_ABORTED = re.compile(r"Script (?:cancelled|aborted)")
_REJECTED = re.compile(
    r"(?:Wall time:? [^\n]*\n)?aborted by user"
    r"|(?:exec(?:_command| command)?|patch|tool call|command) (?:was )?(?:rejected|denied) by (?:the )?user|rejected by user|user rejected"
)
_HOOK = " blocked by PreToolUse hook: "
_HEADING = 80
_BLOCKED = re.compile(r"[\w ]{1,40} blocked by PreToolUse hook: (.*?)(?:\. Command: .*)?\Z", re.S)
_HOST = re.compile(
    r"^(?:Chunk ID: .*\n|Wall time:? .*\n|Original token count: .*\n)"
    r'|"duration_seconds": ?[\d.]+',
    re.M,
)
_PREAMBLE = 2_000
#: what a script of code mode printed, where that is a command's whole result
_SCRIPT = re.compile(r"Script \w+[^\n]*\n(?:Wall time[^\n]*\n)?Output:\s*")
_SCRIPT_HOST = re.compile(r'"(?:chunk_id|wall_time_seconds)": ?("[^"\n]*"|[\d.e-]+)')


def judge(text: str) -> tuple[str, dict[str, Any]]:
    """What the text of a result says of its outcome (empty: nothing), and what else it carries."""
    if _HOOK in text[:_HEADING] and (blocked := _BLOCKED.match(text)):
        return "blocked", {"verdict": foreign("block", blocked[1], "hook")}
    more: dict[str, Any] = {}
    start, end = _preamble(text)
    spans = [list(m.span()) for m in _HOST.finditer(text, start, end)]
    script = _SCRIPT.match(text)
    if script:
        spans += host_spans(text, _SCRIPT_HOST)
    if spans:
        more["host_spans"] = spans
    if exited := _EXITED.search(text, start, end):
        return ("ok" if exited[1] in ("0", "-0") else "error"), more
    if (
        script
        and (printed := whole(obj(parsed(text[script.end() :])).get("exit_code"))) is not None
    ):
        return ("error" if printed else "ok"), more
    metadata = obj(obj(parsed(text)).get("metadata"))
    code = whole(metadata.get("exit_code"))
    if code is not None:
        if spans := host_spans(text, _HOST):
            more["host_spans"] = spans
        return ("error" if code else "ok"), more
    if _REJECTED.match(text):
        return "denied", more
    if _ABORTED.match(text):
        return "cancelled", more
    if _FAILED.match(text):
        return "error", more
    return "", more


def from_hook(item: dict[str, Any]) -> bool:
    """True for a message that a hook of the human's put before the model."""
    about = obj(item.get("internal_chat_message_metadata_passthrough"))
    return "hooks.additional_context" in array(about.get("content_item_kinds"))


def _preamble(text: str) -> tuple[int, int]:
    """Where the host's own lines before a command's output begin and end.

    Some versions repeat the command before them, which may be of any length.
    """
    start = max(text.find("\nChunk ID: ") + 1, 0) if text.startswith("Command: ") else 0
    end = text.find("\nOutput:", start, start + _PREAMBLE)
    return start, (end + 1 if end >= 0 else min(len(text), start + _PREAMBLE))
