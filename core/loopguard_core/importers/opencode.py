"""opencode: ``opencode export`` documents, and its own stores. Times are milliseconds."""

from __future__ import annotations

import re

from loopguard_core.importers.base import Closed, Importer, array, obj, string, when
from loopguard_core.importers.database import rows
from loopguard_core.importers.opencode_files import is_kept, is_printed, kept
from loopguard_core.importers.reading import arguments, whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_REJECTED = re.compile(
    r"The user (?:has )?rejected|rejected permission|user dismissed|PermissionRejected", re.I
)


class Opencode(Importer):
    """Exported sessions, and the store itself."""

    name = "opencode"
    title = "opencode"

    def sniff(self, head: Head) -> float:
        if {"session", "message", "part"} <= head.tables:
            return 0.9
        if is_kept(head.document):
            return 0.9
        if any(map(is_printed, head.objects)):
            return 0.85
        return max((_sure(r) for r in head.objects), default=0.0)

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        if source.head.kind == "sqlite":
            assert source.path is not None
            for exported in _database(source.path):
                yield from session_events(exported, report, "opencode")
            return
        document = source.head.document
        if is_kept(document) and source.path is not None:
            yield from session_events(kept(document, source.path, report), report, "opencode")
            return
        if any(map(is_printed, source.head.objects)):
            yield from _printed(source.records(report), report, source.name_session())
            return
        for number, record in source.records(report):
            if not isinstance(record, dict) or "messages" not in record:
                report.skip("no session", number)
                continue
            yield from session_events(record, report, source.name_session())


def _sure(record: dict[str, Any]) -> float:
    info, messages = record.get("info"), record.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list):
        return 0.0
    parts = [m for m in messages if isinstance(m, dict) and "parts" in m and "info" in m]
    return 0.95 if parts or string(info.get("id")).startswith("ses_") else 0.0


def _database(path: Path) -> Iterator[dict[str, Any]]:
    """The sessions of an ``opencode.db``, as an export has them."""
    for session in rows(path, "SELECT * FROM session ORDER BY time_created, id"):
        parts: dict[str, list[Any]] = {}
        own = session["id"]
        for part in rows(path, "SELECT * FROM part WHERE session_id = ? ORDER BY id", own):
            held = {**obj(arguments(part["data"])), "id": part["id"]}
            parts.setdefault(part["message_id"], []).append(held)
        messages = [
            {"info": {**obj(arguments(m["data"])), "id": m["id"]}, "parts": parts.get(m["id"], [])}
            for m in rows(
                path, "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id", own
            )
        ]
        info = {
            **{name: session.get(name) for name in ("id", "directory", "version", "title")},
            "parentID": session.get("parent_id"),
            "time": {"created": session.get("time_created")},
        }
        yield {"info": info, "messages": messages}


def session_events(record: dict[str, Any], report: Report, fallback: str) -> Iterator[Event]:
    """The events of one exported session."""
    info = obj(record.get("info"))
    track = Track(report, string(info.get("id")) or fallback)
    parent = string(info.get("parentID"))
    yield from track.start(
        when(obj(info.get("time")).get("created")),
        agent="opencode",
        format="opencode",
        version=string(info.get("version")),
        cwd=string(info.get("directory")),
        parent=parent,
        name=string(info.get("title")),
    )
    for message in array(record.get("messages")):
        yield from _message(track, obj(message), bool(parent), report)
    yield from track.finish()
    yield Closed(track.session)


def _message(track: Track, message: dict[str, Any], child: bool, report: Report) -> Iterator[Event]:
    about = obj(message.get("info")) or message
    ts = when(obj(about.get("time")).get("created"))
    own = string(about.get("id"))
    parts = [obj(p) for p in array(message.get("parts"))]
    if about.get("role") == "user":
        said = [p for p in parts if p.get("type") == "text" and not p.get("synthetic")]
        injected = [p for p in parts if p.get("type") == "text" and p.get("synthetic")]
        if said or not injected:
            text = "\n".join(string(p.get("text")) for p in said)
            if child:
                yield track.event("turn_start", ts, reason="task", text=text)
            else:
                yield track.event("user_message", ts, text=text)
        for part in injected:
            yield track.event("system_message", ts, text=string(part.get("text")))
        return
    for part in parts:
        yield from _part(track, part, own, ts, report)


def _part(
    track: Track, part: dict[str, Any], message: str, ts: float | None, report: Report
) -> Iterator[Event]:
    kind = string(part.get("type"))
    if kind == "text" and part.get("text"):
        yield track.event("assistant_text", ts, text=string(part["text"]))
    elif kind == "tool":
        yield from _tool(track, part, message, ts)
    elif kind == "step-finish":
        used = tokens(part.get("tokens"), inside=False, apart=True)
        yield from track.usage({**used, **money(part.get("cost"))})
    elif kind not in _QUIET:
        report.skip(kind)


def _printed(records: Iterable[tuple[int, Any]], report: Report, fallback: str) -> Iterator[Event]:
    """What ``opencode run --format json`` printed of one session; the prompt is not among it."""
    track = Track(report, fallback)
    for number, record in records:
        line = obj(record)
        ts = when(line.get("timestamp"))
        part = obj(line.get("part"))
        if not track.started:
            track = Track(report, string(line.get("sessionID")) or fallback)
        yield from track.start(ts, agent="opencode", format="opencode")
        if part:
            yield from _part(track, part, string(part.get("messageID")), ts, report)
        elif "error" in line:
            about = obj(obj(line["error"]).get("data"))
            text = string(about.get("message") or obj(line["error"]).get("name"))
            yield track.event("system_message", ts, text=text, reason="error")
        else:
            report.skip(line.get("type"), number)
    yield from track.finish()


def _tool(track: Track, part: dict[str, Any], message: str, ts: float | None) -> Iterator[Event]:
    state = obj(part.get("state"))
    time = obj(state.get("time"))
    call = string(part.get("callID")) or string(part.get("id"))
    started = when(time.get("start"))
    yield from track.call(
        call,
        string(part.get("tool")) or "unknown",
        state.get("input"),
        message=message,
        ts=started if started is not None else ts,
    )
    status = state.get("status")
    if status not in ("completed", "error") or not track.is_open(call):
        return
    metadata = obj(state.get("metadata"))
    more: dict[str, Any] = {}
    if metadata.get("interrupted"):
        more["interrupted"] = True
    if status == "error":
        result = state.get("error")
        outcome = "denied" if _REJECTED.search(string(result)) else "error"
    else:
        result = state.get("output")
        code = whole(metadata.get("exit"))
        outcome = "error" if code else "ok"
    yield from track.end(call, outcome, ts=when(time.get("end")), result=result, **more)


_QUIET = frozenset(
    {
        "step-start",
        "reasoning",
        "snapshot",
        "patch",
        "file",
        "agent",
        "compaction",
        "retry",
        "subtask",
        "text",
    }
)
