"""A guard brought to where its session stands, from what the store has of it."""

from __future__ import annotations

from loopguard_core.events import ASIDE, Event
from loopguard_core.store.contract import WORDS, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.guard import Guard
    from loopguard_core.store.contract import Store, Taken


def rebuild(guard: Guard, store: Store, session: str) -> Event | None:
    """Bring a fresh *guard* to where *session* stands, from stored records, which need no payloads.

    Folds the current turn, and of what came before only what still stands; everything where the policy's
    counters span turns. A grant with a budget needs the turns in which it was spent. Gives the latest
    human instruction that it met. Raises ``StoreError``.
    """
    start = 0 if guard.policy.spans_turns else store.last_turn(session)
    standing = store.standing(session, start) if start else []
    events = store.read(session, after=start, payloads=False)
    budgets = _counting_down(standing, events)
    if budgets:
        start = store.last_turn(session, before=min(budgets))
        standing = [e for e in standing if e.seq <= start]
        events = store.read(session, after=start, payloads=False)
    word = None
    for part in (standing, readable(guard, store, session, start, events)):
        for event in part:
            guard.apply(event)
            if event.type in WORDS:
                word = event
    return word


def readable(
    guard: Guard, store: Store, session: str, after: int, events: list[Event]
) -> Iterable[Event]:
    """*events*, those of *session* behind *after* without payloads, as *guard* can fold them.

    With payloads where calls among them were recorded for another policy, as before its configuration was changed or by
    another process: without these, all would look alike to it. Raises ``StoreError``.
    """
    if any(event.type == "call_start" and guard.needs_payload(event) for event in events):
        return store.read_all(session, after=after)
    return events


def later(guard: Guard, store: Store, session: str) -> Iterable[Event]:
    """The events of *session* that *guard* has not folded, as it can fold them. Raises ``StoreError``."""
    events = store.read(session, after=guard.seq, payloads=False)
    return readable(guard, store, session, guard.seq, events)


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
    if not latest or latest[0].type in ASIDE or latest[0].ts is None:
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


def _counting_down(standing: list[Event], turn: list[Event]) -> list[int]:
    """The numbers of grants that may have let calls of this *turn* run, as far as they were not spent before it.

    Also of those that have expired since: what they let run must not count, and what they did not must.
    """
    grants = [event for event in standing if event.type == "grant"]
    if not grants:
        return []
    since = min((0.0 if event.ts is None else event.ts for event in turn), default=0.0)
    return [event.seq for event in grants if _counts_down(event, since)]


def _counts_down(event: Event, since: float) -> bool:
    data = event.data
    if data.get("until") == "turn":
        return False
    expires = data.get("expires")
    if expires is not None and expires <= since:
        return False
    return data.get("budget") is not None or data.get("until") == "result"
