"""Sessions and requests as the contract shows them, from what their events say."""

from __future__ import annotations

from loopguard_core.store.contract import Request, Session
from loopguard_core.store.rows import from_text
from loopguard_core.verdict import Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from loopguard_core.events import Event

    Data = Mapping[str, Any]


def session(row: tuple[Any, ...]) -> Session:
    """A row of an engine's list of sessions: name, number, time, calls, worst, ended, time of the first event,
    waiting requests, and what its last start says."""
    name, seq, ts, calls, worst, ended, first, waiting, start = row
    found = Session(name)
    found.seq, found.calls, found.worst, found.waiting = seq, calls, worst, waiting
    found.ended, found.first_ts, found.last_ts = bool(ended), first, ts
    return describe(found, from_text(start) if start else {})


def tool_of(
    event: Event, started: Callable[[str], str], known: Callable[[str], Request | None]
) -> str:
    """The tool that *event* is about, empty for none: its own, that of its call as *started* tells it, or
    that of its request."""
    tool = event.text("tool") or (event.text("call") and started(event.text("call")))
    if not tool and event.text("request"):
        request = known(event.text("request"))
        tool = request.tool if request is not None else ""
    return tool


def describe(session: Session, start: Data) -> Session:
    """Fill *session* with what its last ``session_start`` says."""
    session.name = _text(start, "name")
    session.agent = _text(start, "agent")
    session.parent = _text(start, "parent")
    session.cwd = _text(start, "cwd")
    session.host = _text(start, "host")
    session.user = _text(start, "user")
    session.pid = _whole(start, "pid")
    session.pid_started = _text(start, "pid_started")
    return session


def asked(request: Request, opened: Data, call: Data, start: Data) -> Request:
    """Fill *request* from its ``request_opened``, its call's start and its session's start."""
    verdict = opened.get("verdict", call.get("verdict"))
    process = opened if "pid" in opened else start
    request.call = _text(opened, "call")
    request.tool = _text(opened, "tool") or _text(call, "tool")
    request.args = opened["args"] if "args" in opened else call.get("args")
    request.verdict = dict(verdict) if isinstance(verdict, dict) else {}
    request.signature = _text(opened, "signature") or _text(request.verdict, "signature")
    request.tier = _tier(opened.get("tier", request.verdict.get("tier")))
    request.cause = _text(opened, "cause")
    request.seen = _text(opened, "seen")
    request.unanswered = _text(opened, "unanswered") or request.unanswered
    request.deadline = _number(opened, "deadline")
    request.late_until = _number(opened, "late_until")
    request.pid = _whole(process, "pid")
    request.pid_started = _text(process, "pid_started")
    request.host = _text(process, "host")
    request.user = _text(process, "user")
    return request


def answered(request: Request, ts: float | None, answer: Data) -> Request:
    """Fill *request* from its ``request_resolved``."""
    request.resolution = _text(answer, "resolution")
    request.resolved_ts = ts
    request.by = _text(answer, "by")
    request.note = _text(answer, "note")
    if request.resolution == "modified" and "args" in answer:
        request.args = answer["args"]
    return request


def _text(data: Data, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _whole(data: Data, name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0


def _number(data: Data, name: str) -> float | None:
    value = data.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def _tier(word: object) -> int:
    try:
        return int(Tier.of(word))
    except ValueError:
        return 0
