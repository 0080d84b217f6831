"""What an agent owes the log, once a store that failed is back: how the calls ended that waited meanwhile.

Such an end is no loss: it is known, and the inbox shows as waiting what nobody waits for any more. What else
could not be written is counted.
"""

from __future__ import annotations

import os
import time

from loopguard_core.events import Event
from loopguard_core.inbox import late_grant
from loopguard_core.serving import HOOKS
from loopguard_core.session import missing
from loopguard_core.store.contract import Denied, Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Store


def owe(journal: Journal, event: Event) -> None:
    """Keep *event*, about a request that is in the log, where it could not be written."""
    if journal.failure and not event.seq:
        journal.owed.append(event)


def owes(journal: Journal, call: str) -> bool:
    """True where something about *call* is owed."""
    return any(event.text("call") == call for event in journal.owed)


def settle(journal: Journal, store: Store) -> Event | None:
    """Write what is owed, then the ``gap`` for all else that is missing; the gap, None where nothing is.

    Where a human answered first, theirs stands; an approval that nobody took holds for the next such call.
    Raises ``StoreError``, and then goes on there the next time.
    """
    guard = journal.guard
    while journal.owed:
        event = journal.owed[0]
        try:
            event.seq = store.append(event)
        except Taken:
            if event.text("resolution") == "expired":
                _approve_late(store, event)
        if event.seq == guard.seq + 1:
            guard.seq = event.seq  # it has been folded when it happened
        del journal.owed[0]
        journal.dropped -= 1
    if not journal.dropped:
        return None
    gap = journal.event("gap", {"count": journal.dropped, "reason": journal.failure})
    gap.seq = store.append(gap)
    return gap


def leave_behind(journal: Journal) -> None:
    """The session ends in this process while the store fails: what is missing is counted for the next one, and said."""
    count = journal.dropped
    if not (journal.failure and count) or _counts_for_itself(journal):
        return
    events = f"{count} event{'s' * (count > 1)} of {journal.session}"
    journal.say(f"{events} could not be recorded before it ended here")
    missing.count(journal.session, journal.failure, os.environ, count)
    journal.dropped = 0  # an end that was interrupted comes again


def own_up(journal: Journal) -> None:
    """Say in the log what earlier processes of the session had to leave behind."""
    if _counts_for_itself(journal):
        return
    count, why = missing.claim(journal.session, os.environ)
    if count:
        journal.add(journal.event("gap", {"count": count, "reason": why}))
        if journal.failure:
            missing.count(journal.session, why, os.environ, count)


def _counts_for_itself(journal: Journal) -> bool:
    """A hook does, event by event."""
    return journal.opening().get("served") == HOOKS


def _approve_late(store: Store, expired: Event) -> None:
    """A human approved what the agent had given up by then: as any late approval, it is a grant for one call."""
    asked = store.request(expired.text("request"))
    if asked is None or asked.resolution != "approved":
        return
    answered = asked.resolved_ts or time.time()
    if answered >= expired.data.get("late_until", answered):
        return
    said = {**late_grant(asked, answered), "by": asked.by}
    if asked.note:
        said["note"] = asked.note
    try:
        store.append(Event("grant", asked.session, ts=time.time(), data=said))
    except (Taken, Denied):
        pass  # it has been written; or only people may, and then they are asked again
