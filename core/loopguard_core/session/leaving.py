"""What a process does in the log when it leaves its session. Loaded once a session."""

from __future__ import annotations

from loopguard_core.foreign import told
from loopguard_core.interrupts import pass_on
from loopguard_core.serving import HOOKS, LEFT, PROCESS, living
from loopguard_core.session.owing import leave_behind
from loopguard_core.session.rebuilding import asked_about, left_open
from loopguard_core.store.contract import Stale, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.session.journal import Journal
    from loopguard_core.session.stopping import Stops
    from loopguard_core.store.contract import Store

#: times that others may write while the session ends
_TRIES = 20


def leave(journal: Journal, stops: Callable[[], Stops], reason: str, *, beside: bool) -> None:
    """End the session, in turn: with what waits in it and what is open, as nobody is to tell any more.

    Where another living process serves it too, or *beside* this one another guard of the same process, it goes on
    there, and only what this one began ends. The log then says whose it is now.
    """
    if journal.over and _has_ended(journal):
        return  # an interrupt came right after it was written
    journal.over = True
    for tries in range(_TRIES):
        try:
            if _left(journal, stops, beside=beside):
                break
        except Exception as error:  # noqa: BLE001 - the agent must not fall over its guard
            pass_on(error)
            journal.say(f"internal error while the session ended: {told(error)}")
        end = journal.event("session_end", {"reason": reason})
        journal.add(end, once=tries < _TRIES - 1)
        if end.seq or journal.failure:
            break
    leave_behind(journal)


def _has_ended(journal: Journal) -> bool:
    try:
        known = None if journal.store is None else journal.store.session(journal.session)
    except StoreError:
        return False
    return known is not None and known.ended


def _left(journal: Journal, stops: Callable[[], Stops], *, beside: bool) -> bool:
    """End what is to end; True where the session goes on."""
    journal.catch_up()  # a forked child's calls, or another process's
    store = None if journal.failure else journal.store
    if beside:
        _end_own(journal, store, stops)
        return True
    if store is not None and journal.away is None and _goes_on(journal, store, stops):
        return True
    _end_all(journal, store, stops)
    return False


def _goes_on(journal: Journal, store: Store, stops: Callable[[], Stops]) -> bool:
    """Leave the session to another process, if one serves it."""
    own = journal.opening()
    if own.get("served") == HOOKS:  # it goes on with the next hook of any of them
        return False
    if not living(store, journal.session, own):
        return False
    _end_own(journal, store, stops)  # it writes, and so may hear that another one has left
    while True:
        seen = journal.guard.seq
        others = living(store, journal.session, own)
        if not others:
            return False
        left = {name: own[name] for name in PROCESS if name in own}
        kept = {name: value for name, value in others[-1].data.items() if name != "left"}
        start = {**kept, "resumed": True, "reason": LEFT, "left": left}
        try:
            store.append(journal.event("session_start", start), expect=seen)
        except Stale:
            journal.catch_up()
        else:
            return True


def _end_own(journal: Journal, store: Store | None, stops: Callable[[], Stops]) -> None:
    """End what this guard began."""
    own = journal.guard.open_calls(ours=True)
    for call in asked_about(journal.guard, store, journal.session):
        if call in own:
            stops().abandon(call)
    for call in journal.guard.open_calls(ours=True):
        stops().leave_open(call)


def _end_all(journal: Journal, store: Store | None, stops: Callable[[], Stops]) -> None:
    for call in asked_about(journal.guard, store, journal.session):
        stops().abandon(call)
    for call in journal.guard.open_calls():
        stops().leave_open(call)
    if journal.rebuilt and store is not None:
        for call in left_open(store, journal.session):
            stops().leave_open(call)
