"""What a person decided, carried out by the one deciding module of core. Called off the screen's thread.

Every method returns one line for the person, or raises ``DecisionError`` or ``StoreError``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopguard_core import escape
from loopguard_core.escape import Decided
from loopguard_core.store.contract import Request, Store


@dataclass(frozen=True)
class Permission:
    """A grant as it is asked for. ``calls`` and ``seconds`` None: up to the ceiling."""

    scope: str = "signature"
    key: str = ""
    calls: int | None = 3
    seconds: float | None = None
    until: str = ""
    note: str = ""


class Decider:
    """Decides in *store*. Decisions on a request carry the digest of what the person saw."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def approve(self, request: Request, note: str = "") -> str:
        """Let the call run once."""
        done = escape.approve(self._store, request.request, note=note, seen=request.seen)
        if done.late:
            return f"{request.request} approved late: the next such call runs"
        return f"{request.request} approved"

    def deny(self, request: Request, note: str = "") -> str:
        """Refuse the call; *note* goes to the model."""
        escape.deny(self._store, request.request, note=note, seen=request.seen)
        return f"{request.request} denied"

    def modify(self, request: Request, args: Any, note: str = "") -> str:
        """Let the call run with other arguments."""
        escape.modify(self._store, request.request, args, note=note, seen=request.seen)
        return f"{request.request} runs with your arguments"

    def override(self, session: str, permission: Permission) -> str:
        """Let more than one call run."""
        done = escape.override(
            self._store,
            session=session,
            scope=permission.scope,
            key=permission.key,
            calls=permission.calls,
            seconds=permission.seconds,
            until=permission.until,
            note=permission.note,
        )
        return f"granted as {done.grant}{_covered(done)}"

    def reset(self, session: str, scope: str, key: str, note: str = "") -> str:
        """Clear counters."""
        done = escape.reset(self._store, session=session, scope=scope, key=key, note=note)
        return f"the count starts afresh{_covered(done)}"

    def halt(self, session: str, scope: str, children: bool, note: str = "") -> str:
        """Stop the turn or the session."""
        done = escape.halt(self._store, session=session, scope=scope, children=children, note=note)
        more = len(done.sessions) - 1
        return f"halted the {scope}" + (f" and {more} below" if more else "") + "; u resumes"

    def resume(self, session: str, note: str = "") -> str:
        """Lift a halt."""
        done = escape.resume(self._store, session, note=note)
        return f"resumed{_covered(done)}"

    def revoke(self, session: str, grant: str) -> str:
        """Take a grant back."""
        escape.revoke(self._store, grant, session=session)
        return f"{grant} revoked"


def _covered(done: Decided) -> str:
    return f"; settles {', '.join(done.covered)}" if done.covered else ""
