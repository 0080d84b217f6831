"""The words of an answer, out of what tools and hosts wrap around it.

The same words come as a text, as parts of a message (``[{"type": "text", "text": …}]``), as an MCP result
(``{"content": […]}``), as a program's report (``{"output": …, "exit_code": 0}``), each also written as JSON;
and some tools add a line on how the call went. Whether an answer is empty or reports an error must not depend
on that.
"""

from __future__ import annotations

from loopguard_core.patterns import DOTALL, lazy
from loopguard_core.plain_json import value_at
from loopguard_core.policies.progress.volatile import read, without_colours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BODIES = ("content", "output", "stdout", "text", "result", "data")
_ERRORS = ("error", "stderr")
_EXITS = ("exit_code", "exitCode", "returncode", "return_code")
#: What a wrapper may have beside its body. An object with any other field says something itself.
_BESIDE = frozenset(
    (
        *("type", "isError", "is_error", "_meta", "meta", "annotations", "structuredContent"),
        *("success", "ok", "duration", "duration_ms", "durationMs", "took_ms", "tookMs"),
        *("request_id", "requestId", "trace_id", "traceId"),
    )
)
_WRAPPING = _BESIDE.union(_BODIES, _ERRORS, _EXITS)
_OWN_WORDS, _OWN_LENGTH = 4, 120
_TAG = lazy(r"<(\w[\w-]*)>\s*(.*?)\s*</\1>\s*", DOTALL)
_HEADINGS = ("output", "result", "stdout", "response")
_HEADING = lazy(r"\w+[ \t]*:[ \t]*\r?\n")


def inner(value: Any, text: str) -> str:
    """The text inside the wrapper of an answer. *text* is its canonical text: its own where it has none."""
    if text[:1] in ("{", "["):
        text = _inside_json(value, text)
    if text[:1] == "<" and (tag := _TAG.fullmatch(text)) is not None:
        text = tag[2]
    elif text[:12].lower().startswith(_HEADINGS) and (heading := _HEADING.match(text)) is not None:
        text = text[heading.end() :]
    return without_colours(text)


def _inside_json(value: Any, text: str) -> str:
    if isinstance(value, str):
        try:
            value, end = value_at(value)
        except (ValueError, RecursionError):
            return text
        if end < len(text.rstrip()):
            return text
    found = _unwrapped(value)
    return text if found is None else found


def _unwrapped(value: Any) -> str | None:
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        if len(parts) < len(value) or not all(isinstance(part, str) for part in parts):
            return None
        return "\n".join(map(str, parts))
    if not isinstance(value, dict) or not value.keys() <= _WRAPPING:
        return None
    body = next((value[name] for name in _BODIES if name in value), None)
    texts = [body if isinstance(body, str) else _unwrapped(body)]
    texts += [value[name] for name in _ERRORS if value.get(name)]
    texts += [f"exit code {value[name]}" for name in _EXITS if value.get(name)]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "\n".join(filter(None, texts))


def without_own_lines(text: str) -> str:
    """The text without lines at its end that only tell how the call went: a request id, what it took."""
    kept = text
    while "\n" in kept:
        rest, _, line = kept.rstrip().rpartition("\n")
        if not rest or not _is_own(line):
            break
        kept = rest
    return kept


def _is_own(line: str) -> bool:
    if len(line) > _OWN_LENGTH or line.count(" ") > _OWN_WORDS:
        return False
    found = read(line, reads=True, numbered=True)[1].split()
    return "#" in found and len(found) <= _OWN_WORDS
