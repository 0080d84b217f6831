"""Whether an agent still runs, as far as the store and the system tell."""

from __future__ import annotations

from loopguard_core.processes import alive
from loopguard_core.store.contract import Session

#: seconds without an event after which a living agent is called quiet
QUIET = 60.0


def liveness(session: Session, now: float, host: str) -> str:
    """``live``, ``quiet``, ``lost`` or ``ended``: from a session's last event and its process.

    A process on another host cannot be looked at, so there only time tells; a long call is not lost
    while its process lives.
    """
    if session.ended:
        return "ended"
    if session.pid and session.host in ("", host) and not alive(session.pid, session.pid_started):
        return "lost"
    if session.last_ts is None or now - session.last_ts > QUIET:
        return "quiet"
    return "live"
