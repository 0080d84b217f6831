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
    """How often a call gave its latest answer, and at which call it is stopped if things go on as they do.

    News that other calls bring begin the steps afresh, but not the answers: then the tiers lie further off.
    """
    times = limits.POLL if asked.poll else 1
    repeats, steps = asked.repeats + asked.open, agent.stale + asked.open
    warn, halts = own.warn_at * times, agent.refusals >= own.refusals
    left = max(0, own.refusals - agent.refusals)
    warns = min(warn, repeats)
    if own.worn(repeats // times, steps // times):
        tier = Tier.HALT if halts else Tier.BLOCK
        stops = min(own.block_at * times, repeats - asked.refused + 1)
        ends = min(stops + own.refusals, repeats + 1) if halts else repeats + 1 + left
    else:
        tier = Tier.ALLOW
        stops = own.stopped_at(repeats, steps, times)
        ends = stops + left
        warns = limits.reached(repeats, steps, warn, warn - 1)
        if warns <= repeats:
            tier, warns = Tier.WARN, warn
    thresholds = {Tier.WARN: min(warns, stops - 1), Tier.BLOCK: stops, Tier.HALT: ends}
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
    dry, count = (agent.dry, agent.dry_count) if agent.dry else (limits.SAME, 1)
    tier = Tier.ALLOW
    if agent.dry >= DRY_WARN:
        tier = Tier.BLOCK if agent.dry >= DRY_BLOCK else Tier.WARN
    return Count(
        tool,
        tool,
        agent.dry_count,
        detector="variation",
        thresholds={
            Tier.WARN: -(-DRY_WARN * count // dry),
            Tier.BLOCK: -(-DRY_BLOCK * count // dry) + 1,
        },
        tier=tier,
    )
