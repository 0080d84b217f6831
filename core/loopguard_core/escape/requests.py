"""One request: let its call run, refuse it, or let it run with other arguments."""

from __future__ import annotations

import time

from loopguard_core.controls import Grant
from loopguard_core.escape.outcome import AlreadyDecided, Decided, DecisionError
from loopguard_core.escape.settling import settle_covered, settle_same
from loopguard_core.inbox import (
    UNDECIDED,
    absent,
    answered_late,
    late_grant,
    late_refusal,
    late_until,
    resolve,
    sweep_one,
    write,
)
from loopguard_core.plain_json import writer
from loopguard_core.restoring import holds_new_secret, is_marker
from loopguard_core.store.contract import Stale, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Request, Store

#: Raises ``ValueError`` for numbers that JSON lacks (NaN, infinities), and ``TypeError`` for other values.
_as_json = writer(ascii=True, allow_nan=False)
_LATE_WORDS = {"grant": "approved", "revoke": "denied"}
#: seconds in which nobody sees another's answer and gives one
_MOMENT = 0.1
#: late answers that this process gave: the session, and their numbers
_own: set[tuple[str, int]] = set()
#: times that a busy agent may write while a late answer is
_TRIES = 200


def approve(store: Store, request: str, *, by: str = "", note: str = "", seen: str = "") -> Decided:
    """Let the call of *request* run, once. One that ended undecided gets a grant for the next such call."""
    return _decide(store, request, seen, "approved", by, note, _approve_late)


def deny(store: Store, request: str, *, by: str = "", note: str = "", seen: str = "") -> Decided:
    """Refuse the call of *request*, and the same calls that wait beside it; *note* goes to the model.

    After its end: take a late approval back.
    """
    return _decide(store, request, seen, "denied", by, note, _deny_late)


def modify(
    store: Store, request: str, args: object, *, by: str = "", note: str = "", seen: str = ""
) -> Decided:
    """Let the call of *request* run with other arguments; the model is told."""
    try:
        _as_json(args)
    except (TypeError, ValueError, RecursionError) as error:
        raise DecisionError(
            f"the new arguments are no JSON, so they would not reach the agent as they are: {error}"
        ) from None
    if holds_new_secret(args):
        raise DecisionError(
            "the new arguments hold what looks like a secret; the log never stores one, so they "
            "cannot reach the agent (markers of secrets that stood there before may stay)"
        )
    asked = find(store, request, seen)
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


def _decide(
    store: Store,
    request: str,
    seen: str,
    resolution: str,
    by: str,
    note: str,
    late: Callable[[Store, Request, str, str], Decided],
) -> Decided:
    """Resolve *request*, or do what is done *late*: after its wait, also where that ends in this moment."""
    asked = find(store, request, seen)
    if asked.resolution not in UNDECIDED:
        try:
            return _resolve(store, asked, resolution, by, note)
        except AlreadyDecided as won:
            if won.resolution not in UNDECIDED:
                raise
            asked = find(store, request)
    return late(store, asked, by, note)


def _resolve(
    store: Store, asked: Request, resolution: str, by: str, note: str, **more: Any
) -> Decided:
    if asked.resolution:
        raise AlreadyDecided(asked)
    try:
        seq = resolve(store, asked, resolution, by, note, **more)
    except Taken:
        raise _beaten(store, asked) from None
    same = settle_same(store, asked, seq, by, note) if resolution == "denied" else []
    return Decided(resolution, [asked.session], request=asked.request, covered=same)


def _approve_late(store: Store, asked: Request, by: str, note: str) -> Decided:
    now, last = time.time(), store.last(asked.session)
    before = answered_late(store, asked, last)
    if before is not None and before.type == "grant":
        raise _approved_before(asked)
    if before is not None and _unseen(before):
        raise _late_beaten(asked, before)
    until = late_until(asked, now)
    if now >= until:
        raise DecisionError(
            f"{asked.request} was {asked.resolution} too long ago to be approved; "
            "an override lets the agent's next call through"
        )
    data = late_grant(asked, now)
    try:
        seq = _say_late(store, asked, "grant", data, by, note, last)
    except Taken:
        raise _approved_before(asked) from None
    covered = settle_covered(store, asked.session, Grant(seq, data), by)
    return Decided(
        "approved",
        [asked.session],
        request=asked.request,
        grant=str(data["grant"]),
        late=True,
        covered=covered,
        absent=absent(store, [asked.session]),
    )


def _approved_before(asked: Request) -> DecisionError:
    return DecisionError(
        f"{asked.request} was already approved after it was {asked.resolution}; "
        "an override lets more calls through"
    )


def _deny_late(store: Store, asked: Request, by: str, note: str) -> Decided:
    last, data = store.last(asked.session), late_refusal(asked)
    before = answered_late(store, asked, last)
    if before is not None and before.type == "revoke":
        raise DecisionError(f"{asked.request} was already denied after it was {asked.resolution}")
    if before is not None and _unseen(before):
        raise _late_beaten(asked, before)
    _say_late(store, asked, "revoke", data, by, note, last)
    grant = "" if before is None else before.text("grant")
    return Decided("denied", [asked.session], request=asked.request, grant=grant, late=True)


def _say_late(
    store: Store, asked: Request, type: str, data: dict[str, Any], by: str, note: str, seen: int
) -> int:
    """Append an answer that comes late, by what was said up to number *seen*; its number. Raises ``Taken``.

    Where another person's answer came in between, theirs stands, and who is too late is told.
    """
    expect = seen
    for _ in range(_TRIES):
        try:
            seq = write(store, asked.session, type, data, by, note, expect)
            _own.add((asked.session, seq))
            return seq
        except Stale:
            expect = store.last(asked.session)
        said = answered_late(store, asked, expect)
        if said is not None and said.seq > seen:
            raise _late_beaten(asked, said)
    return write(store, asked.session, type, data, by, note)


def _unseen(said: Event) -> bool:
    """True for a late answer that who gives another one cannot have seen yet."""
    known = said.ts is None or (said.session, said.seq) in _own
    return not known and 0 <= time.time() - (said.ts or 0.0) < _MOMENT


def _late_beaten(asked: Request, said: Event) -> DecisionError:
    who = f" by {said.text('by')}" if said.text("by") else ""
    return DecisionError(
        f"{asked.request} was {_LATE_WORDS[said.type]}{who} in this moment, after it was {asked.resolution}; "
        "decide again to change that"
    )


def find(store: Store, name: str, seen: str = "") -> Request:
    """The request called *name*, as it stands. Raises ``DecisionError`` where it is none, or not what was *seen*."""
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
