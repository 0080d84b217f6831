"""What a process does in the log when it leaves its session. Loaded once a session."""

from __future__ import annotations

from loopguard_core.rebuilding import asked_about, left_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard_core.journal import Journal
    from loopguard_core.stopping import Stops


def leave(journal: Journal, stops: Callable[[], Stops]) -> None:
    """End what waits and what is open, in turn: nobody is to answer any more, and no end of a call to come."""
    journal.over = True
    journal.catch_up()  # a forked child's calls, or another process's
    store = None if journal.failure else journal.store
    for call in asked_about(journal.guard, store, journal.session):
        stops().abandon(call)
    for call in journal.guard.open_calls():
        stops().leave_open(call)
    if journal.rebuilt and store is not None:
        for call in left_open(store, journal.session):
            stops().leave_open(call)
