"""A guard brought to where its session stands, from what the store has of it."""

from __future__ import annotations

from loopguard_core.events import Event
from loopguard_core.store.contract import WORDS, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.guard import Guard
    from loopguard_core.store.contract import Store, Taken


def rebuild(guard: Guard, store: Store, session: str, now: float) -> Event | None:
    """Bring a fresh *guard* to where *session* stands, from stored records and not from payloads.

    Folds the current turn, and of what came before only what still stands; everything where the policy's
    counters span turns. A grant with a budget needs the turns in which it was spent. Gives the latest
    human instruction that it met. Raises ``StoreError``.
    """
    start = 0 if guard.policy.spans_turns else store.last_turn(session)
    standing = store.standing(session, start) if start else []
    budgets = [e.seq for e in standing if _counts_down(e, now)]
    if budgets:
        start = store.last_turn(session, before=min(budgets))
        standing = [e for e in standing if e.seq <= start]
    word = None
    for event in (*standing, *store.read(session, after=start, payloads=False)):
        guard.apply(event)
        if event.type in WORDS:
            word = event
    return word


def stands(guard: Guard, taken: Taken, store: Store, session: str) -> bool:
    """True where *guard* stands as the log does, though it just folded an end that was *taken*: it knew the first.

    So the second moved nothing but its clock, which is set to that of the latest event again.
    """
    if not 0 < taken.seq <= guard.seq:
        return False
    try:
        latest = store.read(session, after=guard.seq - 1, limit=1, payloads=False)
    except StoreError:
        return False
    if not latest or latest[0].type == "usage" or latest[0].ts is None:
        return False
    guard.apply(Event("", session, ts=latest[0].ts))
    return True


def left_open(store: Store, session: str) -> list[str]:
    """Calls of *session* that nobody ended, also those that a rebuilt guard does not know; none where *store* fails."""
    try:
        return [start.text("call") for start in store.unended(session)]
    except StoreError:
        return []


def asked_about(guard: Guard, store: Store | None, session: str) -> list[str]:
    """Calls of *session* about which a human is asked, also in earlier turns, of which *guard* does not know."""
    calls = [call for _, call in guard.asked()]
    try:
        asked = [] if store is None else store.requests(session=session, pending=True)
    except StoreError:
        asked = []
    return [*calls, *(request.call for request in asked if request.call not in calls)]


def _counts_down(event: Event, now: float) -> bool:
    data = event.data
    if event.type != "grant" or data.get("until") == "turn":
        return False
    expires = data.get("expires")
    if expires is not None and expires <= now:
        return False
    return data.get("budget") is not None or data.get("until") == "result"
