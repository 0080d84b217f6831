"""A session that begins below one that a human halted with all below it: it begins halted.

Whoever gave the halt could not reach it: no session of that name was known yet.
"""

from __future__ import annotations

from loopguard_core.standing import halt_of, reaches_below
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.session.journal import Journal
    from loopguard_core.store.contract import Store


def inherit(journal: Journal, parent: str) -> None:
    """Halt the session of *journal*, which has just begun, where a halt of *parent* reaches it.

    Best effort: a store may let nobody but people halt, and one that fails is noticed by the first call.
    """
    store = journal.store
    if store is None or journal.failure or journal.away is not None:
        return
    try:
        said = _halt_of(store, parent)
        if said is not None:
            store.append(journal.event("halt", said))
            journal.catch_up()
    except StoreError:
        pass


def _halt_of(store: Store, parent: str) -> dict[str, Any] | None:
    """What the halt says in which *parent* stands, None where it is in none, or in one of its own alone."""
    known = store.session(parent)
    halt = None if known is None or known.ended else halt_of(store, known)
    if known is None or halt is None or not reaches_below(halt):
        return None
    said: dict[str, Any] = {"scope": known.halted}
    return said | {name: halt.data[name] for name in ("by", "note") if name in halt.data}
