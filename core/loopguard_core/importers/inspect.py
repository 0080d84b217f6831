"""Inspect logs: ``.json`` documents and ``.eval`` archives, whose members may be zstandard.

Events are preferred to messages, which can be only the tail after a compaction. An agent that runs inside
a tool call is a session of its own.
"""

from __future__ import annotations

from loopguard_core.importers.base import (
    Closed,
    Importer,
    array,
    obj,
    result_of,
    string,
    text_of,
    when,
)
from loopguard_core.importers.chat import Chat
from loopguard_core.importers.inspect_archive import read_archive
from loopguard_core.importers.reading import foreign
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

#: how references to large texts begin; the second until early 2025
_REFERENCES = ("attachment://", "tc://")
_REFUSALS = {"reject": "block", "terminate": "halt"}


class Inspect(Importer):
    """Evaluation logs of Inspect."""

    name = "inspect"
    title = "Inspect"

    def sniff(self, head: Head) -> float:
        if head.kind == "zip":
            return 0.6
        document = obj(head.document)
        if "eval" in document and {"samples", "plan", "status"} & document.keys():
            return 0.95
        return 0.8 if {"epoch", "messages", "events"} <= document.keys() else 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        if source.head.kind == "zip":
            header, samples = read_archive(source, report)
        else:
            document = obj(source.document())
            header = document
            samples = iter(array(document.get("samples")) if "eval" in document else [document])
        run = string(obj(header.get("eval")).get("run_id")) or source.name_session()
        count = 0
        for sample in samples:
            if isinstance(sample, dict):
                count += 1
                yield from _Sample(sample, header, run, report).events()
            else:
                report.skip(type(sample).__name__)
        if not count:
            report.note("the log holds no samples")


def _tells_of_tools(events: list[dict[str, Any]]) -> bool:
    """True where a tool's event is among them, or inside a subtask."""
    return any(
        e.get("event") == "tool"
        or (e.get("event") == "subtask" and _tells_of_tools(list(map(obj, array(e.get("events"))))))
        for e in events
    )


def _error(message: dict[str, Any]) -> object:
    """A tool message's error; logs of 2024 have it as a text."""
    older = message.get("tool_error")
    return message.get("error") or ({"message": older} if isinstance(older, str) else older)


class _Sample:
    """One sample of an evaluation: a session, and further ones for agents inside tool calls."""

    def __init__(
        self, sample: dict[str, Any], header: dict[str, Any], run: str, report: Report
    ) -> None:
        self._sample = sample
        self._header = header
        self._report = report
        own = string(sample.get("id")) or "sample"
        epoch = sample.get("epoch")
        self.part = own if epoch in (None, 1) else f"{own}_epoch_{epoch}"
        self._session = f"{run}/{self.part}"
        older = obj(sample.get("transcript"))
        self._attachments = obj(sample.get("attachments")) or obj(older.get("content"))
        self._events = [
            e for e in map(obj, array(sample.get("events") or older.get("events"))) if e
        ]
        self._tracks: dict[str, Track] = {}
        self._spans = {
            string(e.get("id")): e for e in self._events if e.get("event") == "span_begin"
        }
        self._approvals: dict[str, dict[str, Any]] = {}

    def events(self) -> Iterator[Event]:
        track, before = self._open("", when(self._sample.get("started_at")))
        yield from before
        for message in self._first_messages():
            yield track.event("user_message", text=text_of(self._whole(message)))
        if _tells_of_tools(self._events) or not self._sample.get("messages"):
            for event in self._events:
                yield from self._event(event)
        else:
            yield from self._from_messages(track)
        for track in self._tracks.values():
            yield from track.finish()
        if self._sample.get("error") and track is not None:
            text = text_of(obj(self._sample["error"]).get("message"))
            yield self._tracks[""].event("system_message", text=text, reason="error")
        for track in self._tracks.values():
            yield Closed(track.session)

    def _open(self, agent: str, ts: float | None) -> tuple[Track, list[Event]]:
        track = self._tracks.get(agent)
        if track is not None:
            return track, []
        about = obj(self._header.get("eval"))
        session = f"{self._session}/{agent}" if agent else self._session
        track = self._tracks[agent] = Track(self._report, session, repeats=True)
        started = track.start(
            ts,
            agent="inspect",
            format="inspect",
            name=string(obj(self._spans.get(agent)).get("name"))
            or f"{string(about.get('task'))} {self.part}".strip(),
            model=string(about.get("model")),
            parent=self._session if agent else "",
            parent_call=self._caller(agent),
            part=f"{self.part}/{agent}" if agent else self.part,
        )
        return track, list(started)

    def _caller(self, agent: str) -> str:
        """The tool call inside which *agent* runs."""
        if not agent or agent not in self._spans:
            return agent
        calls = (e for e in self._events if e.get("event") == "tool")
        return next((string(e.get("id")) for e in calls if e.get("agent_span_id") == agent), "")

    def _first_messages(self) -> list[Any]:
        """The human's words: the input, not what a scaffold adds later."""
        messages = [obj(m) for m in array(self._sample.get("messages"))]
        said = []
        for message in messages:
            if message.get("role") == "assistant":
                break
            if message.get("role") == "user":
                said.append(message.get("content"))
        if said:
            return said
        given = self._sample.get("input")
        if isinstance(given, str):
            return [given]
        return [obj(m).get("content") for m in array(given) if obj(m).get("role") == "user"]

    # -- from events -----------------------------------------------------------------------------

    def _event(self, event: dict[str, Any], inside: str = "") -> Iterator[Event]:
        """*inside*: the tool call whose own events these are, as logs before spans nest them."""
        kind = event.get("event")
        nested = [e for e in map(obj, array(event.get("events"))) if e]
        if kind == "model":
            yield from self._model(event, inside)
        elif kind == "tool":
            yield from self._tool(event, inside, nested)
        elif kind == "approval":
            self._approval(event)
        elif kind == "subtask":
            for inner in nested:
                yield from self._event(inner, inside)

    def _agent(self, event: dict[str, Any], inside: str) -> str:
        """The agent span in which an event lies, where a tool call contains that span; else empty."""
        if inside:
            return inside
        span = string(event.get("span_id"))
        agent, seen = "", 0
        while span in self._spans and seen < 100:
            begun = self._spans[span]
            if begun.get("type") == "agent":
                agent = span
            elif begun.get("type") == "tool" and agent:
                return agent
            span, seen = string(begun.get("parent_id")), seen + 1
        return ""

    def _model(self, event: dict[str, Any], inside: str) -> Iterator[Event]:
        ts = when(event.get("completed") or event.get("timestamp"))
        track, before = self._open(self._agent(event, inside), ts)
        yield from before
        output = obj(event.get("output"))
        usage = obj(output.get("usage"))
        used = {**tokens(usage, inside=False), **money(usage.get("total_cost"))}
        yield from track.usage(used, ts)
        choice = obj(next(iter(array(output.get("choices"))), None))
        message = obj(choice.get("message"))
        text = text_of(self._whole(message.get("content")))
        if text.strip():
            yield track.event("assistant_text", ts, text=text)
        for call in map(obj, array(message.get("tool_calls"))):
            yield from track.call(
                string(call.get("id")),
                string(call.get("function")) or "unknown",
                self._whole(call.get("arguments")),
                message=string(message.get("id")),
                ts=ts,
            )

    def _tool(
        self, event: dict[str, Any], inside: str, nested: list[dict[str, Any]]
    ) -> Iterator[Event]:
        ts = when(event.get("timestamp"))
        track, before = self._open(self._agent(event, inside), ts)
        yield from before
        call = string(event.get("id"))
        if not track.is_open(call):
            yield from track.call(
                call,
                string(event.get("function")) or "unknown",
                self._whole(event.get("arguments")),
                message=string(event.get("message_id")),
                ts=ts,
            )
        for inner in nested:
            yield from self._event(inner, call)
        if event.get("pending"):
            return
        ended = when(event.get("completed"))
        outcome, more = self._outcome(call, event.get("result"), event.get("error"))
        if event.get("failed"):
            outcome = "error"
        yield from track.end(call, outcome, ts=ended if ended is not None else ts, **more)

    def _outcome(self, call: str, result: object, error: object) -> tuple[str, dict[str, Any]]:
        more: dict[str, Any] = {"result": result_of(self._whole(result))}
        failed = obj(error)
        if failed and not more["result"]:
            more["result"] = string(failed.get("message"))
        approval = self._approvals.pop(call, None)
        if approval is not None:
            more["verdict"] = approval
            return "denied", more
        if failed.get("type") == "approval":
            return "denied", more
        return ("error" if failed else "ok"), more

    def _approval(self, event: dict[str, Any]) -> None:
        tier = _REFUSALS.get(string(event.get("decision")))
        if tier is not None:
            reason = string(event.get("explanation"))
            verdict = foreign(tier, reason, "inspect", detector=string(event.get("approver")))
            self._approvals[string(obj(event.get("call")).get("id"))] = verdict

    # -- from messages ---------------------------------------------------------------------------

    def _from_messages(self, track: Track) -> Iterator[Event]:
        chat = Chat(track, self._report, self._judge)
        begun = False
        for number, message in enumerate(map(obj, array(self._sample["messages"])), 1):
            begun = begun or message.get("role") == "assistant"
            if message.get("role") == "user":
                if begun:
                    text = text_of(self._whole(message.get("content")))
                    yield track.event("system_message", text=text)
                continue
            yield from chat.message(self._whole(message), number)

    def _judge(self, result: object, message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        outcome, more = self._outcome("", result, _error(message))
        more.pop("result")
        return outcome, more

    def _whole(self, value: Any, depth: int = 0) -> Any:
        """*value* with attachments put back where references to them stand."""
        if isinstance(value, str):
            if value.startswith(_REFERENCES):
                return self._attachments.get(value.partition("://")[2], value)
            return value
        if not self._attachments or depth > 50:
            return value
        if isinstance(value, dict):
            return {k: self._whole(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self._whole(v, depth + 1) for v in value]
        return value
