"""A call's end in a session to which other processes write as well.

Loaded when others first wrote while a call of this process ran. An end is folded before it is written, and only a guard
that is folded anew can take it back, which costs as much as the turn is long: too much for each call. So for a
while the ends are written while nobody else can write.
"""

from __future__ import annotations

from loopguard_core.store.contract import Replaced, Stale, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Store
    from loopguard_core.verdict import Verdict

_TRIES = 20
#: ends in a row before which nobody else wrote, after which a session is its process's alone again
_QUIET = 256


def finish(journal: Journal, store: Store, event: Event) -> Verdict | None:
    """``Journal.finish`` while nobody else writes: what others wrote is folded before the end is."""
    known, left, folded, verdict = journal.guard.seq, journal.crowd - 1, False, None
    try:
        with store.exclusively():
            journal.catch_up()
            journal.crowd = 0
            folded = True
            verdict = journal.finish(event)
            journal.crowd = journal.crowd or (left if journal.guard.seq == known + 1 else _QUIET)
    except Replaced as error:
        journal.begin_anew(store, error, event)
    except StoreError as error:
        if folded:
            store.recover()
            if not journal.failure:
                journal.fail(error)
                journal.lost()
    if folded:
        return verdict
    journal.crowd = 0
    return journal.finish(event)


def finish_again(
    journal: Journal, store: Store, event: Event, verdict: Verdict | None
) -> Verdict | None:
    """Others wrote before an end that is folded in already: fold theirs first, on a copy, until it fits."""
    journal.crowd = _QUIET
    exact = journal.refold()
    for _ in range(_TRIES if exact else 0):
        guard = journal.guard
        journal.guard = guard.copy()
        verdict = journal.fold_end(event)
        try:
            journal.write(store, event, guard.seq)
        except Stale:
            journal.guard = guard
            journal.catch_up()
        else:
            journal.guard.seq = event.seq
            return verdict
    journal.write(store, event)
    journal.refold()
    return verdict
