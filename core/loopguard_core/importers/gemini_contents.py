"""What else Gemini CLI leaves behind: chats that were saved, as the API has them, and the log of prompts.

A saved chat (``/chat save``, and what is kept before a tool changes files) is a list of contents with
parts. It has no times, and older versions give calls no ids: then an answer belongs to the oldest open
call of its tool.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import Closed, array, obj, string, when
from loopguard_core.importers.gemini_outcomes import outcome_of
from loopguard_core.importers.track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.report import Report

_INJECTED = re.compile(
    r"<session_context>|<hook_context>|This is the Gemini CLI\. We are setting up the context"
    r"|(?:System: )?(?:A )?[Pp]otential loop (?:was )?detected|System: "
)
_CANCELLED = re.compile(r"\s*\[Operation Cancelled\]")


def contents_in(record: object) -> list[dict[str, Any]]:
    """The contents that a saved chat holds; empty where it is none."""
    for held in (record, *(obj(record).get(n) for n in ("clientHistory", "history", "contents"))):
        contents = [c for c in array(held) if isinstance(c, dict)]
        if contents and all(
            c.get("role") in ("user", "model") and isinstance(c.get("parts"), list)
            for c in contents[:5]
        ):
            return contents
    return []


def prompts_in(record: object) -> list[dict[str, Any]]:
    """The entries of a log of prompts; empty where *record* is none."""
    entries = [e for e in array(record) if isinstance(e, dict)]
    fits = all({"sessionId", "messageId", "message"} <= e.keys() for e in entries[:5])
    return entries if fits else []


def prompts(entries: list[dict[str, Any]], report: Report) -> Iterator[Event]:
    """A log of prompts as sessions without calls. Commands to the CLI itself start no work."""
    tracks: dict[str, Track] = {}
    for entry in entries:
        session, ts = string(entry.get("sessionId")), when(entry.get("timestamp"))
        track = tracks.get(session)
        if track is None:
            track = tracks[session] = Track(report, session)
            yield from track.start(ts, agent="gemini-cli", format="gemini")
        text = string(entry.get("message"))
        kind = "system_message" if text.startswith(("/", "?")) else "user_message"
        yield track.event(kind, ts, text=text)
    for session in tracks:
        yield Closed(session)


class Contents:
    """The contents of one chat."""

    def __init__(self, track: Track, report: Report) -> None:
        self._track = track
        self._report = report
        self._waiting: list[tuple[str, str]] = []

    def events(self, contents: list[dict[str, Any]]) -> Iterator[Event]:
        yield from self._track.start(None, agent="gemini-cli", format="gemini")
        for number, content in enumerate(contents, 1):
            parts = [obj(p) for p in array(content.get("parts"))]
            said = (string(p["text"]) for p in parts if "text" in p and not p.get("thought"))
            text = "\n".join(t for t in said if t)
            if content.get("role") == "model":
                yield from self._model(parts, text, number)
            elif content.get("role") == "user":
                yield from self._user(parts, text)
            else:
                self._report.skip(f"role {content.get('role')}", number)
        yield from self._track.finish()

    def _model(self, parts: list[dict[str, Any]], text: str, number: int) -> Iterator[Event]:
        if text.strip():
            yield self._track.event("assistant_text", text=text)
        requested = [obj(p["functionCall"]) for p in parts if "functionCall" in p]
        for index, call in enumerate(requested):
            own = string(call.get("id")) or f"content-{number}-{index}"
            tool = string(call.get("name")) or "unknown"
            self._waiting.append((own, tool))
            yield from self._track.call(own, tool, call.get("args"), message=f"content-{number}")

    def _user(self, parts: list[dict[str, Any]], text: str) -> Iterator[Event]:
        answers = [p for p in parts if "functionResponse" in p]
        for part in answers:
            answer = obj(part["functionResponse"])
            error = string(obj(answer.get("response")).get("error"))
            status = "error" if error else "success"
            if _CANCELLED.match(error):
                status = "cancelled"
            outcome, more = outcome_of({"status": status, "result": [part]})
            yield from self._track.end(self._asked(answer), outcome, **more)
        if not answers:
            kind = "system_message" if _INJECTED.match(text) else "user_message"
            yield self._track.event(kind, text=text)

    def _asked(self, answer: dict[str, Any]) -> str:
        """The call that *answer* belongs to."""
        given, tool = string(answer.get("id")), string(answer.get("name"))
        for pair in self._waiting:
            if pair[0] == given or (not given and pair[1] == tool):
                self._waiting.remove(pair)
                return pair[0]
        return given or tool
