"""The requests that an instruction settles: what waited when it was given, and only that."""

from __future__ import annotations

from loopguard_core.inbox import resolve
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
    """Resolve what waited when the instruction at *seq* was given, and only that.

    An agent that saw the instruction may have gone on and asked again already.
    """
    settled = []
    for asked in store.requests(session=session, pending=True):
        if asked.seq > seq or not covered(asked):
            continue
        try:
            resolve(store, asked, resolution, by, note, **more)
        except Taken:
            continue  # the agent saw the instruction first and settled it itself
        settled.append(asked.request)
    return settled
