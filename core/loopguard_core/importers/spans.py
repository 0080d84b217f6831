"""Spans as events: what OpenTelemetry, Langfuse and LangSmith share.

Spans are written when they end, so they are gathered and sorted by their start. A call that never ended
has no span and is invisible.
"""

from __future__ import annotations

from loopguard_core.importers.base import Closed
from loopguard_core.importers.track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.report import Report


class Span:
    """What counts of a span. ``kind``: ``tool``, ``agent``, ``model`` or empty.

    ``conversation`` names the session where the span does; ``calls`` are the ids of the calls that a
    model span requested, ``used`` what it used up.
    """

    __slots__ = (
        "agent",
        "args",
        "call",
        "calls",
        "conversation",
        "end",
        "kind",
        "message",
        "name",
        "outcome",
        "parent",
        "result",
        "span",
        "start",
        "text",
        "trace",
        "used",
    )

    def __init__(self, span: str, parent: str, trace: str, kind: str, name: str) -> None:
        self.span = span
        self.parent = parent
        self.trace = trace
        self.kind = kind
        self.name = name
        self.start: float | None = None
        self.end: float | None = None
        self.agent = ""
        self.call = ""
        self.conversation = ""
        self.args: Any = None
        self.result: Any = None
        self.outcome = "ok"
        self.message = ""
        self.text = ""
        self.calls: list[str] = []
        self.used: dict[str, Any] = {}


class Spans:
    """All spans of an input, dealt out to sessions.

    A session is a conversation where spans name one, else a trace. An agent that runs inside a tool call
    is a session of its own, with the caller's as its parent.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self._all = sorted(spans, key=lambda s: s.start if s.start is not None else float("inf"))
        self._by_id = {s.span: s for s in self._all if s.span}
        self._batches = {c: s.span for s in self._all for c in s.calls}
        self._names: dict[str, str] = {}

    def events(
        self, report: Report, format: str, fallback: str, human: bool = False
    ) -> Iterator[Event]:
        """The events of each session after the other. With *human*, a run's input is a human's message."""
        sessions: dict[str, list[Span]] = {}
        answers: dict[str, list[Span]] = {}
        # one answer may be seen by several libraries; the innermost is the provider's
        used = (s for s in self._all if s.used)
        around = {above.span for s in used for above in self._above(s)}
        for span in self._all:
            if span.kind in ("tool", "agent"):
                sessions.setdefault(self._session(span) or fallback, []).append(span)
            elif span.used and span.span not in around:
                answers.setdefault(self._session(span) or fallback, []).append(span)
        for session, spans in sessions.items():
            said = answers.get(session, [])
            yield from self._one(session, spans, said, report, format, human, len(sessions) > 1)

    def _one(
        self,
        session: str,
        spans: list[Span],
        answers: list[Span],
        report: Report,
        format: str,
        human: bool,
        several: bool,
    ) -> Iterator[Event]:
        parent_call = next((p for p in map(self._caller, spans) if p is not None), None)
        track = Track(report, session, repeats=True)
        agents = [s.name for s in spans if s.kind == "agent"]
        yield from track.start(
            spans[0].start,
            agent=format,
            format=format,
            name=agents[0] if agents else "",
            parent=self._session(parent_call) if parent_call else "",
            parent_call=(parent_call.call or parent_call.span) if parent_call else "",
            part=session if several else "",
        )
        runs = [s for s in spans if s.kind == "agent" and self._begins_turn(s)]
        tools = [s for s in spans if s.kind == "tool"]
        for run in runs[:1] if not tools else runs:
            run.call = f"run-{run.span}"
        for _, what, span in sorted(_moments(tools, runs, answers), key=lambda m: m[0]):
            if what == "used":
                yield from track.usage(span.used, span.end)
            elif what == "run":
                kind = "user_message" if human and not parent_call else "turn_start"
                about = {"text": span.text} if span.text or human else {}
                reason = {} if kind == "user_message" else {"reason": "run"}
                yield track.event(kind, span.start, **reason, **about)
            elif what == "start":
                yield from track.call(
                    span.call or span.span,
                    span.name or "unknown",
                    span.args,
                    message=span.message or self._batches.get(span.call, ""),
                    ts=span.start,
                    agent=span.agent,
                )
            else:
                yield from track.end(
                    span.call or span.span, span.outcome, ts=span.end, result=span.result
                )
        yield from track.finish()
        yield Closed(session)

    def _above(self, span: Span) -> Iterator[Span]:
        seen = {span.span}
        parent = self._by_id.get(span.parent)
        while parent is not None and parent.span not in seen:
            seen.add(parent.span)
            yield parent
            parent = self._by_id.get(parent.parent)

    def _begins_turn(self, span: Span) -> bool:
        """True for an agent's run that no other run of the same session contains."""
        for above in self._above(span):
            if above.kind == "tool":
                return True
            if above.kind == "agent":
                return False
        return True

    def _caller(self, span: Span) -> Span | None:
        """The tool call inside which the agent of *span* runs."""
        inside = span.kind == "agent"
        for above in self._above(span):
            if above.kind == "tool" and inside:
                return above
            inside = inside or above.kind == "agent"
        return None

    def _session(self, span: Span) -> str:
        if span.span in self._names:
            return self._names[span.span]
        name = span.conversation or span.trace
        caller = self._caller(span)
        if caller is not None:
            agents = [s for s in (span, *self._above(span)) if s.kind == "agent"]
            outer = self._session(caller)
            if name == outer or name == span.trace:
                name = f"{outer}/{self._innermost(agents, caller)}"
        self._names[span.span] = name
        return name

    def _innermost(self, agents: list[Span], caller: Span) -> str:
        inside = [a for a in agents if caller in list(self._above(a))]
        return inside[-1].span[-12:] if inside else caller.span[-12:]


def _moments(
    tools: list[Span], runs: list[Span], answers: list[Span]
) -> Iterator[tuple[tuple[float, int, int], str, Span]]:
    """When each thing happened, in an order that keeps a call's end behind its start."""
    late = 0.0
    for index, span in enumerate(runs):
        yield (span.start or 0.0, -1, index), "run", span
    for index, span in enumerate(answers):
        yield (span.end or span.start or 0.0, 0, index), "used", span
    for index, span in enumerate(tools):
        start = span.start if span.start is not None else late
        late = max(late, start)
        yield (start, 1, index), "start", span
        end = span.end if span.end is not None else start
        yield (max(end, start), 1 if end <= start else 0, index), "end", span
