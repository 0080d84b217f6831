"""What a human says that holds on: grants, resets, halts, breakpoints, and taking them back.

Each is an event, and settles what waits for a human and is covered by it.
"""

from __future__ import annotations

import os
import time

from loopguard_core import standing
from loopguard_core.condition import Condition, ConditionError
from loopguard_core.controls import Grant
from loopguard_core.escape.outcome import Decided, DecisionError
from loopguard_core.escape.requests import find
from loopguard_core.escape.settling import settle, settle_covered
from loopguard_core.inbox import absent, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.store.contract import Request, Session, Store

SCOPES = ("signature", "tool", "session")
UNTIL = ("", "turn", "result")
CEILING_CALLS = 200
CEILING_SECONDS = 8 * 3600.0


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
    budget = _below(calls, ceiling_calls, f"{ceiling_calls:g} calls")
    lasts = _below(seconds, ceiling_seconds, f"{ceiling_seconds / 60:g} minutes")
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
    covered = settle_covered(store, session, Grant(seq, data), by)
    return Decided(
        "granted",
        [session],
        request=request,
        grant=str(data["grant"]),
        covered=covered,
        absent=absent(store, [session]),
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

    settled = settle(store, session, seq, covered, "approved", by, "the counters were reset")
    return Decided(
        "reset", [session], request=request, covered=settled, absent=absent(store, [session])
    )


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
    """Stop a session: the ``turn``, or the whole ``session`` until ``resume``; its *children* too, also later ones.

    What stands halted as much already is left as it is.
    """
    if scope not in ("turn", "session"):
        raise DecisionError(f"scope is turn or session, not {scope!r}")
    session, _ = _target(store, request, session, "session", "", seen)
    own = store.session(session)
    below = standing.below(store, session) if children else []
    already = [known for known in (own, *below) if known and standing.halted(store, known, scope)]
    if own in already and children and not _reaches_below(store, own):
        already.remove(own)
    held = {known.session for known in already}
    meant = [session, *(known.session for known in below)]
    stopped = [name for name in meant if name not in held]
    settled: list[str] = []
    said = {"scope": scope} if children else {"scope": scope, "children": False}
    for name in stopped:
        seq = write(store, name, "halt", said, by, note)
        settled += settle(store, name, seq, lambda _: True, "halted", by, note)
    return Decided(
        "halted",
        stopped,
        request=request,
        covered=settled,
        absent=absent(store, stopped),
        already=already,
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
        settled += settle(store, name, seq, lambda r: r.cause == "latch", "approved", by, note)
    return Decided("resumed", freed, covered=settled, absent=absent(store, freed), already=already)


def cancel(store: Store, session: str, *, by: str = "", note: str = "") -> Decided:
    """Resolve everything that waits in *session*, as before it is deleted. The agent gets a refusal."""
    session, _ = _target(store, "", session, "session", "", "")
    here = store.last(session)
    settled = settle(store, session, here, lambda _: True, "cancelled", by, note)
    return Decided("cancelled", [session], covered=settled)


def revoke(store: Store, grant: str, *, session: str = "", by: str = "", note: str = "") -> Decided:
    """Take a grant back, once, also in a session that has ended: it would hold when that goes on."""
    running_first = [] if session else sorted(store.sessions(), key=lambda s: s.ended)
    names = [session] if session else [s.session for s in running_first]
    for name in names:
        said = standing.latest(store, name, ("grant", "revoke"), grant)
        if said is None:
            continue
        if said.type == "revoke":
            known = store.session(name)
            return Decided("revoked", [], grant=grant, already=[known] if known else [])
        write(store, name, "revoke", {"grant": grant}, by, note)
        return Decided("revoked", [name], grant=grant, absent=absent(store, [name]))
    raise DecisionError(f"there is no grant {grant}; `loopguard-console grants` lists them")


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
    return Decided("set", [session], breakpoint=data["breakpoint"], absent=absent(store, [session]))


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
        asked = find(store, request, seen)
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


def _reaches_below(store: Store, known: Session | None) -> bool:
    said = None if known is None else standing.halt_of(store, known)
    return said is None or standing.reaches_below(said)


def _below(value: float | None, ceiling: float, most: str) -> float:
    if value is None:
        return ceiling
    if not 0 < value <= ceiling:
        raise DecisionError(f"an override is for more than 0 and at most {most}")
    return value
