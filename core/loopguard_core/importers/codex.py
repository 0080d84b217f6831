"""Codex: rollout files under ``~/.codex/sessions`` (0.118 to 0.171 checked, older ones too).

A line is ``{timestamp, type, payload}``; before 0.4 it was the payload alone. A failed command is a
successful tool call in this format: the exit code stands in the text of the result.
"""

from __future__ import annotations

from loopguard_core.importers.base import Importer, array, obj, result_of, string, text_of, when
from loopguard_core.importers.codex_outcomes import judge
from loopguard_core.importers.reading import arguments, whole
from loopguard_core.importers.track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.base import Report
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.source import Source

_ENVELOPES = frozenset(
    [
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "token_usage_record",
        "inter_agent_communication_metadata",
    ]
)
_CONTEXT = ("<", "# AGENTS.md", "# Context from my IDE")


class Codex(Importer):
    """Rollouts of Codex CLI, its IDE extension and its subagents."""

    name = "codex"
    title = "Codex"

    def sniff(self, head: Head) -> float:
        document = obj(head.document)
        if isinstance(document.get("items"), list) and "session" in document:
            return 0.8
        sure = 0.0
        for record in head.objects:
            if string(record.get("type")) in _ENVELOPES and isinstance(record.get("payload"), dict):
                return 0.95
            if (
                record.get("type") in ("function_call", "function_call_output")
                and "call_id" in record
            ):
                sure = 0.9
            elif "record_type" in record or {"instructions", "timestamp", "id"} <= record.keys():
                sure = max(sure, 0.6)
        if not head.records and b'"session_meta"' in head.raw[:200]:
            return 0.9
        return sure

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        reader = _Reader(report)
        records = source.records(report)
        if whole_session := obj(source.head.document if source.head.kind == "document" else None):
            items = [whole_session.get("session"), *array(whole_session.get("items"))]
            records = iter(list(enumerate(items, 1)))
        for number, record in records:
            if isinstance(record, dict):
                yield from reader.record(record, number)
            else:
                report.skip(type(record).__name__, number)
        yield from reader.finish()


class _Reader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._track: Track | None = None
        self._child = False
        self._meta = False
        self._legacy = False
        self._response = 0
        self._responding = False
        self._turn_open = False
        self._said: dict[str, str] = {}
        self._prompt = ""
        self._hints: dict[str, str] = {}

    def record(self, record: dict[str, Any], number: int) -> Iterator[Event]:
        kind = string(record.get("type"))
        payload = record.get("payload")
        ts = when(record.get("timestamp"))
        if not isinstance(payload, dict):
            if kind in _ENVELOPES or isinstance(payload, str):
                return
            yield from self._bare(record, ts, number)
        elif kind == "session_meta":
            yield from self._session(payload, ts)
        elif kind == "response_item":
            yield from self._item(payload, ts, number)
        elif kind == "event_msg":
            yield from self._message(payload, ts)
        elif kind == "compacted" and self._track is not None:
            yield self._track.event(
                "system_message", ts, text=string(payload.get("message")), reason="compacted"
            )
        elif kind not in _ENVELOPES:
            self._report.skip(kind, number)

    def finish(self) -> Iterator[Event]:
        """The end of the file."""
        if self._track is not None:
            yield from self._track.finish()

    def _bare(self, record: dict[str, Any], ts: float | None, number: int) -> Iterator[Event]:
        if "record_type" in record:
            return
        if "type" not in record:
            yield from self._session(record, ts)
            return
        self._legacy = True
        yield from self._item(record, ts, number)

    def _session(self, meta: dict[str, Any], ts: float | None) -> Iterator[Event]:
        if self._meta:
            self._report.note("forked: the history of the session it came from is repeated in it")
            return
        self._meta = True
        spawned = obj(obj(meta.get("source")).get("subagent"))
        parent = string(
            meta.get("parent_thread_id") or obj(spawned.get("thread_spawn")).get("parent_thread_id")
        )
        self._child = bool(isinstance(meta.get("source"), dict) or parent)
        self._track = Track(
            self._report, string(meta.get("id") or meta.get("session_id")) or "codex"
        )
        yield from self._track.start(
            ts,
            agent="codex",
            format="codex",
            version=string(meta.get("cli_version")),
            cwd=string(meta.get("cwd")),
            parent=parent,
            forked_from=string(meta.get("forked_from_id")),
        )

    def _ready(self, ts: float | None) -> Iterator[Event]:
        if self._track is None:
            self._track = Track(self._report, "codex")
            yield from self._track.start(ts, agent="codex", format="codex")

    # -- items of the conversation ---------------------------------------------------------------

    def _item(self, item: dict[str, Any], ts: float | None, number: int) -> Iterator[Event]:
        kind = string(item.get("type"))
        yield from self._ready(ts)
        assert self._track is not None
        if kind.endswith("_call"):
            yield from self._call(item, kind, ts)
        elif kind.endswith("_call_output"):
            self._responding = False
            yield from self._output(item, ts)
        elif kind == "message":
            yield from self._text(item, ts)
        elif kind not in (
            "reasoning",
            "other",
            "ghost_snapshot",
            "compaction",
            "compaction_summary",
        ):
            self._report.skip(kind, number)

    def _call(self, item: dict[str, Any], kind: str, ts: float | None) -> Iterator[Event]:
        assert self._track is not None
        yield from self._turn_without_words(ts)
        if not self._responding:
            self._responding = True
            self._response += 1
        tool = string(item.get("name")) or {"local_shell_call": "shell"}.get(
            kind, kind.removesuffix("_call")
        )
        if namespace := string(item.get("namespace")):
            tool = f"{namespace}.{tool}"
        args = item.get("arguments", item.get("input", item.get("action")))
        call = string(item.get("call_id"))
        own = call or string(item.get("id")) or f"{kind}-{self._response}"
        yield from self._track.call(
            own,
            tool,
            arguments(args) if "arguments" in item else args,
            message=f"response-{self._response}",
            ts=ts,
        )
        if not call and kind != "local_shell_call":
            outcome = "error" if item.get("status") == "failed" else "ok"
            yield from self._track.end(own, outcome, ts=ts)

    def _output(self, item: dict[str, Any], ts: float | None) -> Iterator[Event]:
        assert self._track is not None
        call = string(item.get("call_id"))
        output = item.get("output")
        if isinstance(output, dict):
            outcome = "error" if output.get("success") is False else ""
            output = output.get("content", output)
        else:
            outcome = ""
        result = result_of(_texts(output))
        text = text_of(result)
        stated, more = judge(text)
        hint = self._hints.pop(call, "")
        yield from self._track.end(
            call, stated or outcome or hint or "ok", ts=ts, result=result, **more
        )

    def _text(self, item: dict[str, Any], ts: float | None) -> Iterator[Event]:
        assert self._track is not None
        role = item.get("role")
        text = text_of(item.get("content"))
        if role == "assistant":
            yield from self._turn_without_words(ts)
            yield self._track.event("assistant_text", ts, text=text)
        elif role == "user":
            injected = text.startswith(_CONTEXT)
            if text.startswith("<turn_aborted>"):
                yield from self._track.end_open("cancelled", ts)
            elif self._legacy and not injected:
                yield from self._user(text, ts, "message")
            elif not injected:
                self._prompt = text
        elif text and self._responding is False and role == "developer":
            yield self._track.event("system_message", ts, text=text)

    # -- what the host says beside them ----------------------------------------------------------

    def _message(self, message: dict[str, Any], ts: float | None) -> Iterator[Event]:
        kind = message.get("type")
        yield from self._ready(ts)
        assert self._track is not None
        if kind == "user_message":
            yield from self._user(text_of(message.get("message")), ts, kind)
        elif kind == "item_completed":
            yield from self._completed(obj(message.get("item")), ts)
        elif kind in ("task_started", "turn_started"):
            self._turn_open = True
            self._said.clear()
        elif kind == "turn_aborted":
            yield from self._track.end_open("cancelled", ts)
        elif kind in ("token_count",):
            self._responding = False
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            self._hint(string(message.get("call_id")), message)

    def _completed(self, item: dict[str, Any], ts: float | None) -> Iterator[Event]:
        if item.get("type") == "UserMessage":
            yield from self._user(text_of(item.get("content")), ts, "UserMessage")
        elif string(item.get("id")):
            self._hint(string(item["id"]), item)

    def _hint(self, call: str, said: dict[str, Any]) -> None:
        if self._track is None or not self._track.is_open(call):
            return
        code = whole(said.get("exit_code"))
        result = obj(said.get("result"))
        bad = (
            (code is not None and code != 0)
            or said.get("success") is False
            or "Err" in result
            or obj(result.get("Ok")).get("isError") is True
        )
        if said.get("status") in ("declined", "rejected"):
            self._hints[call] = "denied"
        elif bad:
            self._hints[call] = "error"

    def _user(self, text: str, ts: float | None, kind: str) -> Iterator[Event]:
        """A human's message; versions that write it as two *kinds* of record have said it once."""
        assert self._track is not None
        self._responding = False
        if self._said.setdefault(text, kind) != kind:
            return
        self._turn_open = False
        if self._child:
            yield self._track.event("turn_start", ts, reason="task", text=text)
        else:
            yield self._track.event("user_message", ts, text=text)

    def _turn_without_words(self, ts: float | None) -> Iterator[Event]:
        """A turn that no user message announced: the task itself began it."""
        if self._turn_open and not self._said:
            yield from self._user(self._prompt, ts, "task_started")
        self._turn_open = False
        self._prompt = ""


def _texts(output: object) -> object:
    """Output blocks with their type's name dropped where all are text."""
    blocks = array(output)
    if blocks and all(obj(b).get("type") in ("input_text", "output_text", "text") for b in blocks):
        return [{"text": string(obj(b).get("text"))} for b in blocks]
    return output
