"""pi (badlogic/pi-mono) and OpenClaw: JSON Lines, from version 2 on with a tree of ids."""

from __future__ import annotations

from loopguard_core.importers.base import Importer, array, obj, result_of, string, text_of, when
from loopguard_core.importers.reading import arguments
from loopguard_core.importers.track import Recent, Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_QUIET = frozenset(
    [
        *("model_change", "thinking_level_change", "label", "session_info", "custom"),
        "branch_summary",
        # printed beside the messages
        *("agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update"),
        *("tool_execution_start", "tool_execution_update", "tool_execution_end", "queue_update"),
    ]
)


class Pi(Importer):
    """Sessions of the pi coding agent."""

    name = "pi"
    title = "pi"

    def sniff(self, head: Head) -> float:
        sure = 0.0
        for record in head.objects:
            kind = record.get("type")
            if kind == "session" and "cwd" in record and "timestamp" in record:
                sure = max(sure, 0.85)
            elif kind in ("message", "message_end") and "role" in obj(record.get("message")):
                sure = max(sure, 0.8)
        if not head.records and head.raw.startswith(b'{"type":"session"'):
            return 0.7
        return sure

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        reader = _Reader(report, source.name_session())
        for number, record in source.records(report):
            if isinstance(record, dict):
                yield from reader.record(record, number)
            else:
                report.skip(type(record).__name__, number)
        yield from reader.finish()


class _Reader:
    def __init__(self, report: Report, fallback: str) -> None:
        self._report = report
        self._fallback = fallback
        self._track: Track | None = None
        self._seen = Recent()

    def record(self, record: dict[str, Any], number: int) -> Iterator[Event]:
        kind = string(record.get("type"))
        ts = when(record.get("timestamp"))
        own = record.get("id")
        if kind == "session":
            yield from self._start(record, ts)
            return
        if isinstance(own, str) and not self._seen.add(own):
            self._report.duplicates += 1
            return
        if self._track is None:
            yield from self._start({}, ts)
        assert self._track is not None
        if kind in ("message", "message_end"):  # the latter in what ``pi --mode json`` prints
            message = obj(record.get("message"))
            yield from self._message(self._track, message, string(own), number, ts)
        elif kind == "compaction":
            text = string(record.get("summary"))
            yield self._track.event("system_message", ts, text=text, reason="compaction")
        elif kind == "custom_message":
            yield self._track.event("system_message", ts, text=text_of(record.get("content")))
        elif kind not in _QUIET:
            self._report.skip(kind, number)

    def finish(self) -> Iterator[Event]:
        """The end of the file."""
        if self._track is not None:
            yield from self._track.finish()

    def _start(self, record: dict[str, Any], ts: float | None) -> Iterator[Event]:
        if self._track is not None:
            return
        self._track = Track(self._report, string(record.get("id")) or self._fallback)
        yield from self._track.start(
            ts,
            agent="pi",
            format="pi",
            version=string(record.get("version")),
            cwd=string(record.get("cwd")),
            forked_from=string(record.get("parentSession") or record.get("branchedFrom")),
        )

    def _message(
        self, track: Track, message: dict[str, Any], own: str, number: int, ts: float | None
    ) -> Iterator[Event]:
        role = message.get("role")
        ts = when(message.get("timestamp")) if ts is None else ts
        if role == "user":
            yield track.event("user_message", ts, text=text_of(message.get("content")))
        elif role == "assistant":
            usage = obj(message.get("usage"))
            used = tokens(usage, inside=False)
            yield from track.usage({**used, **money(obj(usage.get("cost")).get("total"))}, ts)
            for block in map(obj, array(message.get("content"))):
                if block.get("type") == "toolCall":
                    yield from track.call(
                        string(block.get("id")),
                        string(block.get("name")) or "unknown",
                        arguments(block.get("arguments")),
                        message=own or f"line-{number}",
                        ts=ts,
                    )
            text = text_of(
                [b for b in array(message.get("content")) if obj(b).get("type") == "text"]
            )
            if text:
                yield track.event("assistant_text", ts, text=text)
            if message.get("stopReason") == "aborted":
                yield from track.end_open("cancelled", ts)
        elif role in ("toolResult", "tool"):
            result = result_of(message.get("content"))
            aborted = message.get("isError") and text_of(result).strip() in _ABORTED
            failed = "error" if message.get("isError") else "ok"
            yield from track.end(
                string(message.get("toolCallId")),
                "cancelled" if aborted else failed,
                ts=ts,
                result=result,
            )
        elif role == "bashExecution":
            yield track.event("system_message", ts, text=string(message.get("command")))
        else:
            self._report.skip(f"role {role}", number)


_ABORTED = frozenset({"Command aborted", "Operation aborted", "aborted", "Aborted"})
