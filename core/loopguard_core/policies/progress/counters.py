"""The counters of ``progress``, as the console draws them."""

from __future__ import annotations

from loopguard_core.policies.progress import limits
from loopguard_core.policies.progress.limits import DRY_BLOCK, DRY_WARN
from loopguard_core.verdict import Count, Tier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.policies.progress.limits import Limits
    from loopguard_core.policies.progress.state import Agent, Asked


def repeated(own: Limits, agent: Agent, asked: Asked) -> Count:
    """How often a call gave its latest answer, and when it is stopped if things go on as they do."""
    times = limits.POLL if asked.poll else 1
    repeats, warn = asked.repeats + asked.open, own.warn_at * times
    at = own.stopped_at(asked.repeats // times, agent.stale // times) * times
    tier = Tier.WARN if repeats >= warn and agent.stale >= warn - 1 else Tier.ALLOW
    if own.worn(repeats // times, agent.stale // times):
        tier = Tier.BLOCK
    thresholds = {Tier.WARN: min(warn, at - 1), Tier.BLOCK: at, Tier.HALT: at + own.refusals}
    return Count(
        asked.signature,
        asked.tool,
        repeats,
        detector="repetition" if agent.stale < 2 * repeats - 1 else "cycle",
        thresholds={of: count for of, count in thresholds.items() if count < limits.NEVER},
        tier=tier,
    )


def varied(agent: Agent, tool: str) -> Count:
    """How many calls of *tool* with varying arguments came back empty-handed in a row."""
    each = agent.dry / agent.dry_count if agent.dry_count else limits.SAME
    tier = Tier.ALLOW
    if agent.dry >= DRY_WARN:
        tier = Tier.BLOCK if agent.dry >= DRY_BLOCK else Tier.WARN
    return Count(
        tool,
        tool,
        agent.dry_count,
        detector="variation",
        thresholds={Tier.WARN: round(DRY_WARN / each), Tier.BLOCK: round(DRY_BLOCK / each) + 1},
        tier=tier,
    )
