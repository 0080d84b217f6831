"""What a session in an agent's process needs at some time, loaded while files can be opened.

A process that has no file descriptor left loads no module either, and then of all times a guard must stop a loop
and live without its store. A hook, which lives for one call, loads each of them when it needs it.
"""

from __future__ import annotations

import re

from loopguard_core import restoring
from loopguard_core.policies import progress
from loopguard_core.redaction import (
    apart,
    known_codes,
    known_commands,
    known_kinds,
    known_words,
    prose,
    tables,
)
from loopguard_core.session import (
    again,
    crowd,
    failing,
    holding,
    inheriting,
    leaving,
    losses,
    owing,
    returning,
    stopping,
)
from loopguard_core.store import bulk, failures, queueing, spool, tails, wake

__all__ = ["again", "apart", "bulk", "crowd", "failing", "failures", "holding", "inheriting", "known_codes", "known_commands", "known_kinds", "known_words", "leaving", "losses", "owing", "progress", "prose", "queueing", "re", "restoring", "returning", "spool", "stopping", "tables", "tails", "wake"]  # fmt: skip
