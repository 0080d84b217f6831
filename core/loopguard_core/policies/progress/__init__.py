"""The policy ``progress``. See ``fold``.

``scheme`` says what is taken from a call, with ``records``, ``kinds``, ``arguments``, ``commands``,
``answers``, ``volatile`` and ``memory`` under it. ``fold`` decides on those records, with ``news``, ``patience``, ``limits`` and ``state``.
``reasons`` has the sentences, ``counters`` the numbers that the console draws.
"""

from __future__ import annotations

from loopguard_core.policies.progress.fold import Progress

__all__ = ["Progress"]
