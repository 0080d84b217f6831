"""What a decision did, and why one was not made."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard_core.store.contract import Request, Session


#: what a human can still do about a request that ended so
_NOW = {
    "approved": "; an override lets more calls through",
    "modified": "; an override lets more calls through",
    "denied": "; an override lets the same call run all the same",
    "halted": "; resume lets the agent go on",
}


class DecisionError(Exception):
    """A decision that was not made: why, and what to do. Nothing was written."""


class AlreadyDecided(DecisionError):
    """Somebody was faster, or the request ended. ``resolution`` and ``by`` say how and who."""

    def __init__(self, request: Request) -> None:
        self.request = request.request
        self.resolution = request.resolution
        self.by = request.by
        by = f" by {request.by}" if request.by else ""
        at = ""
        if request.resolved_ts is not None:
            at = time.strftime(" at %H:%M:%S", time.localtime(request.resolved_ts))
        now = _NOW.get(request.resolution, "")
        super().__init__(f"{request.request} is already {request.resolution}{by}{at}{now}")


class Decided:
    """What a decision did. ``late``: its request had ended undecided, so it holds for the next call.

    ``covered``: other waiting requests that it settled. ``sessions``: those that it was written to.
    ``absent``: of those, the ones that no process runs now; it holds when one goes on. ``already``: sessions
    in which it held before, so that nothing was written, as they stand.
    """

    __slots__ = (
        "absent",
        "already",
        "breakpoint",
        "covered",
        "grant",
        "late",
        "request",
        "resolution",
        "sessions",
    )

    def __init__(
        self,
        resolution: str,
        sessions: Iterable[str],
        *,
        request: str = "",
        grant: str = "",
        breakpoint: str = "",
        late: bool = False,
        covered: Iterable[str] = (),
        absent: Iterable[str] = (),
        already: Iterable[Session] = (),
    ) -> None:
        self.already = list(already)
        self.absent = list(absent)
        self.resolution = resolution
        self.sessions = list(sessions)
        self.request = request
        self.grant = grant
        self.breakpoint = breakpoint
        self.late = late
        self.covered = list(covered)

    def __repr__(self) -> str:
        return f"Decided({self.resolution!r}, {self.sessions!r}, request={self.request!r})"
