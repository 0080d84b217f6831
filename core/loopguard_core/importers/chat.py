"""Messages of chat APIs as events: OpenAI's chat and response items, Anthropic's blocks, LangChain's.

What several formats share. A format brings its own rule for telling a failed result.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import array, obj, result_of, string, text_of, when
from loopguard_core.importers.reading import arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.track import Track

    Judge = Callable[[object, dict[str, Any]], tuple[str, dict[str, Any]]]

_ERROR = re.compile(r"\s*Error\b ?:")
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessage": "assistant",
    "HumanMessage": "user",
    "ToolMessage": "tool",
    "SystemMessage": "system",
}
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def text_says(result: object, message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The outcome of a result without a flag: a text that begins with ``Error:`` failed."""
    if (
        message.get("is_error") is True
        or message.get("status") == "error"
        or message.get("error") is True
    ):
        return "error", {}
    return ("error" if _ERROR.match(text_of(result)) else "ok"), {}


def role_of(message: dict[str, Any]) -> str:
    """The role of a message, by OpenAI's names."""
    role = message.get("role")
    if role is None:
        kind = string(message.get("type"))
        return _ROLES.get(kind, kind if kind in ROLES else "")
    return _ROLES.get(string(role), string(role))


class Chat:
    """Reads the messages of one conversation in order."""

    def __init__(self, track: Track, report: Report, judge: Judge = text_says) -> None:
        self.track = track
        self._report = report
        self._judge = judge
        self._function = 0
        self._count = 0

    def message(self, message: dict[str, Any], number: int = 0) -> Iterator[Event]:
        """One message, or one item of the Responses API."""
        self._count += 1
        ts = when(message.get("timestamp") or message.get("created_at"))
        kind = string(message.get("type"))
        if kind == "function_call":
            yield from self._call(message, message.get("call_id"), ts, "")
        elif kind == "function_call_output":
            yield from self._end(message.get("call_id"), message.get("output"), message, ts)
        elif kind not in ("reasoning", "item_reference"):
            yield from self._by_role(message, ts, number)

    def _by_role(self, message: dict[str, Any], ts: float | None, number: int) -> Iterator[Event]:
        role = role_of(message)
        content = message.get("content")
        if role == "assistant":
            yield from self._assistant(message, ts)
        elif role == "tool" and message.get("requestor") == "user":
            yield self.track.event("system_message", ts, text=text_of(content))
        elif role == "tool":
            yield from self._end(
                message.get("tool_call_id") or message.get("id"), content, message, ts
            )
        elif role == "function":
            yield from self._end(f"function-{self._function}", content, message, ts)
        elif role == "user":
            if content or not message.get("tool_calls"):  # else a simulated human uses its own tool
                yield from self._user(content, ts)
        elif role not in ("system", "developer"):
            self._report.skip(f"role {message.get('role', message.get('type'))}", number)

    def _assistant(self, message: dict[str, Any], ts: float | None) -> Iterator[Event]:
        blocks = [b for b in array(message.get("content")) if isinstance(b, dict)]
        text = text_of([b for b in blocks if "text" in b] if blocks else message.get("content"))
        if text.strip():
            yield self.track.event("assistant_text", ts, text=text)
        batch = f"message-{self._count}"
        requested = array(arguments(message.get("tool_calls")))
        for call in requested:
            yield from self._call(
                obj(call), obj(call).get("id") or obj(call).get("call_id"), ts, batch
            )
        if isinstance(message.get("function_call"), dict):
            self._function += 1
            own = f"function-{self._function}"
            yield from self._call(message["function_call"], own, ts, batch)
        for block in blocks:
            if block.get("type") == "tool_use" and not requested:
                yield from self._call(block, block.get("id"), ts, batch)

    def _call(
        self, call: dict[str, Any], given: object, ts: float | None, batch: str
    ) -> Iterator[Event]:
        function = obj(call.get("function")) or call
        args = function.get("arguments", function.get("args", function.get("input")))
        tool = string(function.get("name") or call.get("function")) or "unknown"
        yield from self.track.call(string(given), tool, arguments(args), message=batch, ts=ts)

    def _user(self, content: object, ts: float | None) -> Iterator[Event]:
        blocks = [b for b in array(content) if isinstance(b, dict)]
        answers = [b for b in blocks if b.get("type") == "tool_result"]
        for block in answers:
            yield from self._end(block.get("tool_use_id"), block.get("content"), block, ts)
        if not answers:
            yield self.track.event("user_message", ts, text=text_of(content))

    def _end(
        self, given: object, content: object, message: dict[str, Any], ts: float | None
    ) -> Iterator[Event]:
        call = string(given)
        if not call:
            call = next(iter(self.track.open_calls()), "")
        result = result_of(content)
        outcome, more = self._judge(result, message)
        yield from self.track.end(call, outcome, ts=ts, result=result, **more)
