"""The requests that an instruction settles: what waited when it was given, and only that."""

from __future__ import annotations

from loopguard_core.inbox import resolve, whoami
from loopguard_core.store.contract import Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.controls import Grant
    from loopguard_core.store.contract import Request, Store


def settle_covered(store: Store, session: str, grant: Grant, by: str) -> list[str]:
    """Resolve what waits and *grant* covers; each takes one call of its budget."""

    def covered(asked: Request) -> bool:
        if not grant.covers(asked.tool, asked.signature, None):
            return False
        if grant.left is not None:
            grant.left -= 1
        return True

    return settle(store, session, grant.seq, covered, "approved", by, "", grant=grant.grant)


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
    **more: str,
) -> list[str]:
    """Resolve what waited when the instruction at *seq* was given, and only that; what it settled.

    An agent that saw the instruction may have gone on and asked again already.
    """
    for asked in store.requests(session=session, pending=True):
        if asked.seq > seq or not covered(asked):
            continue
        try:
            resolve(store, asked, resolution, by, note, **more)
        except Taken:
            pass  # the agent saw the instruction first and settled it itself, or somebody decided otherwise
    how = (resolution, by or whoami(), more.get("grant", ""))
    return [
        event.text("request")
        for event in store.read(session, after=seq, payloads=False)
        if event.type == "request_resolved"
        and (event.text("resolution"), event.text("by"), event.text("grant")) == how
    ]
