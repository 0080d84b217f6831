"""Chat logs: OpenAI messages in a document or in lines, tau-bench results, request/response pairs.

Ids may repeat across turns, so a later call with the same id gets an occurrence number. There are no
times unless a log adds them.
"""

from __future__ import annotations

from loopguard_core.importers.base import Closed, Importer, array, obj, string, text_of
from loopguard_core.importers.chat import ROLES, Chat, role_of
from loopguard_core.importers.track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source


class OpenAIChat(Importer):
    """Conversations as chat APIs have them."""

    name = "openai-chat"
    title = "OpenAI chat logs"

    def sniff(self, head: Head) -> float:
        for record in head.records[:20]:
            if any(_messages(c) for c in _conversations(record)):
                return 0.7
        if head.kind == "lines" and any(_is_message(obj(r)) for r in head.records):
            return 0.6
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        name = source.name_session(_first(source.head.document))
        loose: Chat | None = None
        parts = 0
        for number, record in source.records(report):
            held = _conversations(record)
            if not any(_messages(c) for c in held):
                if not _is_message(obj(record)):
                    report.skip("no message", number)
                    continue
                if loose is None:
                    loose = Chat(Track(report, name, repeats=True), report)
                    yield from _start(loose.track)
                yield from loose.message(obj(record), number)
                continue
            several = len(held) > 1 or source.head.kind == "lines"
            for conversation in held:
                part = _part(conversation, parts) if several else ""
                parts += 1
                yield from _conversation(conversation, name, part, report)
        if loose is not None:
            yield from loose.track.finish()


def _first(document: object) -> object:
    """What a growing log begins with."""
    held = [m for c in _conversations(document)[:1] for m in _messages(c)[:3]]
    return held or document


def _conversation(
    conversation: dict[str, Any], name: str, part: str, report: Report
) -> Iterator[Event]:
    session = f"{name}#{part}" if part else name
    chat = Chat(Track(report, session, repeats=True), report)
    yield from _start(chat.track, part)
    for number, message in enumerate(_messages(conversation), 1):
        if isinstance(message, dict):
            yield from chat.message(message, number)
        else:
            report.skip(type(message).__name__, number)
    yield from chat.track.finish()
    yield Closed(session)


def _start(track: Track, part: str = "") -> Iterator[Event]:
    yield from track.start(None, agent="chat", format="openai-chat", part=part)


def _conversations(record: object) -> list[dict[str, Any]]:
    """The conversations in a document or a line, each an object that holds messages."""
    if isinstance(record, list):
        if record and _is_message(obj(record[0])):
            return [{"messages": record}]
        return [r for r in record if isinstance(r, dict)]
    whole = obj(record)
    if isinstance(whole.get("simulations"), list):
        return [r for r in whole["simulations"] if isinstance(r, dict)]
    return [whole] if whole else []


def _messages(conversation: dict[str, Any]) -> list[Any]:
    """The messages of one conversation, a response's choice included."""
    for name in ("traj", "messages", "conversation", "input", "history"):
        held = conversation.get(name)
        if isinstance(held, list) and any(_is_message(obj(m)) for m in held[:5]):
            return [*held, *_answer(conversation)]
    for name in ("request", "body", "kwargs"):
        held = obj(conversation.get(name)).get("messages") or obj(conversation.get(name)).get(
            "input"
        )
        if isinstance(held, list):
            return [*held, *_answer(conversation)]
    return []


def _answer(conversation: dict[str, Any]) -> list[Any]:
    response = obj(conversation.get("response")) or conversation
    choice = obj(next(iter(array(response.get("choices"))), None))
    return (
        [choice["message"]]
        if isinstance(choice.get("message"), dict)
        else array(response.get("output"))
    )


def _is_message(message: dict[str, Any]) -> bool:
    if message.get("type") in ("function_call", "function_call_output") and "call_id" in message:
        return True
    return role_of(message) in ROLES and bool(
        {"content", "tool_calls", "function_call", "tool_call_id"} & message.keys()
    )


def _part(conversation: dict[str, Any], index: int) -> str:
    """How people name it: task and trial, its own id, else its place."""
    if "task_id" in conversation and "trial" in conversation:
        return f"{text_of(conversation['task_id']) or string(conversation['task_id'])}.{string(conversation['trial'])}"
    for name in ("id", "conversation_id", "session_id", "custom_id"):
        if string(conversation.get(name)):
            return string(conversation[name])
    return str(index)
