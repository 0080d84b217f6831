"""Sessions and requests as the contract shows them, from what their events say.

Whoever may append can write any row. So nothing is taken for what it should be: one session's numbers must not
keep people from seeing the others.
"""

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

#: Times that a calendar has, in seconds since the epoch: the years 68 to 287,000.
_FIRST, _LAST = -6e10, 9e12
#: No system gives a process a greater number.
_PIDS = 2**31


def session(row: tuple[Any, ...]) -> Session:
    """A row of an engine's list of sessions: name, number, time when its agent was active, calls, worst, ended, time of the first event,
    waiting requests, what its last start says; and of the halt that holds number, time, and what it says."""
    name, seq, ts, calls, worst, ended, first, waiting, start, *halt = row
    found = Session(name)
    found.seq, found.calls, found.waiting = seq, calls, waiting
    found.worst = min(max(worst, Tier.ALLOW), Tier.HALT)
    found.ended, found.first_ts, found.last_ts = bool(ended), moment(first), moment(ts)
    return describe(halted(found, *halt), said(start))


def halted(session: Session, seq: int | None, ts: object, halt: str | Data | None) -> Session:
    """Fill *session* with the human's halt that holds: its number (None for none), time, and what it says."""
    if seq is not None:
        words = said(halt) if halt is None or isinstance(halt, str) else halt
        session.halted = "session" if words.get("scope") == "session" else "turn"
        session.halted_by, session.halted_seq = _text(words, "by"), seq
        session.halted_ts = moment(ts)
    return session


def said(text: str | None) -> dict[str, Any]:
    """The fields in the JSON *text*; none where it is no object, or nothing that can be read."""
    try:
        fields = from_text(text) if text else {}
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def moment(ts: object) -> float | None:
    """*ts* where it is a time that can be shown."""
    try:
        time = float(ts) if isinstance(ts, (int, float)) else None
    except OverflowError:
        return None
    return time if time is not None and _FIRST < time < _LAST else None


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
    """Fill *session*, of which the rest is known, with what its last ``session_start`` says."""
    session.judged = session.worst > Tier.ALLOW or bool(_text(start, "policy"))
    session.name = _text(start, "name")
    session.agent = _text(start, "agent")
    session.parent = _text(start, "parent")
    session.cwd = _text(start, "cwd")
    session.host = _text(start, "host")
    session.user = _text(start, "user")
    session.pid = _pid(start)
    session.pid_started = _text(start, "pid_started")
    return session


def asked(request: Request, ts: object, opened: Data, call: Data, start: Data) -> Request:
    """Fill *request* from its ``request_opened`` at *ts*, its call's start and its session's start."""
    request.opened_ts = moment(ts)
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
    request.deadline = moment(opened.get("deadline"))
    request.late_until = moment(opened.get("late_until"))
    request.pid = _pid(process)
    request.pid_started = _text(process, "pid_started")
    request.host = _text(process, "host")
    request.user = _text(process, "user")
    return request


def answered(request: Request, ts: float | None, answer: Data) -> Request:
    """Fill *request* from its ``request_resolved``."""
    request.resolution = _text(answer, "resolution")
    request.resolved_ts = moment(ts)
    request.by = _text(answer, "by")
    request.note = _text(answer, "note")
    if "late_until" in answer:  # it ended before its deadline, or without one
        request.late_until = moment(answer["late_until"])
    if request.resolution == "modified" and "args" in answer:
        request.args = answer["args"]
    return request


def _text(data: Data, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _pid(data: Data) -> int:
    value = data.get("pid")
    return value if isinstance(value, int) and 0 < value < _PIDS else 0


def _tier(word: object) -> int:
    try:
        return int(Tier.of(word))
    except ValueError:
        return 0
