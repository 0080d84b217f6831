"""What ``gemini --output-format stream-json`` prints."""

from __future__ import annotations

from loopguard_core.importers.base import obj, string, text_of, when
from loopguard_core.importers.gemini_outcomes import outcome_of
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.report import Report

_DENIED = frozenset({"execution_denied", "policy_violation", "tool_denied", "user_denied"})


def prints(record: dict[str, Any]) -> bool:
    """True for a record of such a stream."""
    kind = record.get("type")
    if kind == "init":
        return "session_id" in record
    return kind in ("tool_use", "tool_result") and "tool_id" in record


class Stream:
    """One run."""

    def __init__(self, report: Report, fallback: str) -> None:
        self._report = report
        self._track = Track(report, fallback)
        self._said = ""
        self._batch = 0
        self._asking = False

    def record(self, record: dict[str, Any], number: int) -> Iterator[Event]:
        """What one line says."""
        kind, ts = string(record.get("type")), when(record.get("timestamp"))
        if kind == "init" and not self._track.started:
            self._track = Track(self._report, string(record.get("session_id")))
        yield from self._track.start(
            ts, agent="gemini-cli", format="gemini", model=string(record.get("model"))
        )
        if kind == "message" and record.get("role") == "assistant":
            text = text_of(record.get("content"))
            self._said = self._said + text if record.get("delta") else text
            self._asking = False
            return
        yield from self._words(ts)
        if kind == "message":
            yield self._track.event("user_message", ts, text=text_of(record.get("content")))
        elif kind == "tool_use":
            self._batch += not self._asking
            self._asking = True
            yield from self._track.call(
                string(record.get("tool_id")),
                string(record.get("tool_name")) or "unknown",
                record.get("parameters"),
                message=f"answer-{self._batch}",
                ts=ts,
            )
        elif kind == "tool_result":
            self._asking = False
            yield from self._result(record, ts)
        elif kind == "error":
            text = string(record.get("message"))
            yield self._track.event("system_message", ts, text=text, reason="error")
        elif kind == "result":
            yield from self._track.end_open("pending")
            yield from self._track.used_in_all(tokens(record.get("stats"), inside=True))
            yield self._track.event("session_end", ts, reason=string(record.get("status")))
        elif kind != "init":
            self._report.skip(kind, number)

    def finish(self) -> Iterator[Event]:
        """The end of the stream. What the model is still saying is told once it is whole: the file may grow."""
        yield from self._track.finish()

    def _words(self, ts: float | None) -> Iterator[Event]:
        """What the model said in pieces, once it is whole."""
        if self._said.strip():
            yield self._track.event("assistant_text", ts, text=self._said)
        self._said = ""

    def _result(self, record: dict[str, Any], ts: float | None) -> Iterator[Event]:
        error = obj(record.get("error"))
        output = record.get("output")
        response = {"output": output} if output is not None else {"error": error.get("message", "")}
        outcome, more = outcome_of(
            {
                "status": record.get("status"),
                "result": [{"functionResponse": {"response": response}}],
            }
        )
        if outcome == "error" and string(error.get("type")) in _DENIED:
            outcome = "denied"
        yield from self._track.end(string(record.get("tool_id")), outcome, ts=ts, **more)
