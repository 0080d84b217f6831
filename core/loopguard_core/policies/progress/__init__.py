"""``progress``: stop what brings nothing new, leave alone what does (ours; the default policy).

Unit: a step, that is one assistant message of one agent, however many calls it holds. A step is news when
a call went well that was not made before, or when an answer differs in substance from all that the same
call gave. Steps without news are counted until the next news; a call is stopped when it gave the same
answer often enough and enough steps brought nothing. Varying calls that fail alike, find nothing or read
known lines are stopped every second time. Counters start afresh with a turn or a reset. ``docs/policies.md``
has the rules one by one, with the situations that forced them.
"""

from __future__ import annotations

from loopguard_core.policies.progress.fold import Progress

__all__ = ["Progress"]
