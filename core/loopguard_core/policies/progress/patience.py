"""What time excuses: waiting for something, and backing off from an outage."""

from __future__ import annotations

from loopguard_core.policies.progress import limits
from loopguard_core.policies.progress.answers import NETWORK, TRANSIENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.identity import Record
    from loopguard_core.policies.base import Call, Outcome
    from loopguard_core.policies.progress.state import Agent, Asked


def waits(call: Call, record: Record, agent: Agent, asked: Asked, before: float) -> bool:
    """True where enough real time has passed that the answer may well have changed.

    *before*: seconds that the call before it waited.
    """
    flags = record["f"]
    if "m" in flags:
        return False
    seconds = float(record.get("w", 0.0))
    if call.gap is not None and call.gap > seconds:
        seconds = call.gap
    seconds += before
    if not seconds >= limits.POLL_WAIT:
        return False  # the least that excuses anything
    if "p" in flags or "z" in flags or "w" in record or before >= limits.POLL_WAIT:
        return True
    if seconds < limits.PACES * agent.pace or (asked.failing and seconds < limits.FAILED_WAIT):
        return False
    if "q" in flags or "p" in record:
        return seconds >= limits.READ_WAIT
    return any(seconds >= least and asked.waits < times for least, times in limits.ASK_WAITS)


def spent(since: float | None, outcome: Outcome) -> float:
    """Seconds that a call took, as far as anybody says."""
    if outcome.duration is not None:
        return max(outcome.duration, 0.0)
    if outcome.ts is not None and since is not None:
        return max(outcome.ts - since, 0.0)
    return 0.0


def outage_limit(kind: str, gap: float | None) -> int:
    """How many transient failures of *kind* are let pass, *gap* seconds after the event before."""
    if kind not in TRANSIENT:
        return limits.OUTAGE_FAST
    if gap is None:
        return limits.OUTAGE_UNKNOWN
    if gap < limits.BACK_OFF:
        return limits.OUTAGE_FAST
    return limits.NETWORK_SLOW if kind == NETWORK else limits.OUTAGE_SLOW
