"""What ``codex exec --json`` prints, in both its forms: items of a thread, and before 0.44 the protocol's
own messages. The prompt is not among them, so a turn has no words.
"""

from __future__ import annotations

from loopguard_core.importers.base import array, obj, result_of, string, text_of, when
from loopguard_core.importers.reading import whole
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.report import Report

_QUIET_ITEMS = frozenset({"reasoning", "todo_list"})
_OUTCOMES = {"failed": "error", "declined": "denied"}
_MESSAGES = frozenset({"agent_message", "assistant_message"})


def prints(record: dict[str, Any]) -> bool:
    """True for a record of such a stream."""
    kind = string(record.get("type"))
    if kind in ("thread.started", "session.created"):
        return bool({"thread_id", "session_id"} & record.keys())
    if kind.startswith(("item.", "turn.")):
        return isinstance(record.get("item"), dict) or kind.startswith("turn.")
    return isinstance(record.get("msg"), dict) and "type" in record["msg"] and "id" in record


class Stream:
    """One thread."""

    def __init__(self, report: Report, fallback: str) -> None:
        self._report = report
        self._track = Track(report, fallback)
        self._turn = 0
        self._moment: float | None = None
        self._prompt = ""

    def record(self, record: dict[str, Any], number: int) -> Iterator[Event]:
        """What one line says."""
        self._moment = when(record.get("timestamp"))
        if isinstance(record.get("msg"), dict):
            yield from self._message(record["msg"], number)
            return
        kind = string(record.get("type"))
        if kind in ("thread.started", "session.created"):
            named = string(record.get("thread_id") or record.get("session_id"))
            if not self._track.started and named:
                self._track = Track(self._report, named)
            yield from self._start()
        elif kind == "turn.started":
            yield from self._begin()
        elif kind.startswith("item."):
            yield from self._item(obj(record.get("item")), kind == "item.completed")
        elif kind in ("turn.failed", "error"):
            text = string(obj(record.get("error")).get("message") or record.get("message"))
            yield from self._say("system_message", text, reason="error")
        elif isinstance(record.get("prompt"), str):
            self._prompt = record["prompt"]
        elif kind == "turn.completed":
            yield from self._counted(record.get("usage"))
        elif kind:
            self._report.skip(kind, number)

    def finish(self) -> Iterator[Event]:
        """The end of the stream."""
        yield from self._track.finish()

    def _start(self) -> list[Event]:
        return self._track.start(self._moment, agent="codex", format="codex")

    def _say(self, kind: str, text: str, **more: Any) -> Iterator[Event]:
        yield from self._start()
        yield self._track.event(kind, self._moment, text=text, **more)

    def _begin(self) -> Iterator[Event]:
        self._turn += 1
        text, self._prompt = self._prompt, ""
        yield from self._say("user_message", text)

    def _counted(self, usage: object) -> Iterator[Event]:
        """What the thread has used up so far."""
        yield from self._start()
        yield from self._track.used_so_far(tokens(usage, inside=True), self._moment)

    def _call(self, own: str, tool: str, args: object) -> Iterator[Event]:
        yield from self._start()
        yield from self._track.call(own, tool, args, ts=self._moment)

    # -- items of a thread -----------------------------------------------------------------------

    def _item(self, item: dict[str, Any], completed: bool) -> Iterator[Event]:
        item = {**item, **obj(item.get("details"))}
        kind = string(item.get("type") or item.get("item_type"))
        own = f"turn-{self._turn}-{string(item.get('id'))}"
        if kind in _MESSAGES:
            if completed:
                yield from self._say("assistant_text", string(item.get("text")))
        elif kind == "error":
            yield from self._say("system_message", string(item.get("message")), reason="error")
        elif kind not in _QUIET_ITEMS:
            if not self._track.is_open(own):
                yield from self._call(own, *_request(kind, item))
            if completed:
                yield from self._end(own, item)

    def _end(self, own: str, item: dict[str, Any]) -> Iterator[Event]:
        failed = item.get("error")
        code = whole(item.get("exit_code"))
        outcome = _OUTCOMES.get(string(item.get("status")), "error" if failed or code else "ok")
        result: Any = item.get("aggregated_output")
        if failed:
            result = text_of(obj(failed).get("message") or failed)
        elif isinstance(item.get("result"), dict):
            result = _texts(item["result"].get("content"))
        more = {} if result is None else {"result": result}
        yield from self._track.end(own, outcome, ts=self._moment, **more)

    # -- messages of the protocol ------------------------------------------------------------------

    def _message(self, message: dict[str, Any], number: int) -> Iterator[Event]:
        kind = string(message.get("type"))
        own = string(message.get("call_id"))
        if kind == "task_started":
            yield from self._begin()
        elif kind == "agent_message":
            yield from self._say("assistant_text", string(message.get("message")))
        elif kind == "exec_command_begin":
            asked = {n: message[n] for n in ("command", "cwd") if n in message}
            yield from self._call(own, "shell", asked)
        elif kind == "mcp_tool_call_begin":
            yield from self._call(own, *_request("mcp_tool_call", obj(message.get("invocation"))))
        elif kind == "patch_apply_begin":
            yield from self._call(own, "apply_patch", {"changes": message.get("changes")})
        elif kind.endswith("_end") and own:
            yield from self._ended(own, message)
        elif kind == "turn_aborted":
            yield from self._track.end_open("cancelled", self._moment)
        elif kind == "token_count":
            yield from self._counted(obj(message.get("info")).get("total_token_usage"))
        elif kind in ("error", "stream_error"):
            yield from self._say("system_message", string(message.get("message")), reason="error")
        elif kind == "session_configured" and not self._track.started:
            self._track = Track(
                self._report, string(message.get("session_id")) or self._track.session
            )
            yield from self._start()

    def _ended(self, own: str, message: dict[str, Any]) -> Iterator[Event]:
        answer = obj(message.get("result"))
        code = whole(message.get("exit_code"))
        failed = bool(code) or message.get("success") is False or "Err" in answer
        failed = failed or obj(answer.get("Ok")).get("isError") is True
        said = [string(message.get(n)) for n in ("stdout", "stderr")]
        result = (
            answer.get("Err") or _texts(obj(answer.get("Ok")).get("content"))
            if answer
            else message.get("aggregated_output") or "".join(said)
        )
        outcome = "error" if failed else "ok"
        yield from self._track.end(own, outcome, ts=self._moment, result=result)


def _request(kind: str, item: dict[str, Any]) -> tuple[str, Any]:
    """The tool and the arguments of an item."""
    if kind == "command_execution":
        return "shell", {"command": item.get("command")}
    if kind == "file_change":
        return "apply_patch", {"changes": item.get("changes")}
    if kind == "mcp_tool_call":
        server, tool = string(item.get("server")), string(item.get("tool")) or "unknown"
        return f"{server}.{tool}" if server else tool, item.get("arguments")
    if kind == "collab_tool_call":
        return string(item.get("tool")) or kind, {
            n: item[n] for n in ("prompt", "receiver_thread_ids") if item.get(n)
        }
    left_out = ("id", "type", "item_type", "status", "details", "result", "error")
    return kind or "unknown", {k: v for k, v in item.items() if k not in left_out}


def _texts(content: object) -> object:
    """The content blocks of an MCP result, as text where they are only text."""
    blocks = [
        {"text": string(b.get("text"))} if b.get("type") == "text" else b
        for b in map(obj, array(content))
    ]
    return result_of(blocks) if blocks else content
