"""What a person is told who leaves the console while agents wait."""

from __future__ import annotations

from collections.abc import Iterable

from loopguard_core.store.contract import Request

_NAMED = 3


def left_waiting(requests: Iterable[Request]) -> str:
    """One line about what still waits, and how to answer it without the console; empty where nothing does."""
    names = [r.request for r in requests if not r.resolution]
    if not names:
        return ""
    shown = ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    return (
        f"{shown} still {'waits' if len(names) == 1 else 'wait'} for you. While no console is open, an agent waits "
        "for unattended_wait_seconds (0 unless you set it), then the call is refused. "
        "To answer here: loopguard-console pending, then approve or deny."
    )
