"""hermes-agent: exported sessions, older session files, trajectories, and its ``state.db``.

Its own tool-loop guard speaks in the results: advice after the JSON, a refusal inside it.
"""

from __future__ import annotations

import json
import re

from loopguard_core.importers.base import Closed, Importer, array, obj, string, text_of, when
from loopguard_core.importers.chat import Chat
from loopguard_core.importers.database import rows
from loopguard_core.importers.reading import arguments, foreign, parsed, whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_GUARD = re.compile(
    r"\s*\[Tool loop (?P<kind>[\w -]+): (?P<code>\w+); count=(?P<count>\d+); (?P<reason>.*?)\]\s*\Z",
    re.S,
)
_DENIED = re.compile(r"BLOCKED: (?:User denied|Command denied|The user)|User denied")
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.S)
_RESPONSE = re.compile(r"<tool_response>\s*(.*?)\s*(?:</tool_response>|\Z)", re.S)
_JSON_MARK = "\0json:"
_TIERS = {"warn": "warn", "block": "block", "halt": "halt"}


class Hermes(Importer):
    """Sessions of hermes-agent."""

    name = "hermes"
    title = "hermes-agent"

    def sniff(self, head: Head) -> float:
        if {"sessions", "messages"} <= head.tables:
            return 0.8
        for record in head.objects:
            turns = array(record.get("conversations"))
            if turns and {"from", "value"} <= obj(turns[0]).keys():
                return 0.9
            if (
                isinstance(record.get("messages"), list)
                and "source" in record
                and "started_at" in record
            ):
                return 0.95
            if record.get("role") == "session_meta":
                return 0.95
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        if source.head.kind == "sqlite":
            assert source.path is not None
            yield from _database(source.path, report)
            return
        name = source.name_session()
        loose: Chat | None = None
        index = 0
        for number, record in source.records(report):
            record = obj(record)
            if "conversations" in record:
                yield from _trajectory(record, f"{name}#{index}", str(index), report)
                index += 1
            elif isinstance(record.get("messages"), list):
                yield from session_events(record, report, f"{name}#{index}")
                index += 1
            elif "role" in record:
                if loose is None:
                    loose = Chat(Track(report, string(record.get("id")) or name), report, judge)
                    yield from loose.track.start(
                        when(record.get("timestamp")), agent="hermes", format="hermes"
                    )
                if record["role"] != "session_meta":
                    yield from loose.message(record, number)
            else:
                report.skip(",".join(list(record)[:3]), number)
        if loose is not None:
            yield from loose.track.finish()


def _database(path: Path, report: Report) -> Iterator[Event]:
    """The sessions of a ``state.db``, whose columns are those of an export."""
    for session in rows(path, "SELECT * FROM sessions ORDER BY started_at, id"):
        messages = rows(
            path, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session["id"]
        )
        yield from session_events({**session, "messages": list(messages)}, report, "hermes")


def session_events(record: dict[str, Any], report: Report, fallback: str) -> Iterator[Event]:
    """One exported session."""
    session = string(record.get("id")) or fallback
    messages = [_plain(m) for m in array(record.get("messages")) if isinstance(m, dict)]
    rewritten = any(m.get("compacted") or m.get("active") == 0 for m in messages)
    track = Track(report, session, repeats=not rewritten)
    yield from track.start(
        when(record.get("started_at")),
        agent="hermes",
        format="hermes",
        parent=string(record.get("parent_session_id")),
        model=string(record.get("model")),
        name=string(record.get("title")),
        part=session,
    )
    chat = Chat(track, report, judge)
    for number, message in enumerate(messages, 1):
        yield from chat.message(message, number)
    yield from track.finish()
    ended = when(record.get("ended_at"))
    if ended is not None:
        yield from track.used_in_all(_used(record))
        yield track.event("session_end", ended, reason=string(record.get("end_reason")))
    yield Closed(session)


def _used(session: dict[str, Any]) -> dict[str, Any]:
    """The session's own totals. An estimate of its cost counts where the file calls it one."""
    known = session.get("cost_status") not in (None, "", "unknown")
    estimate = session.get("estimated_cost_usd") if known else None
    cost = money(session.get("actual_cost_usd"), estimate)
    return {**tokens(session, inside=False), **cost}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose content is more than text is kept as JSON behind a mark."""
    content = message.get("content")
    if isinstance(content, str) and content.startswith(_JSON_MARK):
        return {**message, "content": arguments(content.removeprefix(_JSON_MARK))}
    return message


def judge(result: object, message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The outcome that a result's JSON states, and the agent's own guard in or after it."""
    more: dict[str, Any] = {}
    if isinstance(result, str) and (advice := _GUARD.search(result)):
        more["host_spans"] = [list(advice.span())]
        tier = next((t for word, t in _TIERS.items() if word in advice["kind"]), "halt")
        more["verdict"] = foreign(
            tier, advice["reason"], "hermes", detector=advice["code"], count=int(advice["count"])
        )
    said = obj(result) or obj(parsed(result))
    guardrail = obj(said.get("guardrail"))
    if guardrail.get("action") in ("block", "halt"):
        more["verdict"] = foreign(
            guardrail["action"],
            string(guardrail.get("message")),
            "hermes",
            detector=string(guardrail.get("code")),
            count=whole(guardrail.get("count")) or 0,
        )
        return "blocked", more
    error = said.get("error")
    if isinstance(error, str) and _DENIED.match(error):
        return "denied", more
    code = whole(said.get("exit_code"))
    failed = bool(error) or bool(code) or text_of(result).startswith("Error executing tool")
    return ("error" if failed else "ok"), more


def _trajectory(record: dict[str, Any], session: str, part: str, report: Report) -> Iterator[Event]:
    track = Track(report, session)
    yield from track.start(
        when(record.get("timestamp")),
        agent="hermes",
        format="hermes",
        model=string(record.get("model")),
        part=part,
    )
    waiting: list[str] = []
    for number, turn in enumerate(map(obj, array(record["conversations"])), 1):
        speaker, value = turn.get("from"), string(turn.get("value"))
        if speaker == "human":
            yield track.event("user_message", text=value)
        elif speaker == "gpt":
            waiting = []
            yield from _requests(track, value, number, waiting)
        elif speaker == "tool":
            yield from _responses(track, value, waiting)
        elif speaker != "system":
            report.skip(f"from {speaker}", number)
    yield from track.finish()
    yield Closed(session)


def _requests(track: Track, value: str, number: int, waiting: list[str]) -> Iterator[Event]:
    text = _CALL.sub("", re.sub(r"<think>.*?</think>", "", value, flags=re.S)).strip()
    if text:
        yield track.event("assistant_text", text=text)
    for index, found in enumerate(_CALL.findall(value)):
        request = parsed(found)
        call = f"message-{number}-{index}"
        waiting.append(call)
        tool = string(obj(request).get("name")) or "unknown"
        args = arguments(request["arguments"]) if "arguments" in obj(request) else found
        yield from track.call(call, tool, args, message=f"message-{number}")


def _responses(track: Track, value: str, waiting: list[str]) -> Iterator[Event]:
    for found in _RESPONSE.findall(value):
        if not waiting:
            track.report.orphans += 1
            return
        response = parsed(found)
        held = isinstance(response, dict) and "content" in response
        result = response["content"] if held else found
        outcome, more = judge(result, {})
        kept = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        yield from track.end(waiting.pop(0), outcome, result=kept, **more)
