"""Codex: rollout files under ``~/.codex/sessions`` (0.118 to 0.171 checked, older ones too).

A line is ``{timestamp, type, payload}``; before 0.4 it was the payload alone. A failed command is a
successful tool call in this format: the exit code stands in the text of the result.
"""

from __future__ import annotations

from loopguard_core.importers.base import Importer, array, obj, result_of, string, text_of, when
from loopguard_core.importers.codex_outcomes import from_hook, judge
from loopguard_core.importers.codex_stream import Stream, prints
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
_QUIET = frozenset({"reasoning", "other", "ghost_snapshot", "compaction", "compaction_summary"})
_TOOLS = {"local_shell_call": "shell"}
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
            if prints(record):
                return 0.9
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
        printed = any(map(prints, source.head.objects))
        fallback = source.name_session()
        reader = Stream(report, fallback) if printed else _Reader(report, fallback)
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
    """One rollout. Its methods give lists: there are many small records, and a generator costs more."""

    def __init__(self, report: Report, fallback: str) -> None:
        self._report = report
        self._track = Track(report, fallback)
        self._child = False
        self._meta = False
        self._legacy = False
        self._response = 0
        self._responding = False
        self._turn_open = False
        self._announced = False
        self._hosted: set[str] = set()
        self._said: dict[str, str] = {}
        self._prompt = ""
        self._hints: dict[str, str] = {}
        self._total: dict[str, Any] = {}

    def record(self, record: dict[str, Any], number: int) -> list[Event]:
        """What one line says."""
        kind = string(record.get("type"))
        payload = record.get("payload")
        if not isinstance(payload, dict):
            if kind in _ENVELOPES or isinstance(payload, str):
                return []
            return self._bare(record, number)
        stamp = record.get("timestamp")
        if kind == "response_item":
            return self._item(payload, stamp, number)
        if kind == "event_msg":
            return self._message(payload, stamp)
        if kind == "session_meta":
            return self._session(payload, when(stamp))
        if kind == "compacted":
            text = string(payload.get("message"))
            return self._say("system_message", when(stamp), text=text, reason="compacted")
        if kind not in _ENVELOPES:
            self._report.skip(kind, number)
        return []

    def finish(self) -> list[Event]:
        """The end of the file."""
        return self._track.finish()

    def _bare(self, record: dict[str, Any], number: int) -> list[Event]:
        """A line of before there was an envelope."""
        if "record_type" in record:
            return []
        if "type" not in record:
            return self._session(record, when(record.get("timestamp")))
        self._legacy = True
        return self._item(record, record.get("timestamp"), number)

    def _session(self, meta: dict[str, Any], ts: float | None) -> list[Event]:
        if self._meta or self._track.started:
            self._report.note("forked: the history of the session it came from is repeated in it")
            return []
        self._meta = True
        spawned = obj(obj(meta.get("source")).get("subagent"))
        parent = string(
            meta.get("parent_thread_id") or obj(spawned.get("thread_spawn")).get("parent_thread_id")
        )
        self._child = bool(isinstance(meta.get("source"), dict) or parent)
        named = string(meta.get("id") or meta.get("session_id"))
        self._track = Track(self._report, named or self._track.session)
        return self._track.start(
            ts,
            agent="codex",
            format="codex",
            version=string(meta.get("cli_version")),
            cwd=string(meta.get("cwd")),
            parent=parent,
            forked_from=string(meta.get("forked_from_id")),
        )

    def _ready(self, ts: float | None) -> list[Event]:
        """The session's start, where the line that should say it is missing."""
        if self._track.started:
            return []
        return self._track.start(ts, agent="codex", format="codex")

    def _say(self, kind: str, ts: float | None, **data: Any) -> list[Event]:
        return [*self._ready(ts), self._track.event(kind, ts, **data)]

    # -- items of the conversation ---------------------------------------------------------------

    def _item(self, item: dict[str, Any], stamp: object, number: int) -> list[Event]:
        kind = string(item.get("type"))
        if kind.endswith("_output"):
            self._responding = False
            return self._output(item, when(stamp))
        if kind.endswith("_call"):
            return self._call(item, kind, when(stamp))
        if kind == "message":
            return self._text(item, when(stamp))
        if kind not in _QUIET:
            self._report.skip(kind, number)
        return []

    def _call(self, item: dict[str, Any], kind: str, ts: float | None) -> list[Event]:
        out = self._turn_without_words(ts)
        if not self._responding:
            self._responding = True
            self._response += 1
        tool = string(item.get("name") or item.get("tool")) or _TOOLS.get(
            kind, kind.removesuffix("_call")
        )
        if namespace := string(item.get("namespace") or item.get("server")):
            tool = f"{namespace}.{tool}"
        args = item.get("arguments", item.get("input", item.get("action")))
        call = string(item.get("call_id"))
        own = call or string(item.get("id")) or f"{kind}-{self._response}"
        out += self._track.call(
            own,
            tool,
            arguments(args) if "arguments" in item else args,
            message=f"response-{self._response}",
            ts=ts,
        )
        if kind == "mcp_tool_call":
            self._hosted.add(own)
        if not call and kind != "local_shell_call":
            outcome = "error" if item.get("status") == "failed" else "ok"
            out += self._track.end(own, outcome, ts=ts)
        return out

    def _output(self, item: dict[str, Any], ts: float | None) -> list[Event]:
        call = string(item.get("call_id"))
        output = item.get("output", item.get("tools"))
        outcome = ""
        if isinstance(output, dict):
            outcome = "error" if output.get("success") is False else ""
            output = output.get("content", output)
        result = output if isinstance(output, str) else result_of(_texts(output))
        stated, more = judge(text_of(result))
        outcome = stated or outcome or self._hints.get(call, "") or "ok"
        self._hints.pop(call, None)
        return self._ready(ts) + self._track.end(call, outcome, ts=ts, result=result, **more)

    def _text(self, item: dict[str, Any], ts: float | None) -> list[Event]:
        role = item.get("role")
        text = text_of(item.get("content"))
        if role == "assistant":
            return [*self._turn_without_words(ts), *self._say("assistant_text", ts, text=text)]
        if role == "user":
            injected = text.startswith(_CONTEXT)
            if text.startswith("<turn_aborted>"):
                return self._track.end_open("cancelled", ts)
            if self._legacy and not injected:
                return self._user(text, ts, "message")
            if not injected:
                self._prompt = text
        elif role == "developer" and text and from_hook(item):
            waiting = self._track.open_calls()[-1:]
            about = {"call": waiting[0]} if waiting else {}
            verdict = foreign("warn", text, "hook")
            return self._say("system_message", ts, text=text, verdict=verdict, **about)
        elif text and not self._responding and role == "developer":
            return self._say("system_message", ts, text=text)
        return []

    # -- what the host says beside them ----------------------------------------------------------

    def _message(self, message: dict[str, Any], stamp: object) -> list[Event]:
        kind = message.get("type")
        if kind == "token_count":
            return self._counted(obj(message.get("info")), when(stamp))
        if kind == "user_message":
            self._announced = True
            return self._user(text_of(message.get("message")), when(stamp), "user_message")
        if kind == "item_completed":
            return self._completed(obj(message.get("item")), stamp)
        if kind in ("task_started", "turn_started"):
            self._turn_open = self._announced = True
            self._said.clear()
        elif kind == "turn_aborted":
            return self._track.end_open("cancelled", when(stamp))
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            call = string(message.get("call_id"))
            self._hint(call, message)
            if call in self._hosted:  # its result stands nowhere else
                self._hosted.discard(call)
                answer = obj(message.get("result"))
                result = obj(answer.get("Ok")).get("content", answer.get("Err"))
                outcome = self._hints.pop(call, "ok")
                return self._track.end(
                    call, outcome, ts=when(stamp), result=result_of(_texts(result))
                )
        return []

    def _counted(self, info: dict[str, Any], ts: float | None) -> list[Event]:
        """The end of an answer and what it used up; the same counts are written more than once."""
        message = f"response-{self._response}" if self._responding else ""
        self._responding = False
        total = obj(info.get("total_token_usage"))
        if total == self._total:
            return []
        self._total = total
        used = tokens(info.get("last_token_usage"), inside=True)
        return self._ready(ts) + self._track.usage(used, ts, message=message)

    def _completed(self, item: dict[str, Any], stamp: object) -> list[Event]:
        if item.get("type") == "UserMessage":
            self._announced = True
            return self._user(text_of(item.get("content")), when(stamp), "UserMessage")
        self._hint(string(item.get("id")), item)
        return []

    def _hint(self, call: str, said: dict[str, Any]) -> None:
        if not self._track.is_open(call):
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

    def _user(self, text: str, ts: float | None, kind: str) -> list[Event]:
        """A human's message; versions that write it as two *kinds* of record have said it once."""
        self._responding = False
        if self._said.setdefault(text, kind) != kind:
            return []
        self._turn_open = False
        if self._child:
            return self._say("turn_start", ts, reason="task", text=text)
        return self._say("user_message", ts, text=text)

    def _turn_without_words(self, ts: float | None) -> list[Event]:
        """A turn that no user message announced: the task itself began it, or only the prompt is there."""
        out = self._ready(ts)
        if (self._turn_open and not self._said) or (self._prompt and not self._announced):
            out += self._user(self._prompt, ts, "task_started")
        self._turn_open = False
        self._prompt = ""
        return out


def _texts(output: object) -> object:
    """Output blocks with their type's name dropped where all are text."""
    blocks = array(output)
    if blocks and all(obj(b).get("type") in ("input_text", "output_text", "text") for b in blocks):
        return [{"text": string(obj(b).get("text"))} for b in blocks]
    return output
