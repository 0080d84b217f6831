"""mini-swe-agent: v1 (commands in code blocks, results in user messages) and v2 (tool calls)."""

from __future__ import annotations

import re

from loopguard_core.importers.base import Importer, array, obj, string, text_of, when
from loopguard_core.importers.reading import arguments, exit_code, whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_BLOCK = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n?```", re.S)
_MARKS = (
    "mswea_bash_command",
    "<returncode>",
    "MINI_SWE_AGENT_FINAL_OUTPUT",
    "COMPLETE_TASK_AND_SUBMIT",
)
_TIMED_OUT = re.compile(r"The last command <command>.*?</command> timed out", re.S)


class MiniSweAgent(Importer):
    """Trajectories of mini-swe-agent."""

    name = "mini-swe-agent"
    title = "mini-swe-agent"

    def sniff(self, head: Head) -> float:
        document = head.document
        if string(obj(document).get("trajectory_format")).startswith("mini-swe-agent"):
            return 0.97
        messages = _messages(document)
        if not messages or not all(isinstance(m, dict) and "role" in m for m in messages[:5]):
            return 0.0
        if "mini_version" in obj(obj(document).get("info")):
            return 0.95
        opening = "".join(text_of(m.get("content")) for m in messages[:4])
        return 0.9 if any(mark in opening for mark in _MARKS) else 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        document = source.document()
        info = obj(obj(document).get("info"))
        messages = [m for m in _messages(document) if isinstance(m, dict)]
        reader = _Reader(Track(report, source.name_session(messages[:3])), report)
        yield from reader.track.start(
            next(
                (when(obj(m.get("extra")).get("timestamp")) for m in messages if _stamped(m)), None
            ),
            agent="mini-swe-agent",
            format="mini-swe-agent",
            version=string(info.get("mini_version")),
        )
        for number, message in enumerate(messages, 1):
            yield from reader.message(message, number)
        yield from reader.track.finish()
        if info.get("exit_status"):
            yield reader.track.event("session_end", reason=string(info["exit_status"]))


def _messages(document: object) -> list[Any]:
    return array(document) or array(obj(document).get("messages"))


def _stamped(message: dict[str, Any]) -> bool:
    return when(obj(message.get("extra")).get("timestamp")) is not None


class _Reader:
    def __init__(self, track: Track, report: Report) -> None:
        self.track = track
        self._report = report
        self._turn = False
        self._waiting: list[str] = []

    def message(self, message: dict[str, Any], number: int) -> Iterator[Event]:
        role = message.get("role")
        extra = obj(message.get("extra"))
        ts = when(extra.get("timestamp"))
        text = text_of(message.get("content"))
        if message.get("type") == "function_call_output":
            yield from self._end(string(message.get("call_id")), message.get("output"), extra, ts)
        elif role == "tool":
            yield from self._end(string(message.get("tool_call_id")), text, extra, ts)
        elif role == "assistant" or message.get("object") == "response":
            yield from self._assistant(message, extra, text, ts, number)
        elif role == "user":
            yield from self._user(extra, text, ts)
        elif role == "exit":
            reason = string(extra.get("exit_status"))
            yield self.track.event("system_message", ts, text=text, reason=reason)
        elif role not in ("system", "developer"):
            self._report.skip(f"role {role}", number)

    def _assistant(
        self,
        message: dict[str, Any],
        extra: dict[str, Any],
        text: str,
        ts: float | None,
        number: int,
    ) -> Iterator[Event]:
        self._waiting = []
        requested = _requested(message, extra, text)
        answer = obj(extra.get("response"))
        used = tokens(message.get("usage") or answer.get("usage"), inside=True)
        yield from self.track.usage({**used, **money(extra.get("cost"))}, ts)
        if text.strip():
            yield self.track.event("assistant_text", ts, text=text)
        for index, (given, tool, args) in enumerate(requested):
            call = given or f"message-{number}-{index}"
            if not given:
                self._waiting.append(call)
            yield from self.track.call(call, tool, args, message=f"message-{number}", ts=ts)

    def _user(self, extra: dict[str, Any], text: str, ts: float | None) -> Iterator[Event]:
        if self._waiting:
            yield from self._end(self._waiting.pop(0), text, extra, ts)
        elif not self._turn:
            self._turn = True
            yield self.track.event("user_message", ts, text=text)
        else:
            yield self.track.event("system_message", ts, text=text)

    def _end(
        self, call: str, result: object, extra: dict[str, Any], ts: float | None
    ) -> Iterator[Event]:
        code = whole(extra.get("returncode"))
        text = text_of(result)
        if code is None:
            code = exit_code(text)
        failed = bool(code) or bool(extra.get("exception_info")) or bool(_TIMED_OUT.search(text))
        yield from self.track.end(call, "error" if failed else "ok", ts=ts, result=result)


def _requested(
    message: dict[str, Any], extra: dict[str, Any], text: str
) -> list[tuple[str, str, Any]]:
    """The calls of an assistant message: (id or empty, tool, arguments)."""
    calls = []
    for raw in map(obj, array(message.get("tool_calls"))):
        function = obj(raw.get("function"))
        tool = string(function.get("name")) or "bash"
        calls.append((string(raw.get("id")), tool, arguments(function.get("arguments"))))
    for raw in map(obj, array(message.get("output"))):
        if raw.get("type") == "function_call":
            tool = string(raw.get("name")) or "bash"
            calls.append((string(raw.get("call_id")), tool, arguments(raw.get("arguments"))))
    if calls:
        return calls
    actions = [a for a in map(obj, array(extra.get("actions"))) if "command" in a]
    if actions:
        return [(string(a.get("tool_call_id")), "bash", {"command": a["command"]}) for a in actions]
    blocks = _BLOCK.findall(text)
    return [("", "bash", {"command": blocks[0].strip()})] if len(blocks) == 1 else []
