"""GitHub Copilot CLI: ``~/.copilot/session-state/<id>/events.jsonl`` (1.0.72 and 1.0.102 checked).

A shell command that fails is a successful tool call; its exit code stands at the end of the result.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import Importer, array, obj, string, text_of, when
from loopguard_core.importers.reading import arguments, foreign, whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_SHELL = re.compile(r"<shellId: (\S+) completed with exit code (-?\d+)>")
_GUIDANCE = re.compile(
    r'\n*(?:Tool "[^"\n]*" (?:succeeded|failed)\. )?Additional guidance from \w+ hooks:\n(.*)\Z',
    re.S,
)
_HOOK = re.compile(r"Denied by (?:a )?preToolUse hook:? ?")
_REFUSED = frozenset(
    {"denied", "rejected", "permission_denied", "user_rejected", "permission_rejected"}
)
_CANCELLED = frozenset({"cancelled", "canceled", "aborted", "interrupted"})
_KNOWN = re.compile(
    r"(?:session|user|assistant|tool|hook|permission|system|subagent|skill|abort|mcp|result)\b"
)


class Copilot(Importer):
    """Event files of Copilot CLI sessions."""

    name = "copilot"
    title = "GitHub Copilot CLI"

    def sniff(self, head: Head) -> float:
        for record in head.objects:
            kind = string(record.get("type"))
            if isinstance(record.get("data"), dict) and _KNOWN.match(kind):
                if kind == "session.start" and "copilotVersion" in record["data"]:
                    return 0.95
                if "." in kind and ("parentId" in record or kind in _HANDLERS):
                    return 0.9
                if kind == "session.start" and "sessionId" in record["data"]:
                    return 0.9
        if not head.records and b'"session.start"' in head.raw[:200]:
            return 0.9
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        reader = _Reader(report, source.name_session())
        for number, record in source.records(report):
            if not isinstance(record, dict):
                report.skip(type(record).__name__, number)
                continue
            yield from reader.record(record, number)
        yield from reader.finish()


class _Reader:
    def __init__(self, report: Report, fallback: str) -> None:
        self._report = report
        self._session = fallback
        self._tracks: dict[str, Track] = {}

    def record(self, record: dict[str, Any], number: int) -> Iterator[Event]:
        kind = string(record.get("type"))
        data = obj(record.get("data"))
        ts = when(record.get("timestamp"))
        if kind in ("session.start", "session.resume"):
            yield from self._start(data, ts)
            return
        handler = _HANDLERS.get(kind)
        if handler is None:
            if not _KNOWN.match(kind):
                self._report.skip(kind, number)
            return
        if not self._tracks:
            yield from self._start({}, ts)
        parent = string(data.get("parentToolCallId"))
        if parent and parent not in self._tracks:
            child = self._tracks[parent] = Track(self._report, f"{self._session}/{parent}")
            yield from child.start(
                ts,
                agent="copilot",
                format="copilot",
                parent=self._session,
                parent_call=parent,
                part=parent,
            )
        yield from handler(self, self._tracks[parent], data, ts)

    def finish(self) -> Iterator[Event]:
        """The end of the file."""
        for track in self._tracks.values():
            yield from track.finish()

    def _start(self, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        if "" in self._tracks:
            return
        self._session = string(data.get("sessionId")) or self._session
        track = self._tracks[""] = Track(self._report, self._session)
        yield from track.start(
            ts,
            agent="copilot",
            format="copilot",
            version=string(data.get("copilotVersion")),
            cwd=string(obj(data.get("context")).get("cwd")),
            model=string(data.get("selectedModel")),
        )

    # -- one method a record type ----------------------------------------------------------------

    def _user(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        text = text_of(data.get("content"))
        if data.get("source"):
            yield track.event("system_message", ts, text=text, reason=string(data["source"]))
        elif track is not self._tracks[""]:
            yield track.event("turn_start", ts, reason="task", text=text)
        else:
            yield track.event("user_message", ts, text=text)

    def _assistant(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        text = text_of(data.get("content"))
        if text:
            yield track.event("assistant_text", ts, text=text)
        for request in array(data.get("toolRequests")):
            request = obj(request)
            call = string(request.get("toolCallId"))
            if call:
                yield from track.call(
                    call,
                    string(request.get("name")) or "unknown",
                    arguments(request.get("arguments")),
                    message=string(data.get("messageId")),
                    ts=ts,
                )

    def _started(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        call = string(data.get("toolCallId"))
        if track.is_open(call):
            return
        yield from track.call(
            call,
            string(data.get("toolName")) or "unknown",
            arguments(data.get("arguments")),
            message=f"turn-{data['turnId']}" if "turnId" in data else "",
            ts=ts,
        )

    def _completed(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        outcome, more = _outcome(data)
        yield from track.end(string(data.get("toolCallId")), outcome, ts=ts, **more)

    def _aborted(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        yield from track.end_open("cancelled", ts)

    def _system(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        yield track.event("system_message", ts, text=text_of(data.get("content")))

    def _used(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        """Tokens; what is called cost there is no money, but premium requests."""
        yield from track.usage(tokens(data.get("usage"), inside=True), ts)

    def _shutdown(self, track: Track, data: dict[str, Any], ts: float | None) -> Iterator[Event]:
        yield track.event("session_end", ts, reason=string(data.get("shutdownType")))


def _outcome(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if data.get("success") is False or (data.get("error") and "success" not in data):
        error = obj(data.get("error"))
        text = string(error.get("message")) or text_of(obj(data.get("result")).get("content"))
        more: dict[str, Any] = {"result": text}
        if denied := _HOOK.match(text):
            more["verdict"] = foreign("block", text[denied.end() :], "hook")
            return "blocked", more
        code = string(error.get("code")).lower()
        if code in _REFUSED:
            return "denied", more
        return ("cancelled" if code in _CANCELLED else "error"), more
    content = obj(data.get("result")).get("content", data.get("result"))
    more = {"result": content}
    if not isinstance(content, str):
        return "ok", more
    spans: list[list[int]] = []
    shell = _SHELL.search(content)
    if shell:
        spans.append(list(shell.span(1)))
    if guidance := _GUIDANCE.search(content):
        spans.append(list(guidance.span()))
        more["verdict"] = foreign("warn", guidance[1], "hook")
    if spans:
        more["host_spans"] = spans
    code_of_shell = whole(obj(data.get("shellExecution")).get("exitCode"))
    if code_of_shell is None and shell:
        code_of_shell = int(shell[2])
    return ("error" if code_of_shell else "ok"), more


_HANDLERS = {
    "user.message": _Reader._user,
    "assistant.message": _Reader._assistant,
    "tool.execution_start": _Reader._started,
    "tool.execution_complete": _Reader._completed,
    "abort": _Reader._aborted,
    "system.message": _Reader._system,
    "session.shutdown": _Reader._shutdown,
    "session.usage_record": _Reader._used,
}
