"""The human's side of a request: decide it, once, and say so in the log.

Console and commands decide through these functions alone. A decision is an event; a unique index over
resolutions makes the log itself the compare-and-set, so of two people who answer one wins and the other is
told who. A decision may carry the digest of what the person saw (``seen``): where that changed, nothing
is done. ``by`` is ``user@host`` unless given. Times are seconds since the epoch.
"""

from __future__ import annotations

import os
import time

from loopguard_core import standing
from loopguard_core.condition import Condition, ConditionError
from loopguard_core.controls import Grant
from loopguard_core.inbox import (
    UNDECIDED,
    late_grant,
    late_until,
    refuse_late,
    runs,
    sweep,
    sweep_one,
    waiting,
    whoami,
    write,
)
from loopguard_core.restoring import holds_new_secret, is_marker
from loopguard_core.store.contract import Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from loopguard_core.store.contract import Request, Session, Store

__all__ = [
    "AlreadyDecided",
    "Decided",
    "DecisionError",
    "approve",
    "cancel",
    "clear_breakpoint",
    "deny",
    "halt",
    "modify",
    "override",
    "reset",
    "resume",
    "revoke",
    "set_breakpoint",
    "sweep",
    "waiting",
    "whoami",
]

SCOPES = ("signature", "tool", "session")
UNTIL = ("", "turn", "result")
CEILING_CALLS = 200
CEILING_SECONDS = 8 * 3600.0


class DecisionError(Exception):
    """A decision that was not made: why, and what to do. Nothing was written."""


class AlreadyDecided(DecisionError):
    """Somebody was faster, or the request ended. ``resolution`` and ``by`` say how and who."""

    def __init__(self, request: Request) -> None:
        self.request = request.request
        self.resolution = request.resolution
        self.by = request.by
        by = f" by {request.by}" if request.by else ""
        at = ""
        if request.resolved_ts is not None:
            at = time.strftime(" at %H:%M:%S", time.localtime(request.resolved_ts))
        super().__init__(f"{request.request} is already {request.resolution}{by}{at}")


class Decided:
    """What a decision did. ``late``: its request had ended undecided, so it holds for the next call.

    ``covered``: other waiting requests that it settled. ``sessions``: those that it was written to.
    ``absent``: of those, the ones that no process runs now; it holds when one goes on. ``already``: sessions
    in which it held before, so that nothing was written, as they stand.
    """

    __slots__ = (
        "absent",
        "already",
        "breakpoint",
        "covered",
        "grant",
        "late",
        "request",
        "resolution",
        "sessions",
    )

    def __init__(
        self,
        resolution: str,
        sessions: Iterable[str],
        *,
        request: str = "",
        grant: str = "",
        breakpoint: str = "",
        late: bool = False,
        covered: Iterable[str] = (),
        absent: Iterable[str] = (),
        already: Iterable[Session] = (),
    ) -> None:
        self.already = list(already)
        self.absent = list(absent)
        self.resolution = resolution
        self.sessions = list(sessions)
        self.request = request
        self.grant = grant
        self.breakpoint = breakpoint
        self.late = late
        self.covered = list(covered)

    def __repr__(self) -> str:
        return f"Decided({self.resolution!r}, {self.sessions!r}, request={self.request!r})"


# -- one request ---------------------------------------------------------------------------------


def approve(store: Store, request: str, *, by: str = "", note: str = "", seen: str = "") -> Decided:
    """Let the call of *request* run, once. One that ended undecided gets a grant for the next such call."""
    asked = _find(store, request, seen)
    if asked.resolution in UNDECIDED:
        return _approve_late(store, asked, by, note)
    return _resolve(store, asked, "approved", by, note)


def deny(store: Store, request: str, *, by: str = "", note: str = "", seen: str = "") -> Decided:
    """Refuse the call of *request*; *note* goes to the model. After its end: take a late approval back."""
    asked = _find(store, request, seen)
    if asked.resolution in UNDECIDED:
        grant = refuse_late(store, asked, by)
        data = {"on": asked.request, "text": f"denied after it was {asked.resolution}: {note}"}
        write(store, asked.session, "note", data, by, "")
        return Decided("denied", [asked.session], request=asked.request, grant=grant, late=True)
    return _resolve(store, asked, "denied", by, note)


def modify(
    store: Store, request: str, args: object, *, by: str = "", note: str = "", seen: str = ""
) -> Decided:
    """Let the call of *request* run with other arguments; the model is told."""
    if holds_new_secret(args):
        raise DecisionError(
            "the new arguments hold what looks like a secret; the log never stores one, so they "
            "cannot reach the agent (markers of secrets that stood there before may stay)"
        )
    asked = _find(store, request, seen)
    if isinstance(asked.args, dict) and not isinstance(args, dict):
        raise DecisionError(
            f"the arguments of {asked.request} have names; give them as an object, "
            f'such as {{"{next(iter(asked.args), "name")}": …}}'
        )
    if is_marker(asked.args):
        raise DecisionError(
            f"what {asked.request} is given is never stored, so new arguments could not reach the agent; "
            "approve or deny it as it is"
        )
    return _resolve(store, asked, "modified", by, note, args=args)


def _resolve(
    store: Store, asked: Request, resolution: str, by: str, note: str, **more: Any
) -> Decided:
    if asked.resolution:
        raise AlreadyDecided(asked)
    data = {
        "request": asked.request,
        "call": asked.call,
        "signature": asked.signature,
        "resolution": resolution,
        **more,
    }
    try:
        write(store, asked.session, "request_resolved", data, by, note)
    except Taken:
        raise _beaten(store, asked) from None
    return Decided(resolution, [asked.session], request=asked.request)


def _approve_late(store: Store, asked: Request, by: str, note: str) -> Decided:
    now = time.time()
    until = late_until(asked, now)
    if now >= until:
        raise DecisionError(
            f"{asked.request} was {asked.resolution} too long ago to be approved; "
            "an override lets the agent's next call through"
        )
    data = late_grant(asked, now)
    try:
        write(store, asked.session, "grant", data, by, note)
    except Taken:
        raise DecisionError(
            f"{asked.request} was already approved after it was {asked.resolution}; "
            "an override lets more calls through"
        ) from None
    covered = _settle_covered(store, asked.session, Grant(0, data), by)
    return Decided(
        "approved",
        [asked.session],
        request=asked.request,
        grant=str(data["grant"]),
        late=True,
        covered=covered,
    )


def _find(store: Store, name: str, seen: str) -> Request:
    asked, upper = store.request(name), name.upper()
    other = store.request(upper) if upper != name else None
    if asked is not None and other is not None:
        raise DecisionError(
            f"{name} and {upper} are two requests, and one may be made to look like the other; "
            f"decide {upper} as it is written, or override the session that is meant"
        )
    asked = asked or other
    if asked is None:
        raise DecisionError(f"there is no request {name}; `loopguard-console pending` lists them")
    if seen and asked.seen and seen != asked.seen:
        raise DecisionError(f"{asked.request} is not what you saw any more; look at it again")
    if not asked.resolution and sweep_one(store, asked):
        asked = store.request(asked.request) or asked
    return asked


def _beaten(store: Store, asked: Request) -> DecisionError:
    won = store.request(asked.request)
    if won is None or not won.resolution:
        return DecisionError(f"{asked.request} was decided by somebody else")
    return AlreadyDecided(won)


# -- standing instructions -----------------------------------------------------------------------


def override(
    store: Store,
    *,
    request: str = "",
    session: str = "",
    scope: str = "signature",
    key: str = "",
    calls: int | None = None,
    seconds: float | None = None,
    until: str = "",
    by: str = "",
    note: str = "",
    seen: str = "",
    ceiling_calls: int = CEILING_CALLS,
    ceiling_seconds: float = CEILING_SECONDS,
) -> Decided:
    """Grant the next *calls* within *seconds*, *until* the ``turn`` or the ``result`` changes.

    For one signature, one tool, or the whole session. From a *request*, session and key are its own.
    What is not limited is limited by the ceiling; more than the ceiling is refused.
    """
    if scope not in SCOPES:
        raise DecisionError(f"scope is one of {', '.join(SCOPES)}, not {scope!r}")
    if until not in UNTIL:
        raise DecisionError(f"until is turn or result, not {until!r}")
    session, key = _target(store, request, session, scope, key, seen)
    budget = _below("calls", calls, ceiling_calls)
    lasts = _below("seconds", seconds, ceiling_seconds)
    data: dict[str, Any] = {
        "grant": f"G{os.urandom(3).hex()}",
        "scope": scope,
        "key": key,
        "budget": int(budget),
        "expires": time.time() + lasts,
    }
    if until:
        data["until"] = until
    seq = write(store, session, "grant", data, by, note)
    covered = _settle_covered(store, session, Grant(seq, data), by)
    return Decided(
        "granted",
        [session],
        request=request,
        grant=str(data["grant"]),
        covered=covered,
        absent=[] if runs(store, session) else [session],
    )


def reset(
    store: Store,
    *,
    request: str = "",
    session: str = "",
    scope: str = "signature",
    key: str = "",
    by: str = "",
    note: str = "",
    seen: str = "",
) -> Decided:
    """Clear the counters of a signature, a tool or the session; what waits on them runs."""
    if scope not in SCOPES:
        raise DecisionError(f"scope is one of {', '.join(SCOPES)}, not {scope!r}")
    session, key = _target(store, request, session, scope, key, seen)
    seq = write(store, session, "reset", {"scope": scope, "key": key}, by, note)

    def covered(asked: Request) -> bool:
        if asked.cause == "breakpoint":
            return False
        return scope == "session" or key == (asked.tool if scope == "tool" else asked.signature)

    settled = _settle(store, session, seq, covered, "approved", by, "the counters were reset")
    return Decided("reset", [session], request=request, covered=settled)


def halt(
    store: Store,
    *,
    request: str = "",
    session: str = "",
    scope: str = "turn",
    children: bool = True,
    by: str = "",
    note: str = "",
    seen: str = "",
) -> Decided:
    """Stop a session: the ``turn``, or the whole ``session`` until ``resume``; its children too.

    What stands halted as much already is left as it is.
    """
    if scope not in ("turn", "session"):
        raise DecisionError(f"scope is turn or session, not {scope!r}")
    session, _ = _target(store, request, session, "session", "", seen)
    own = store.session(session)
    below = standing.below(store, session) if children else []
    already = [known for known in (own, *below) if known and standing.halted(store, known, scope)]
    held = {known.session for known in already}
    meant = [session, *(known.session for known in below)]
    stopped = [name for name in meant if name not in held]
    settled: list[str] = []
    for name in stopped:
        seq = write(store, name, "halt", {"scope": scope}, by, note)
        settled += _settle(store, name, seq, lambda _: True, "halted", by, note)
    absent = [name for name in stopped if not runs(store, name)]
    return Decided(
        "halted", stopped, request=request, covered=settled, absent=absent, already=already
    )


def resume(
    store: Store, session: str, *, children: bool = True, by: str = "", note: str = ""
) -> Decided:
    """Let a halted session go on, with those of its children that a human halted.

    What nobody stopped is left as it is.
    """
    session, _ = _target(store, "", session, "session", "", "")
    own = store.session(session)
    already = [own] if own is not None and not standing.stopped(store, own) else []
    freed = [] if already else [session]
    if children:
        freed += [known.session for known in standing.below(store, session) if known.halted]
    settled: list[str] = []
    for name in freed:
        seq = write(store, name, "resume", {}, by, note)
        settled += _settle(store, name, seq, lambda r: r.cause == "latch", "approved", by, note)
    return Decided("resumed", freed, covered=settled, already=already)


def cancel(store: Store, session: str, *, by: str = "", note: str = "") -> Decided:
    """Resolve everything that waits in *session*, as before it is deleted. The agent gets a refusal."""
    session, _ = _target(store, "", session, "session", "", "")
    here = store.last(session)
    settled = _settle(store, session, here, lambda _: True, "cancelled", by, note)
    return Decided("cancelled", [session], covered=settled)


def revoke(store: Store, grant: str, *, session: str = "", by: str = "", note: str = "") -> Decided:
    """Take a grant back, once."""
    names = [session] if session else [s.session for s in store.sessions() if not s.ended]
    for name in names:
        said = standing.latest(store, name, ("grant", "revoke"), grant)
        if said is None:
            continue
        if said.type == "revoke":
            known = store.session(name)
            return Decided("revoked", [], grant=grant, already=[known] if known else [])
        write(store, name, "revoke", {"grant": grant}, by, note)
        return Decided("revoked", [name], grant=grant)
    raise DecisionError(f"there is no grant {grant} in a session that runs")


def set_breakpoint(
    store: Store, session: str, condition: str, *, by: str = "", note: str = ""
) -> Decided:
    """Hold every call of *session* that meets *condition* (see ``condition``) until a human decides."""
    session, _ = _target(store, "", session, "session", "", "")
    try:
        Condition(condition)
    except ConditionError as error:
        raise DecisionError(str(error)) from None
    data = {"breakpoint": f"B{os.urandom(3).hex()}", "condition": condition}
    write(store, session, "breakpoint", data, by, note)
    return Decided("set", [session], breakpoint=data["breakpoint"])


def clear_breakpoint(store: Store, session: str, breakpoint: str, *, by: str = "") -> Decided:
    """Take a breakpoint away, if it is set."""
    session, _ = _target(store, "", session, "session", "", "")
    said = standing.latest(store, session, ("breakpoint",), breakpoint)
    if said is None or not said.data.get("on", True):
        known = store.session(session)
        return Decided("cleared", [], breakpoint=breakpoint, already=[known] if known else [])
    data = {"breakpoint": breakpoint, "on": False}
    write(store, session, "breakpoint", data, by, "")
    return Decided("cleared", [session], breakpoint=breakpoint)


def _target(
    store: Store, request: str, session: str, scope: str, key: str, seen: str
) -> tuple[str, str]:
    """The session and key that an instruction is for."""
    if request:
        asked = _find(store, request, seen)
        own = {"signature": asked.signature, "tool": asked.tool}.get(scope, "")
        return asked.session, key or own
    if not session:
        raise DecisionError("name a request or a session")
    if store.session(session) is None:
        raise DecisionError(
            f"there is no session {session}; `loopguard-console sessions` lists them"
        )
    if scope != "session" and not key:
        raise DecisionError(f"name the {scope} that is meant, or a request about it")
    return session, "" if scope == "session" else key


def _below(what: str, value: float | None, ceiling: float) -> float:
    if value is None:
        return ceiling
    if not 0 < value <= ceiling:
        raise DecisionError(f"an override is for at most {ceiling:g} {what} and at least 1")
    return value


# -- requests that an instruction settles --------------------------------------------------------


def _settle_covered(store: Store, session: str, grant: Grant, by: str) -> list[str]:
    """Resolve what waits and *grant* covers; each takes one call of its budget."""

    def covered(asked: Request) -> bool:
        if not grant.covers(asked.tool, asked.signature, None):
            return False
        if grant.left is not None:
            grant.left -= 1
        return True

    return _settle(store, session, grant.seq, covered, "approved", by, "", grant=grant.grant)


def _settle(
    store: Store,
    session: str,
    seq: int,
    covered: Callable[[Request], bool],
    resolution: str,
    by: str,
    note: str,
    **more: str,
) -> list[str]:
    """Resolve what waited when the instruction at *seq* was given, and only that.

    An agent that saw the instruction may have gone on and asked again already.
    """
    settled = []
    for asked in store.requests(session=session, pending=True):
        if asked.seq > seq or not covered(asked):
            continue
        data = {
            "request": asked.request,
            "call": asked.call,
            "signature": asked.signature,
            "resolution": resolution,
            **more,
        }
        try:
            write(store, session, "request_resolved", data, by, note)
        except Taken:
            continue  # the agent saw the instruction first and settled it itself
        settled.append(asked.request)
    return settled
