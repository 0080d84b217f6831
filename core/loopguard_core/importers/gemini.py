"""Gemini CLI: one JSON document (older) or JSON Lines (0.40 and later).

The newer form is rewritten by its own records: a message id written again replaces the message, ``$set``
can replace the whole list, ``$rewindTo`` drops what came after. So the messages are gathered first.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import Closed, Importer, array, obj, string, text_of, when
from loopguard_core.importers.gemini_contents import Contents, contents_in, prompts, prompts_in
from loopguard_core.importers.gemini_outcomes import outcome_of
from loopguard_core.importers.gemini_stream import Stream, prints
from loopguard_core.importers.reading import foreign
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

_LOOP = re.compile(r"(?:System: )?(?:A )?[Pp]otential loop (?:was )?detected")
_INJECTED = ("<session_context>", "<hook_context>")
_UNFINISHED = frozenset({"validating", "scheduled", "executing", "awaiting_approval", "pending"})


class Gemini(Importer):
    """Chats under ``~/.gemini/tmp/<project>/chats``."""

    name = "gemini"
    title = "Gemini CLI"

    def sniff(self, head: Head) -> float:
        document = obj(head.document)
        if "sessionId" in document and isinstance(document.get("messages"), list):
            return 0.95 if "projectHash" in document else 0.8
        if any(obj(m).get("type") == "gemini" for m in array(document.get("messages"))[:20]):
            return 0.8
        if contents_in(head.document) or prompts_in(head.document):
            return 0.9
        for record in head.objects:
            if "sessionId" in record and "projectHash" in record:
                return 0.95
            if prints(record):
                return 0.9
            if "$set" in record or "$rewindTo" in record:
                return 0.8
            if record.get("type") == "gemini" and "toolCalls" in record:
                return 0.8
        if not head.records and b'"projectHash"' in head.raw[:300]:
            return 0.9
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        head = source.head
        if contents := contents_in(head.document):
            named = string(obj(head.document).get("sessionId"))
            track = Track(report, named or source.name_session(contents[:3]))
            yield from Contents(track, report).events(contents)
            return
        if entries := prompts_in(head.document):
            yield from prompts(entries, report)
            return
        if any(map(prints, head.objects)):
            stream = Stream(report, source.name_session())
            for number, record in source.records(report):
                yield from stream.record(obj(record), number)
            yield from stream.finish()
            return
        if any(_is_whole(r, source) for r in head.records):
            for document in _documents(source, report):
                about = {k: v for k, v in document.items() if k != "messages"}
                messages = [m for m in document["messages"] if isinstance(m, dict)]
                yield from self._session(about, messages, source, report)
            return
        about, messages = _gather(source, report)
        if about or messages:
            yield from self._session(about, messages, source, report)

    def _session(
        self,
        about: dict[str, Any],
        messages: list[dict[str, Any]],
        source: Source,
        report: Report,
    ) -> Iterator[Event]:
        track = Track(report, string(about.get("sessionId")) or source.name_session())
        yield from track.start(
            when(about.get("startTime")),
            agent="gemini-cli",
            format="gemini",
            parent=_parent(about, source),
            project=string(about.get("projectHash")),
        )
        child = about.get("kind") == "subagent"
        yield from _Chat(track, report, messages, child).events()
        yield Closed(track.session)


def _is_whole(record: object, source: Source) -> bool:
    """True for a session in one object, the older form; a header has no messages."""
    held = obj(record).get("messages")
    return isinstance(held, list) and (bool(held) or source.head.kind == "document")


def _documents(source: Source, report: Report) -> list[dict[str, Any]]:
    """The sessions in objects of their own; of those written again, the last."""
    held: dict[str, dict[str, Any]] = {}
    for number, record in source.records(report):
        if not _is_whole(record, source):
            report.skip("no session", number)
            continue
        key = string(record.get("sessionId")) or str(number)
        report.duplicates += key in held
        held[key] = record
    return list(held.values())


def _parent(about: dict[str, Any], source: Source) -> str:
    """Whose subagent it is: said, or by the folder that is named after the parent."""
    said = string(about.get("parentSessionId"))
    if said or about.get("kind") != "subagent" or source.path is None:
        return said
    folder = source.path.parent
    return folder.name if folder.parent.name == "chats" else ""


def _gather(source: Source, report: Report) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the messages as the records leave them."""
    about: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number, record in source.records(report):
        if not isinstance(record, dict):
            report.skip(type(record).__name__, number)
        elif "$set" in record:
            change = obj(record["$set"])
            if isinstance(change.get("messages"), list):
                messages = _replaced(messages, change["messages"])
            about.update({k: v for k, v in change.items() if k != "messages"})
        elif "$rewindTo" in record:
            ids = list(messages)
            target = string(record["$rewindTo"])
            for gone in ids[ids.index(target) if target in messages else 0 :]:
                del messages[gone]
        elif "type" in record:
            key = string(record.get("id")) or f"line-{number}"
            if key in messages:
                report.duplicates += 1
            messages[key] = record
        elif "sessionId" in record:
            about = {**{k: v for k, v in record.items() if k != "messages"}, **about}
        else:
            report.skip(",".join(list(record)[:3]), number)
    return about, list(messages.values())


def _replaced(old: dict[str, Any], new: list[Any]) -> dict[str, Any]:
    """The *new* list, and in their places those words of the CLI's loop detection that it left out."""
    messages = {string(m.get("id")) or str(i): m for i, m in enumerate(new) if isinstance(m, dict)}
    placed = list(messages.items())
    for key, message in old.items():
        if key not in messages and _LOOP.match(text_of(message.get("content"))):
            moment = _moment(message)
            later = (i for i, (_, m) in enumerate(placed) if _moment(m) > moment)
            placed.insert(next(later, len(placed)), (key, message))
    return dict(placed)


def _moment(message: dict[str, Any]) -> float:
    return when(message.get("timestamp")) or 0.0


class _Chat:
    """Messages as events."""

    def __init__(
        self, track: Track, report: Report, messages: list[dict[str, Any]], child: bool
    ) -> None:
        self._track = track
        self._report = report
        self._messages = messages
        self._child = child

    def events(self) -> Iterator[Event]:
        for index, message in enumerate(self._messages):
            kind = message.get("type")
            ts = when(message.get("timestamp"))
            text = text_of(message.get("content"))
            if kind == "user":
                yield from self._user(message, text, ts)
            elif kind in ("gemini", "model", "assistant"):
                yield from self._model(message, text, ts, index)
            elif kind in ("info", "error", "warning"):
                yield self._system(text, ts)
            else:
                self._report.skip(kind, index + 1)
        yield from self._track.finish()

    def _user(self, message: dict[str, Any], text: str, ts: float | None) -> Iterator[Event]:
        first = obj(next(iter(array(message.get("content"))), None))
        if "functionResponse" in first:
            return
        if text.startswith(_INJECTED) or _LOOP.match(text):
            yield self._system(text, ts)
        elif self._child:
            yield self._track.event("turn_start", ts, reason="task", text=text)
        else:
            yield self._track.event("user_message", ts, text=text)

    def _system(self, text: str, ts: float | None) -> Event:
        if _LOOP.search(text):
            verdict = foreign("warn", text, "gemini-cli", detector="loop_detection")
            return self._track.event("system_message", ts, text=text, verdict=verdict)
        return self._track.event("system_message", ts, text=text)

    def _model(
        self, message: dict[str, Any], text: str, ts: float | None, index: int
    ) -> Iterator[Event]:
        calls = [c for c in array(message.get("toolCalls")) if isinstance(c, dict)]
        if text:
            yield self._track.event("assistant_text", ts, text=text)
        used = tokens(message.get("tokens"), inside=True, apart=True)
        yield from self._track.usage(used, ts, message=string(message.get("id")))
        ids = [string(c.get("id")) or f"{index}-{n}" for n, c in enumerate(calls)]
        for call, own in zip(calls, ids, strict=True):
            yield from self._track.call(
                own,
                string(call.get("name")) or "unknown",
                call.get("args"),
                message=string(message.get("id")),
                ts=ts,
                agent=string(call.get("agentId")),
            )
        warned = self._warned_after(index)
        for number, (call, own) in enumerate(zip(calls, ids, strict=True), 1):
            if string(call.get("status")) in _UNFINISHED or not self._track.is_open(own):
                continue
            outcome, more = outcome_of(call)
            if warned and number == len(calls):
                more.setdefault("verdict", warned)
            yield from self._track.end(own, outcome, ts=when(call.get("timestamp")), **more)

    def _warned_after(self, index: int) -> dict[str, Any] | None:
        """The CLI's own loop detection, where it spoke up right after these calls."""
        for message in self._messages[index + 1 : index + 4]:
            text = text_of(message.get("content"))
            if message.get("type") in ("gemini", "model"):
                return None
            if _LOOP.match(text):
                return foreign("warn", text, "gemini-cli", detector="loop_detection")
        return None
