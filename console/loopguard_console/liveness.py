"""Whether an agent still runs, as far as the store and the system tell."""

from __future__ import annotations

from loopguard_core.processes import alive
from loopguard_core.store.contract import Session

#: seconds without an event after which a living agent is called quiet
QUIET = 60.0
#: seconds without an event after which a session of no known process is over: a transcript that was
#: imported or watched has no process that could be looked at, and most never say that they ended
SILENT = 3600.0
#: seconds without an event after which a session of another host is lost, where nothing waits in it: retention
#: forgets it from then on, too
UNHEARD = 86_400.0


def liveness(session: Session, now: float, host: str) -> str:
    """``live``, ``quiet``, ``lost`` or ``ended``: from when its agent was active last, and its process.

    A process on another host cannot be looked at, so there only time tells: it is lost after a day of silence. A
    long call is not lost while its process lives. One that names no process, as a transcript's, is over after
    an hour of silence.
    """
    if session.ended:
        return "ended"
    if gone(session, host):
        return "lost"
    silent = float("inf") if session.last_ts is None else now - session.last_ts
    if not session.waiting:
        if silent > SILENT and not session.pid:
            return "ended"
        if silent > UNHEARD and session.host not in ("", host):
            return "lost"
    if silent > QUIET:
        return "quiet"
    return "live"


def gone(session: Session, host: str) -> bool:
    """True where a session that did not end has no process any more, as *host*, where it ran, can tell for sure."""
    if session.ended or not session.pid or session.host not in ("", host):
        return False
    return not alive(session.pid, session.pid_started)
