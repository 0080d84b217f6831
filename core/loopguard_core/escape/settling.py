"""The requests that an instruction settles: what waited when it was given, and only that."""

from __future__ import annotations

from loopguard_core.inbox import resolve, whoami
from loopguard_core.store.contract import Stale, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.controls import Grant
    from loopguard_core.events import Event
    from loopguard_core.store.contract import Request, Store


_TRIES = 20


def settle_covered(store: Store, session: str, grant: Grant, by: str) -> list[str]:
    """Resolve what waits and *grant* covers; each takes one call of its budget, and no more than there are."""
    for asked in store.requests(session=session, pending=True):
        if asked.seq > grant.seq or not grant.covers(asked.tool, asked.signature, None):
            continue
        if not _spend(store, asked, grant, by):
            break
    return _settled(store, session, grant.seq, "approved", by, grant.grant)


def _spend(store: Store, asked: Request, grant: Grant, by: str) -> bool:
    """Resolve *asked* by one call of *grant*; False where none may be left: then it is its agent's to tell."""
    for _ in range(_TRIES):
        since = store.read(asked.session, after=grant.seq, payloads=False)
        if grant.left is not None and sum(_spends(e, grant) for e in since) >= grant.left:
            return False
        last = since[-1].seq if since else grant.seq
        try:
            resolve(store, asked, "approved", by, "", expect=last, grant=grant.grant)
        except Stale:
            continue  # an agent may just have spent it
        except Taken:
            pass
        return True
    return False


def _spends(event: Event, grant: Grant) -> bool:
    """Whether *event* takes a call of *grant*, or may: that of a call that ran since only its guard knows."""
    if event.type == "request_resolved":
        return event.text("grant") == grant.grant
    verdict = event.data.get("verdict") if event.type == "call_start" else None
    if not isinstance(verdict, dict):
        return False
    return grant.covers(event.text("tool"), str(verdict.get("signature") or ""), None)


def settle_same(store: Store, denied: Request, seq: int, by: str, note: str) -> list[str]:
    """Deny what waits for the same call as *denied*, whose denial is the event *seq*."""

    def covered(asked: Request) -> bool:
        return asked.signature == denied.signature

    return (
        settle(store, denied.session, seq, covered, "denied", by, note) if denied.signature else []
    )


def settle(
    store: Store,
    session: str,
    seq: int,
    covered: Callable[[Request], bool],
    resolution: str,
    by: str,
    note: str,
) -> list[str]:
    """Resolve what waited when the instruction at *seq* was given, and only that; what it settled.

    An agent that saw the instruction may have gone on and asked again already.
    """
    for asked in store.requests(session=session, pending=True):
        if asked.seq > seq or not covered(asked):
            continue
        try:
            resolve(store, asked, resolution, by, note)
        except Taken:
            pass  # the agent saw the instruction first and settled it itself, or somebody decided otherwise
    return _settled(store, session, seq, resolution, by)


def _settled(
    store: Store, session: str, seq: int, resolution: str, by: str, grant: str = ""
) -> list[str]:
    """The requests that the instruction at *seq* settled, whoever said so."""
    how = (resolution, by or whoami(), grant)
    return [
        event.text("request")
        for event in store.read(session, after=seq, payloads=False)
        if event.type == "request_resolved"
        and (event.text("resolution"), event.text("by"), event.text("grant")) == how
    ]
