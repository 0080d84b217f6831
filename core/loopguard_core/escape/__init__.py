"""The human's side of a request: decide it, once, and say so in the log.

Console and commands decide through these functions alone. A decision is an event; a unique index over
resolutions makes the log itself the compare-and-set, so of two people who answer one wins and the other is
told who. A decision may carry the digest of what the person saw (``seen``): where that changed, nothing
is done. ``by`` is ``user@host`` unless given. Times are seconds since the epoch.
"""

from loopguard_core.escape.instructions import (
    CEILING_CALLS,
    CEILING_SECONDS,
    SCOPES,
    UNTIL,
    cancel,
    clear_breakpoint,
    halt,
    override,
    reset,
    resume,
    revoke,
    set_breakpoint,
)
from loopguard_core.escape.outcome import AlreadyDecided, Decided, DecisionError
from loopguard_core.escape.requests import approve, deny, modify
from loopguard_core.inbox import sweep, waiting, whoami

__all__ = [
    "CEILING_CALLS",
    "CEILING_SECONDS",
    "SCOPES",
    "UNTIL",
    "AlreadyDecided",
    "Decided",
    "DecisionError",
    "approve",
    "cancel",
    "clear_breakpoint",
    "deny",
    "halt",
    "modify",
    "override",
    "reset",
    "resume",
    "revoke",
    "set_breakpoint",
    "sweep",
    "waiting",
    "whoami",
]
