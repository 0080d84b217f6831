"""Folding a log that somebody else may have written: what cannot be understood is passed over.

Whoever may append to a store can write any row, also one that no program of ours makes. It must keep nobody
from reading the rest. An agent's own log is folded by ``Guard.apply``, which raises.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.events import Event
    from loopguard_core.guard import Guard
    from loopguard_core.verdict import Verdict

#: What a field of another sort than it should be brings about.
ODD = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)


def fold(guard: Guard, event: Event) -> Verdict | None:
    """Fold *event* into *guard* as ``Guard.apply`` does, or pass it over."""
    try:
        return guard.apply(event)
    except ODD:
        guard.seq = event.seq or guard.seq
        return None
