"""``progress``: stop what brings nothing new, leave alone what does (ours, version 1; the default policy).

Unit: a step, that is one assistant message of one agent, however many calls it holds. A step is news when
a call went well that was not made before, or when an answer differs in substance from all that the same
call gave. Steps without news are counted until the next news. A call is stopped when it gave the same answer
often enough and enough steps brought nothing; varying calls that fail alike, find nothing or read known
lines are stopped every second time. Real time, outages and bookkeeping excuse. A turn or a reset starts afresh.
Options (calls; 0 switches a tier off): ``warn_at`` 3, ``block_at`` 6, ``halt_at`` 16 for identical calls in a
row (cycles follow ``block_at``), ``tools.NAME.warn_at`` (``block_at``, ``halt_at``), ``match``. The rules one by
one, with the situations that forced them, stand in ``docs/policies.md``.
"""

from __future__ import annotations

from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.keys import Matchers
from loopguard_core.policies.progress import limits, news, reasons
from loopguard_core.policies.progress.answers import DENIED, TIMEOUT, TRANSIENT, UNKNOWN_TOOL
from loopguard_core.policies.progress.limits import DRY_BLOCK, DRY_WARN, Limits
from loopguard_core.policies.progress.news import CLEAR, CLOCK, DRY, NEWS, OUTAGE, REPEAT, WAITED
from loopguard_core.policies.progress.patience import outage_limit, spent, waits
from loopguard_core.policies.progress.reasons import traits
from loopguard_core.policies.progress.scheme import ProgressScheme
from loopguard_core.policies.progress.state import Agent, Asked
from loopguard_core.verdict import ALLOW, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.verdict import Count

_AGAIN = (REPEAT, CLOCK)
_NOTHING: Record = {}
_DEFAULTS = (limits.WARN_AT, limits.BLOCK_AT, limits.HALT_AT)


class Progress(Policy):
    """Steps without news. See the module."""

    name = "progress"

    def __init__(self, options: Options) -> None:
        self.limits = Limits.take(options, _DEFAULTS)
        self._per_tool = options.take_tools(lambda own: Limits.take(own, self.limits.options))
        self.records = ProgressScheme(Matchers.take(options))
        super().__init__(self.records)
        self._name = self.records.name
        self._agents: dict[str, Agent] = {}
        #: Calls in flight: their signatures, and the seconds that the call before each waited.
        self._started: dict[str, tuple[str, float]] = {}

    # -- the contract ----------------------------------------------------------------------------

    def signature(self, call: Call) -> str:
        return f"{call.tool}:{call.records[self._name]['s']}"

    def peek(self, call: Call) -> Verdict:
        record = call.records[self._name]
        signature = f"{call.tool}:{record['s']}"
        agent = self._agents.get(call.agent)
        count, found = 1, None
        if agent is not None:
            asked = agent.asked.get(signature)
            if asked is not None:
                if asked.message == call.message and asked.idle >= limits.BURST_WARN:
                    found = self._burst(call, record, asked)
                count = asked.answers.get(asked.last, 0) + asked.refused + asked.open + 1
                if count > 2 or asked.outages:
                    found = _stronger(found, self._again(call, record, agent, asked))
            if agent.dry_tools and _parched(agent):
                found = _stronger(found, self._varying(call, record, signature, agent, asked))
            if found is not None:
                return found
        own = self._limits(call.tool) if self._per_tool else self.limits
        return Verdict(ALLOW, "progress", signature, count, own.block_at, traits(record))

    def start(self, call: Call) -> None:
        record = call.records[self._name]
        agent, asked = self._place(call, record)
        asked.open += 1
        if asked.last or asked.open > 1:
            agent.repeated[asked.signature] = None
            self.records.expect(asked.signature)
        if agent.dry_tools and _parched(agent) and _suspect(call.tool, record, agent, asked):
            agent.message_probe = True
            agent.probe = False
        signature, noted = asked.signature, "b" in record["f"]
        self._started[call.call] = (signature, agent.last_wait)
        agent.before, agent.last = agent.last, (signature, noted)
        if not noted:
            agent.last_wait = record.get("w", 0.0)

    def refuse(self, call: Call) -> None:
        record = call.records[self._name]
        agent, asked = self._place(call, record)
        if _parched(agent) and not self._worn(agent, asked):
            if agent.message_probe is None:
                agent.message_probe = False
            agent.probe = True
        self._attempted(agent, asked, call.message)

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        try:
            signature, waited = self._started.pop(call.call)
            agent = self._agents[call.agent]
            asked = agent.asked[signature]
        except KeyError:
            return None  # it did not start, or a reset has forgotten it
        asked.open -= 1
        kind, message, request = outcome.kind, call.message, call.records[self._name]
        flags: str = request["f"]
        record = outcome.records.get(self._name, _NOTHING)
        if kind == "ok":
            judged = news.answered(agent, asked, flags, request, record)
        elif kind == "blocked":
            self._attempted(agent, asked, message)
            return None
        elif kind in ("cancelled", "pending"):
            return Verdict(ALLOW, self.name, signature)
        elif kind == "denied":
            judged = news.denied(agent, asked)
        else:
            judged = news.failed(agent, asked, record)
        if "p" in flags or "z" in flags:
            agent.last_wait = max(agent.last_wait, spent(call.ts, outcome))
        if (
            judged in _AGAIN
            and asked.failing != DENIED
            and waits(call, request, agent, asked, waited)
        ):
            judged = WAITED
        if asked.counted != message and judged != WAITED:
            asked.counted = message
            answers, last = asked.answers, asked.last
            answers[last] = answers[last] + 1 if last in answers else 1
        if judged == NEWS:
            if agent.message == message:
                agent.settled = True
            if asked.message == message:
                asked.idle -= 1
            # what was counted since the last news begins afresh
            asked.refused = agent.clock = 0
            if agent.stale or agent.dry_tools:
                agent.refresh()
            if not asked.failing:
                agent.outage = 0
                if agent.covered and "r" not in flags:
                    agent.covered.clear()
        elif judged != CLEAR:
            self._book(flags, agent, asked, message, judged)
            return self._after(request, agent, asked, judged)
        return Verdict(ALLOW, "progress", signature, 1, 0, traits(request))

    def turn(self, reason: str) -> None:
        self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        if not tool and not signature:
            self._agents.clear()
            self._started.clear()
            return
        for agent in self._agents.values():
            hit = [s for s, a in agent.asked.items() if signature == s or tool == a.tool]
            for key in hit:
                del agent.asked[key]
                agent.repeated.pop(key, None)
            if hit or (tool and tool in agent.dry_tools):
                agent.refresh()
                agent.outage = 0

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        return {self.name: dict(zip(limits.NAMES, self._limits(tool).options, strict=True))}

    def counts(self) -> list[Count]:
        from loopguard_core.policies.progress.counters import repeated, varied  # not for an agent

        found = []
        for agent in self._agents.values():
            for signature in agent.repeated:
                asked = agent.asked.get(signature)
                if asked is not None and asked.repeats + asked.open > 1:
                    found.append(repeated(self._limits(asked.tool), agent, asked))
            if agent.dry_count > 1:
                found += [varied(agent, tool) for tool in sorted(agent.dry_tools)]
        return found

    def weight(self) -> int:
        return sum(len(agent.asked) for agent in self._agents.values())

    def copy(self) -> Progress:
        from copy import copy  # an agent never copies

        twin = copy(self)
        twin._agents = {key: copy(agent) for key, agent in self._agents.items()}
        twin._started = dict(self._started)
        return twin

    # -- before a call ---------------------------------------------------------------------------

    def _limits(self, tool: str) -> Limits:
        return self._per_tool.get(tool, self.limits) if self._per_tool else self.limits

    def _burst(self, call: Call, record: Record, asked: Asked) -> Verdict:
        """Identical calls inside one message: the model has not seen the answer to the first."""
        stops = asked.idle >= limits.BURST_BLOCK
        return self._verdict(
            Tier.BLOCK if stops else Tier.WARN,
            record,
            "burst",
            asked.signature,
            asked.idle + 1,
            (limits.BURST_BLOCK if stops else limits.BURST_WARN) + 1,
            reasons.burst(call.tool, asked.idle + 1, stopped=stops),
        )

    def _worn(self, agent: Agent, asked: Asked) -> bool:
        """True where the same call has given the same answer too often to be asked again."""
        repeats, steps = asked.repeats + asked.open, agent.stale + asked.open
        if asked.poll:
            repeats, steps = repeats // limits.POLL, steps // limits.POLL
        return self._limits(asked.tool).worn(repeats, steps)

    def _again(self, call: Call, record: Record, agent: Agent, asked: Asked) -> Verdict | None:
        if asked.outages and (asked.failing in TRANSIENT or asked.failing == TIMEOUT):
            return self._outage(call, record, asked)
        if not self._worn(agent, asked) or waits(call, record, agent, asked, agent.last_wait):
            return None
        repeats, own = asked.repeats + asked.open, self._limits(call.tool)
        halts = agent.refusals >= own.refusals
        at = min(own.block_at, repeats - asked.refused + 1)
        return self._verdict(
            Tier.HALT if halts else Tier.BLOCK,
            record,
            "repetition" if agent.stale < 2 * repeats - 1 else "cycle",
            asked.signature,
            repeats + 1,
            min(at + own.refusals, repeats + 1) if halts else at,
            reasons.again(call.tool, agent, asked, halts=halts),
            asked.how,
        )

    def _outage(self, call: Call, record: Record, asked: Asked) -> Verdict | None:
        count, limit = asked.outages + asked.open, outage_limit(asked.failing, call.gap)
        if count < limit or asked.refused:
            return None
        return self._verdict(
            Tier.BLOCK,
            record,
            "outage",
            asked.signature,
            count + 1,
            limit + 1,
            reasons.outage(call.tool, asked.failing, count, stopped=True),
        )

    def _varying(
        self, call: Call, record: Record, signature: str, agent: Agent, asked: Asked | None
    ) -> Verdict | None:
        """Ever other arguments that come back empty-handed: every second attempt is stopped."""
        if not _suspect(call.tool, record, agent, asked):
            return None
        probe = agent.message_probe if agent.message == call.message else None
        if agent.probe if probe is None else probe:
            return None
        if agent.dry >= DRY_BLOCK:
            halts = agent.refusals >= 2 * self.limits.refusals
            return self._verdict(
                Tier.HALT if halts else Tier.BLOCK,
                record,
                "variation",
                signature,
                agent.dry_count + 1,
                agent.dry_count - (agent.dry - DRY_BLOCK) // limits.SAME + 1,
                reasons.varying(call.tool, agent, halts=halts),
            )
        limit = outage_limit(agent.dry_class, call.gap)
        if agent.outage < limit:
            return None
        return self._verdict(
            Tier.BLOCK,
            record,
            "outage",
            signature,
            agent.outage + 1,
            limit + 1,
            reasons.outage(call.tool, agent.dry_class, agent.outage, stopped=True),
        )

    # -- bookkeeping -----------------------------------------------------------------------------

    def _place(self, call: Call, record: Record) -> tuple[Agent, Asked]:
        """Whose call it is and which, once more in its message."""
        agent = self._agents.get(call.agent)
        if agent is None:
            agent = self._agents[call.agent] = Agent()
        signature = f"{call.tool}:{record['s']}"
        asked, message = agent.asked.get(signature), call.message
        if asked is None:
            poll, gap = "p" in record["f"], call.gap
            asked = agent.asked[signature] = Asked(signature, call.tool, message, poll)
            if gap is not None and gap >= 0.0 and not poll:
                count, total = agent.gaps
                agent.gaps = (count + 1, total + gap)
        elif asked.message == message:
            asked.idle += 1
        else:
            asked.message, asked.idle = message, 1
        if agent.message != message:  # a new step
            agent.message = message
            agent.settled = False
            agent.message_probe = None
        return agent, asked

    def _attempted(self, agent: Agent, asked: Asked, message: str) -> None:
        """A call that was requested and did not run: one more repeat, once a message."""
        agent.repeated[asked.signature] = None
        if asked.counted != message:
            asked.counted = message
            asked.refused += 1
        if agent.spend(message):
            agent.refusals += 1

    def _book(self, flags: str, agent: Agent, asked: Asked, message: str, judged: int) -> None:
        if judged == WAITED:
            asked.waits += 1
        elif judged == OUTAGE:
            agent.outage += 1
            agent.dry_class = asked.failing
            agent.dry_tools.add(asked.tool)
        elif judged == CLOCK:
            agent.clock += 1
        else:
            if "b" in flags and not (asked.failing or agent.before[1]):
                return
            counted = agent.spend(message)
            if asked.failing:
                agent.dry_class = asked.failing
                agent.dry_tools.add(asked.tool)
                if counted:
                    agent.dry += asked.worth
                    agent.dry_count += 1

    # -- after a call ----------------------------------------------------------------------------

    def _after(self, request: Record, agent: Agent, asked: Asked, judged: int) -> Verdict:
        """Warnings speak of what happened, so they come with the result."""
        tool, poll, repeats = asked.tool, asked.poll, asked.repeats
        at = self._limits(tool).warn_at * (limits.POLL if poll else 1)
        words, count, reason = "", 0, ""
        if judged == REPEAT and repeats >= at and agent.stale >= at - 1:
            words = "repetition" if agent.stale < 2 * repeats - 1 else "cycle"
            count, reason = repeats, reasons.warned(tool, agent, asked)
        elif judged in (REPEAT, DRY):
            if asked.failing and agent.dry >= DRY_WARN:
                words, count, reason = "variation", agent.dry_count, reasons.varying(tool, agent)
                at = agent.dry_count - (agent.dry - DRY_WARN) // limits.SAME
        elif judged == OUTAGE:
            count, at = max(asked.outages, agent.outage), limits.OUTAGE_WARN
            if count >= at:
                words, reason = "outage", reasons.outage(tool, asked.failing, count)
        elif judged == CLOCK:
            count = max(asked.clocks.values()) if asked.clocks else 0
            at = limits.CLOCK_WARN_POLL if poll else limits.CLOCK_WARN
            if count >= at and agent.clock >= at - 1:
                words, reason = "clock", reasons.clock(tool, count)
        elif judged == WAITED and asked.waits >= limits.WAITS_WARN:
            words, count, at = "waiting", asked.waits, limits.WAITS_WARN
            reason = reasons.waiting(tool, asked.waits)
        if words:
            return self._verdict(
                Tier.WARN, request, words, asked.signature, count, at, reason, asked.how
            )
        grounds = traits(request, asked.how)
        return Verdict(ALLOW, "progress", asked.signature, repeats, at, grounds)

    def _verdict(
        self,
        tier: Tier,
        record: Record,
        detector: str,
        signature: str,
        count: int,
        threshold: int,
        reason: str,
        how: str = "",
    ) -> Verdict:
        grounds = traits(record, how)
        return Verdict(tier, "progress", signature, count, threshold, grounds, detector, reason)


def _stronger(found: Verdict | None, other: Verdict | None) -> Verdict | None:
    """The verdict of the higher tier, the first of equals: one detector's warning hides no other's stop."""
    if found is None or (other is not None and other.tier > found.tier):
        return other
    return found


def _parched(agent: Agent) -> bool:
    """True where varying calls have come back empty-handed so often that they are slowed down."""
    return agent.dry >= DRY_BLOCK or agent.outage >= limits.OUTAGE_FAST


def _suspect(tool: str, record: Record, agent: Agent, asked: Asked | None) -> bool:
    """True where a call belongs to the dry run: its tool took part and it is not known to work."""
    if "b" in record["f"] or "z" in record["f"]:
        return False
    if tool not in agent.dry_tools and not (
        agent.dry_class == UNKNOWN_TOOL and tool not in agent.worked
    ):
        return False
    return asked is None or not asked.last or asked.failing != ""
