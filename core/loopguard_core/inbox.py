"""The inbox: what waits for a human, kept true, and how an instruction is written.

Times are seconds since the epoch.
"""

from __future__ import annotations

import os
import time

from loopguard_core.events import Event
from loopguard_core.processes import alive, user
from loopguard_core.serving import living
from loopguard_core.store.contract import Denied, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from loopguard_core.store.contract import Request, Session, Store

LATE_SECONDS = 600.0

#: seconds after its deadline at which nobody on another host waits for a request any more
OVERDUE = 86_400.0

#: how many of the newest requests are looked at for those that may still be approved
_LATEST = 200

#: ends of a request that nobody decided: an approval may still come
UNDECIDED = ("expired", "orphaned")


def whoami() -> str:
    """``user@host`` of this process."""
    return f"{user()}@{os.uname().nodename}"


def write(
    store: Store,
    session: str,
    type: str,
    data: dict[str, Any],
    by: str,
    note: str,
    expect: int | None = None,
) -> int:
    """Append an instruction of a human, with its author. Its number. *expect* as for ``append``, whose errors it raises."""
    said = {**data, "by": by or whoami()}
    if note:
        said["note"] = note
    return store.append(Event(type, session, ts=time.time(), data=said), expect=expect)


def waiting(store: Store, now: float | None = None) -> list[Request]:
    """Requests to show: those that wait, and those that expired and may still be approved.

    Requests of dead processes are swept first, where this user may; they are not shown in any case. Nor is what
    nobody waits for in a session that is over: nobody tries it again, unless the session goes on.
    """
    at = time.time() if now is None else now
    shown, settled = _swept(store), {}
    for asked in store.requests(limit=_LATEST):
        if asked.resolution == "expired" and at < late_until(asked, at):
            session = asked.session
            if session not in settled:
                settled[session] = _answered_late(store, session) if runs(store, session) else None
            answered = settled[session]
            if answered is not None and asked.request not in answered:
                shown.append(asked)
    return sorted(shown, key=lambda r: (r.opened_ts or 0.0, r.seq))


def _swept(store: Store) -> list[Request]:
    """Requests that an agent waits for now; those of dead processes are resolved, where this user may."""
    shown, may = [], True
    for asked in store.requests(pending=True):
        resolution = abandoned(store, asked)
        if not resolution:
            shown.append(asked)
        elif may:
            try:
                _end(store, asked, resolution)
            except Denied:
                may = False  # left to who may
    return shown


def still_waiting(store: Store) -> list[Request]:
    """Requests that an agent waits for now. Writes nothing."""
    return [r for r in store.requests(pending=True) if not abandoned(store, r)]


def late_until(asked: Request, now: float) -> float:
    """Until when *asked* may be approved though nobody waits; at *now*, where it does not say."""
    return asked.late_until or (asked.resolved_ts or now) + LATE_SECONDS


def late_seconds(asked: Request) -> float:
    """For how long after its end *asked* may be approved, or may once it ends."""
    ended = asked.resolved_ts if asked.resolution in UNDECIDED else asked.deadline
    if asked.late_until is None or ended is None:
        return LATE_SECONDS
    return asked.late_until - ended


def late_grant(asked: Request, now: float) -> dict[str, Any]:
    """What a ``grant`` says that approves *asked* after its end, at *now*: for its next call, once."""
    return {
        "grant": _late_name(asked),
        "scope": "signature",
        "key": asked.signature,
        "budget": 1,
        "expires": now + max(late_seconds(asked), 60.0),
        "request": asked.request,
    }


def late_refusal(asked: Request) -> dict[str, Any]:
    """What a ``revoke`` says after which no approval of *asked*, which ended undecided, holds any more."""
    return {"grant": _late_name(asked), "request": asked.request}


def answered_late(store: Store, asked: Request, upto: int) -> Event | None:
    """What was last said of *asked* after its end, up to number *upto*: a ``grant``, a ``revoke``, or nothing."""
    said = (
        e for e in _answers_late(store, asked.session, upto) if e.text("request") == asked.request
    )
    return max(said, key=lambda event: event.seq, default=None)


def _late_name(asked: Request) -> str:
    return f"{asked.request}-late"


def _answers_late(store: Store, session: str, upto: int) -> list[Event]:
    standing = store.standing(session, upto)
    return [e for e in standing if e.type in ("grant", "revoke") and e.text("request")]


def _answered_late(store: Store, session: str) -> set[str]:
    """Requests of *session* that were approved or denied after they had ended."""
    return {e.text("request") for e in _answers_late(store, session, store.last(session))}


def runs(store: Store, session: str) -> bool:
    """True where the process of *session* runs, as far as can be told from this host."""
    known = store.session(session)
    return known is not None and not known.ended and there(store, known)


def absent(store: Store, sessions: Iterable[str]) -> list[str]:
    """Those of *sessions* that nobody runs now: what is said there holds when they go on."""
    return [session for session in sessions if not runs(store, session)]


def there(store: Store, known: Session) -> bool:
    """True where a process of *known* lives, the latest that began or another one, as far as this host can tell."""
    if known.host not in ("", os.uname().nodename) or not known.pid:
        return True
    return alive(known.pid, known.pid_started) or bool(living(store, known.session, {}))


def sweep(store: Store) -> list[tuple[str, str]]:
    """Resolve requests that nothing waits for any more: ``(request, resolution)`` of each."""
    swept = []
    for asked in store.requests(pending=True):
        resolution = sweep_one(store, asked)
        if resolution:
            swept.append((asked.request, resolution))
    return swept


def abandoned(store: Store, asked: Request) -> str:
    """How a pending request ends that nothing waits for any more, empty while something may.

    ``cancelled`` where the session has ended, ``orphaned`` where the process that waited is dead: one of another host
    would long have said that its wait is over.
    """
    known = store.session(asked.session)
    if known is None or known.ended:
        return "cancelled"
    if asked.host in ("", os.uname().nodename):
        return "" if alive(asked.pid, asked.pid_started) else "orphaned"
    overdue = asked.deadline is not None and time.time() - asked.deadline > OVERDUE
    return "orphaned" if overdue else ""


def resolve(
    store: Store,
    asked: Request,
    resolution: str,
    by: str,
    note: str,
    *,
    expect: int | None = None,
    **more: object,
) -> int:
    """Say in the log how *asked* ended. The event's number; raises ``Taken`` where that was said before.

    *expect* as for ``append``.
    """
    data = {
        "request": asked.request,
        "call": asked.call,
        "signature": asked.signature,
        "resolution": resolution,
        **more,
    }
    return write(store, asked.session, "request_resolved", data, by, note, expect)


def sweep_one(store: Store, asked: Request) -> str:
    """Resolve *asked* where nothing waits for it any more; how, or empty."""
    resolution = abandoned(store, asked)
    return resolution and _end(store, asked, resolution)


def _end(store: Store, asked: Request, resolution: str) -> str:
    """Resolve *asked* so, as nothing waits for it any more; how, or empty where somebody did before."""
    more: dict[str, Any] = {}
    if resolution in UNDECIDED and asked.late_until is not None:
        more["late_until"] = min(asked.late_until, time.time() + late_seconds(asked))
    try:
        resolve(store, asked, resolution, "loopguard", "", **more)
    except Taken:
        return ""
    return resolution
