"""The fold of ``progress``: news, steps without news, and what follows from them."""

from __future__ import annotations

from copy import copy

from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.progress import answers, reasons
from loopguard_core.policies.progress.scheme import ProgressScheme
from loopguard_core.policies.progress.state import Agent, Asked, Started, Step, covers, joined
from loopguard_core.verdict import Count, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options

#: (answers of the call so far, steps without news): any pair reached blocks the next identical call.
BLOCKS = ((5, 4), (3, 5), (2, 8))
WARN = 3
#: The same for a tool that is asked again on purpose, where no time between its calls is known.
POLL_BLOCK, POLL_WARN = 11, 6
#: Identical calls in one message, beyond the first.
BURST_WARN, BURST_BLOCK = 2, 4
#: Points of varying calls that fail alike or find nothing: 2 for the same pattern, 1 for the same kind.
DRY_WARN, DRY_BLOCK = 6, 12
#: Messages that were refused since the last news.
HALT, DRY_HALT = 10, 20
#: Outages: answers before the next is blocked, by what is known of the time between.
OUTAGE_WARN, OUTAGE_FAST, OUTAGE_UNKNOWN, OUTAGE_SLOW = 2, 7, 9, 40
BACK_OFF = 2.0
#: Seconds after which asking again is waiting: a poller, a reader, anything else that changes nothing.
POLL_WAIT, READ_WAIT, ASK_WAIT, PACES = 1.0, 20.0, 10.0, 3.0
CLOCK_WARN, CLOCK_WARN_POLL = 4, 8
WAITS_WARN = 30
FLIPS = 8

NEWS, REPEAT, DRY, THIN, WAITED, OUTAGE, CLOCK, CLEAR = range(8)


class Progress(Policy):
    """Steps without news. See the package."""

    name = "progress"

    def __init__(self, options: Options) -> None:
        super().__init__(ProgressScheme())
        self._agents: dict[str, Agent] = {}
        self._started: dict[str, Started] = {}

    # -- the contract ----------------------------------------------------------------------------

    def signature(self, call: Call) -> str:
        return f"{call.tool}:{call.records[self.scheme.name]['s']}"

    def peek(self, call: Call) -> Verdict:
        record = call.records[self.scheme.name]
        signature = f"{call.tool}:{record['s']}"
        agent = self._agents.get(call.agent)
        if agent is None:
            return Verdict(Tier.ALLOW, self.name, signature=signature, count=1, threshold=WARN)
        asked = agent.asked.get(signature)
        step = agent.steps.get(call.message)
        if step is not None and (verdict := self._burst(call, record, signature, step)) is not None:
            return verdict
        if asked is not None and (verdict := self._again(call, record, agent, asked)) is not None:
            return verdict
        if _parched(agent):
            verdict = self._varying(call, record, signature, agent, asked, step)
            if verdict is not None:
                return verdict
        count = 1 if asked is None else asked.repeats + asked.open + 1
        return Verdict(Tier.ALLOW, self.name, signature=signature, count=count, threshold=WARN)

    def start(self, call: Call) -> None:
        record = call.records[self.scheme.name]
        agent, asked, step = self._places(call, record)
        waited = self._waits(call, record, agent, asked)
        asked.open += 1
        step.idle[asked.signature] = step.idle.get(asked.signature, 0) + 1
        if _parched(agent) and self._suspect(record, agent, asked):
            step.probe = True
            agent.probe = False
        self._started[call.call] = Started(
            call.agent, call.message, asked.signature, call.ts, waited
        )
        agent.last, agent.last_wait = asked.signature, float(record.get("w", 0.0))

    def refuse(self, call: Call) -> None:
        record = call.records[self.scheme.name]
        agent, asked, step = self._places(call, record)
        self._attempted(agent, asked, step)
        if _parched(agent) and not self._worn(agent, asked):
            if step.probe is None:
                step.probe = False
            agent.probe = True
        step.idle[asked.signature] = step.idle.get(asked.signature, 0) + 1

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        started = self._started.pop(call.call, None)
        if started is None:
            return None
        agent = self._agents.get(started.agent)
        asked = agent.asked.get(started.signature) if agent is not None else None
        if agent is None or asked is None:
            return None
        asked.open -= 1
        step = agent.step(started.message)
        kind = outcome.kind
        if kind == "blocked":
            self._attempted(agent, asked, step)
            return None
        request = call.records[self.scheme.name]
        if kind in ("cancelled", "pending"):
            return Verdict(Tier.ALLOW, self.name, signature=started.signature)
        record = outcome.records.get(self.scheme.name, {})
        if "p" in request["f"] or "z" in request["f"]:
            agent.last_wait = max(agent.last_wait, _spent(started, outcome))
        if kind == "denied":
            judged = self._denied(agent, asked)
        elif kind == "ok":
            judged = self._answered(agent, asked, request, record, started)
        else:
            judged = self._failed(agent, asked, record, started)
        return self._booked(call, agent, asked, step, judged, started)

    def turn(self, reason: str) -> None:
        self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        if not tool and not signature:
            self._agents.clear()
            self._started.clear()
            return
        for agent in self._agents.values():
            hit = [s for s, a in agent.asked.items() if signature == s or tool == a.tool]
            if not hit and not (tool and tool in agent.dry_tools):
                continue
            for key in hit:
                del agent.asked[key]
            _refresh(agent)
            agent.outage = 0

    def counts(self) -> list[Count]:
        found = []
        for agent in self._agents.values():
            for asked in agent.asked.values():
                if asked.repeats + asked.open > 1 or asked.refused:
                    found.append(_count(agent, asked))
            for tool in sorted(agent.dry_tools) if agent.dry_count > 1 else ():
                found.append(_dry_count(agent, tool))
        return found

    def copy(self) -> Progress:
        twin = copy(self)
        twin._agents = {k: copy(v) for k, v in self._agents.items()}
        twin._started = dict(self._started)
        return twin

    # -- before a call ---------------------------------------------------------------------------

    def _burst(self, call: Call, record: Record, signature: str, step: Step) -> Verdict | None:
        extra = step.idle.get(signature, 0)
        if extra < BURST_WARN:
            return None
        tier = Tier.BLOCK if extra >= BURST_BLOCK else Tier.WARN
        return self._verdict(
            tier,
            signature,
            record,
            "burst",
            extra + 1,
            (BURST_BLOCK if tier else BURST_WARN) + 1,
            reasons.burst(call.tool, extra + 1, stopped=tier is Tier.BLOCK),
        )

    def _again(self, call: Call, record: Record, agent: Agent, asked: Asked) -> Verdict | None:
        repeats = asked.repeats + asked.open
        if asked.outages and asked.failing in answers.TRANSIENT | {answers.TIMEOUT}:
            return self._outage(call, record, agent, asked)
        if not self._worn(agent, asked) or self._waits(call, record, agent, asked):
            return None
        poll = "p" in record["f"]
        if poll and not (repeats >= POLL_BLOCK and agent.stale + asked.open >= POLL_BLOCK - 2):
            return None
        halts = agent.refusals >= HALT
        return self._verdict(
            Tier.HALT if halts else Tier.BLOCK,
            asked.signature,
            record,
            "repetition" if agent.stale < 2 * repeats else "cycle",
            repeats + 1,
            POLL_BLOCK + 1 if poll else _blocked_at(agent, asked),
            reasons.again(call.tool, agent, asked, halts=halts),
        )

    def _outage(self, call: Call, record: Record, agent: Agent, asked: Asked) -> Verdict | None:
        repeats = asked.outages + asked.open
        limit = OUTAGE_FAST
        if asked.failing in answers.TRANSIENT:
            limit = _outage_limit(call.gap)
        if repeats < limit or asked.refused:
            return None
        return self._verdict(
            Tier.BLOCK,
            asked.signature,
            record,
            "outage",
            repeats + 1,
            limit + 1,
            reasons.outage(call.tool, asked.failing, repeats, stopped=True),
        )

    def _varying(
        self,
        call: Call,
        record: Record,
        signature: str,
        agent: Agent,
        asked: Asked | None,
        step: Step | None,
    ) -> Verdict | None:
        if not self._suspect(record, agent, asked, call.tool):
            return None
        let_through = step.probe if step is not None and step.probe is not None else agent.probe
        if let_through:
            return None
        if agent.dry < DRY_BLOCK:
            if agent.outage < _outage_limit(call.gap):
                return None
            count, at, words = agent.outage, _outage_limit(call.gap), "outage"
            reason = reasons.outage(call.tool, agent.dry_class, count, stopped=True)
        else:
            count, at, words = agent.dry_count, 0, "variation"
            reason = reasons.varying(call.tool, agent, halts=agent.refusals >= DRY_HALT)
        halts = agent.refusals >= DRY_HALT and words == "variation"
        return self._verdict(
            Tier.HALT if halts else Tier.BLOCK, signature, record, words, count + 1, at, reason
        )

    def _suspect(self, record: Record, agent: Agent, asked: Asked | None, tool: str = "") -> bool:
        """True where a call belongs to the dry run: its tool took part and it is not known to work."""
        if "b" in record["f"] or "z" in record["f"]:
            return False
        name = asked.tool if asked is not None else tool
        if name not in agent.dry_tools and not (
            agent.dry_class == answers.UNKNOWN_TOOL and name not in agent.worked
        ):
            return False
        return asked is None or not asked.last or bool(asked.failing)

    def _worn(self, agent: Agent, asked: Asked) -> bool:
        repeats, stale = asked.repeats + asked.open, agent.stale + asked.open
        return any(repeats >= r and stale >= s for r, s in BLOCKS)

    def _waits(self, call: Call, record: Record, agent: Agent, asked: Asked) -> bool:
        """True where enough real time has passed that the answer may well have changed."""
        if not asked.last:
            return False
        gap = call.gap
        spent = float(record.get("w", 0.0))
        if gap is not None and gap > 0:
            spent = max(spent, gap)
        flags = record["f"]
        spent += agent.last_wait
        if "m" in flags:
            return False
        if "p" in flags or "z" in flags or agent.last_wait >= POLL_WAIT or record.get("w"):
            return spent >= POLL_WAIT
        return spent >= max(READ_WAIT if "r" in flags else ASK_WAIT, PACES * agent.pace)

    # -- after a call ----------------------------------------------------------------------------

    def _places(self, call: Call, record: Record) -> tuple[Agent, Asked, Step]:
        agent = self._agents.get(call.agent)
        if agent is None:
            agent = self._agents[call.agent] = Agent()
        signature = f"{call.tool}:{record['s']}"
        asked = agent.asked.get(signature)
        if asked is None:
            asked = agent.asked[signature] = Asked(signature, call.tool)
            if call.gap is not None and call.gap >= 0 and "p" not in record["f"]:
                count, total = agent.gaps
                agent.gaps = (count + 1, total + call.gap)
        return agent, asked, agent.step(call.message)

    def _attempted(self, agent: Agent, asked: Asked, step: Step) -> None:
        """A call that was requested and did not run: one more repeat, once a message."""
        if asked.signature not in step.seen:
            step.seen.add(asked.signature)
            asked.refused += 1
        if not step.stale and not step.news:
            step.stale = True
            agent.stale += 1
            agent.refusals += 1

    def _denied(self, agent: Agent, asked: Asked) -> int:
        asked.failing = answers.DENIED
        key = f"!{answers.DENIED}"
        if not asked.last:
            asked.last = key
            asked.answers[key] = 0
        if f"{asked.tool}{key}" in agent.known:
            return DRY
        agent.known.add(f"{asked.tool}{key}")
        return REPEAT

    def _failed(self, agent: Agent, asked: Asked, record: Record, started: Started) -> int:
        kind = record.get("c", "")
        asked.failing = kind or "failure"
        answer = "!" + record.get("e", "")
        again = answer in asked.answers
        asked.last = answer
        if kind in answers.TRANSIENT:
            asked.outages += 1
            asked.refused = 0
            return OUTAGE
        if kind == answers.TIMEOUT:
            asked.outages += 1
        if again:
            return WAITED if started.waited else REPEAT
        family = "" if kind == answers.UNKNOWN_TOOL else asked.tool
        pattern, group = f"{family}{answer}", f"!{kind}"
        seen, seen_kind = pattern in agent.known, bool(kind) and group in agent.known
        agent.known.add(pattern)
        if kind:
            agent.known.add(group)
        if kind == answers.UNKNOWN_TOOL and seen_kind:
            seen = True
        if seen:
            return DRY
        if seen_kind:
            return THIN
        return NEWS if len(asked.answers) else CLEAR

    def _answered(
        self, agent: Agent, asked: Asked, request: Record, record: Record, started: Started
    ) -> int:
        flags = request["f"]
        asked.failing = ""
        agent.worked.add(asked.tool)
        outage = record.get("o", "")
        if outage:
            asked.failing = outage
            asked.outages += 1
            asked.refused = 0
            asked.last = record["x"]
            return OUTAGE
        asked.outages = 0
        if "z" in flags:
            return CLEAR
        if not asked.answers:
            return self._first(agent, asked, request, record)
        return self._next(agent, asked, request, record, started)

    def _first(self, agent: Agent, asked: Asked, request: Record, record: Record) -> int:
        """A request that was not made before, and it went well: news, unless it brought nothing new."""
        answer, flags, tool = record["x"], request["f"], asked.tool
        asked.last = answer
        if "b" in flags:
            return CLEAR
        if "q" in flags:
            key = f"{tool}?" if record.get("z") else f"{tool}={answer}"
            if record.get("z"):
                asked.failing = "nothing found"
            if key in agent.known:
                judged = DRY if asked.failing else THIN
                asked.failing = asked.failing or "same answer"
                return judged
            agent.known.add(key)
        lines = request.get("g")
        if lines is not None and self._covered(agent, lines, record):
            asked.failing = "lines read before"
            return DRY
        if "p" in request:
            where = f"{tool}{request['p'][1:]}{answer}"
            how = agent.seen_as.setdefault(where, request["p"][0])
            if how != request["p"][0]:
                return REPEAT
        if "k" in request:
            target = f"{tool}{request['k']}"
            if agent.kin.get(target) == answer:
                asked.failing = "same target"
                return THIN
            agent.kin[target] = answer
        return NEWS

    def _next(
        self, agent: Agent, asked: Asked, request: Record, record: Record, started: Started
    ) -> int:
        """A request that was made before: a repeat, unless its answer differs in substance."""
        answer, before = record["x"], asked.last
        if answer not in asked.answers:
            steady = record.get("n", "")
            if steady and steady in asked.answers:
                answer = steady
            else:
                clock = record.get("t", "")
                known = asked.clocks.get(clock, 0) if clock else 0
                if clock:
                    asked.clocks[clock] = known + 1
                if steady:
                    asked.answers.setdefault(steady, 0)
                asked.last = steady or answer
                if known:
                    return CLOCK
                if record.get("z") and "q" in request["f"]:
                    asked.failing = "nothing found"
                return NEWS
        asked.last = answer
        if record.get("z") and "q" in request["f"]:
            asked.failing = "nothing found"
        if started.waited:
            return WAITED
        if answer != before and agent.last == asked.signature and asked.flips < FLIPS:
            asked.flips += 1
            return CLEAR
        return REPEAT

    def _covered(self, agent: Agent, lines: list[Any], record: Record) -> bool:
        target, first, last = str(lines[0]), int(lines[1]), lines[2]
        end = int(last) if last is not None else first + max(int(record.get("l", 1)), 1)
        known = agent.covered.get(target, [])
        if covers(known, first, end):
            return True
        agent.covered[target] = joined(known, first, end)
        return False

    def _booked(
        self, call: Call, agent: Agent, asked: Asked, step: Step, judged: int, started: Started
    ) -> Verdict:
        if asked.signature not in step.seen and judged is not WAITED:
            step.seen.add(asked.signature)
            asked.answers[asked.last] = asked.answers.get(asked.last, 0) + 1
        if judged is NEWS:
            self._news(call, agent, asked, step)
        elif judged is OUTAGE:
            agent.outage += 1
            agent.dry_class = asked.failing
            agent.dry_tools.add(asked.tool)
        elif judged is WAITED:
            asked.waits += 1
        elif judged in (REPEAT, DRY, THIN):
            if not step.stale and not step.news:
                step.stale = True
                agent.stale += 1
                if asked.failing:
                    agent.dry += 1 if judged is THIN else 2
                    agent.dry_count += 1
            if asked.failing:
                agent.dry_class = asked.failing
                agent.dry_tools.add(asked.tool)
        return self._after(call, agent, asked, judged)

    def _news(self, call: Call, agent: Agent, asked: Asked, step: Step) -> None:
        step.news = True
        step.idle[asked.signature] = step.idle.get(asked.signature, 1) - 1
        asked.refused = 0
        _refresh(agent)
        if not asked.failing:
            agent.outage = 0
        flags = call.records[self.scheme.name]["f"]
        if "r" not in flags and "q" not in flags and not asked.failing:
            agent.covered.clear()

    def _after(self, call: Call, agent: Agent, asked: Asked, judged: int) -> Verdict:
        record = call.records[self.scheme.name]
        tool, signature = asked.tool, asked.signature
        repeats = asked.repeats
        if (
            judged is REPEAT
            and repeats >= (POLL_WARN if "p" in record["f"] else WARN)
            and agent.stale >= 2
        ):
            words = "repetition" if agent.stale < 2 * repeats else "cycle"
            return self._verdict(
                Tier.WARN,
                signature,
                record,
                words,
                repeats,
                WARN,
                reasons.warned(tool, agent, asked),
            )
        if judged in (DRY, THIN, REPEAT) and asked.failing and agent.dry >= DRY_WARN:
            return self._verdict(
                Tier.WARN,
                signature,
                record,
                "variation",
                agent.dry_count,
                0,
                reasons.varying(tool, agent),
            )
        if judged is OUTAGE and max(asked.outages, agent.outage) > OUTAGE_WARN:
            count = max(asked.outages, agent.outage)
            return self._verdict(
                Tier.WARN,
                signature,
                record,
                "outage",
                count,
                OUTAGE_WARN + 1,
                reasons.outage(tool, asked.failing, count),
            )
        if judged is CLOCK:
            count = max(asked.clocks.values()) if asked.clocks else 0
            if count >= (CLOCK_WARN_POLL if "p" in record["f"] else CLOCK_WARN):
                return self._verdict(
                    Tier.WARN,
                    signature,
                    record,
                    "clock",
                    count,
                    CLOCK_WARN,
                    reasons.clock(tool, count),
                )
        if judged is WAITED and asked.waits >= WAITS_WARN:
            return self._verdict(
                Tier.WARN,
                signature,
                record,
                "waiting",
                asked.waits,
                WAITS_WARN,
                reasons.waiting(tool, asked.waits),
            )
        return Verdict(Tier.ALLOW, self.name, signature=signature, count=repeats, threshold=WARN)

    def _verdict(
        self,
        tier: Tier,
        signature: str,
        record: Record,
        detector: str,
        count: int,
        threshold: int,
        reason: str,
    ) -> Verdict:
        return Verdict(
            tier,
            self.name,
            detector=detector,
            signature=signature,
            count=count,
            threshold=threshold,
            reason=reason,
            traits=reasons.traits(record),
        )


def _refresh(agent: Agent) -> None:
    agent.stale = agent.dry = agent.dry_count = agent.refusals = 0
    agent.dry_class = ""
    agent.dry_tools.clear()
    agent.probe = False


def _parched(agent: Agent) -> bool:
    """True where varying calls have come back empty-handed so often that they are slowed down."""
    return agent.dry >= DRY_BLOCK or agent.outage >= OUTAGE_FAST


def _outage_limit(gap: float | None) -> int:
    if gap is None:
        return OUTAGE_UNKNOWN
    return OUTAGE_SLOW if gap >= BACK_OFF else OUTAGE_FAST


def _spent(started: Started, outcome: Outcome) -> float:
    """Seconds that a call took, as far as anybody says."""
    if outcome.duration is not None:
        return max(outcome.duration, 0.0)
    if outcome.ts is not None and started.ts is not None:
        return max(outcome.ts - started.ts, 0.0)
    return 0.0


def _blocked_at(agent: Agent, asked: Asked) -> int:
    """The number of the call that is the first to be blocked, if things go on as they do."""
    repeats, stale = asked.repeats, agent.stale
    period = max(1, round((stale + 1) / max(repeats - 1, 1))) if repeats > 1 else 1
    for count in range(2, BLOCKS[0][0] + 1):
        steps = stale + (count - repeats) * period
        if any(count >= r and steps >= s for r, s in BLOCKS):
            return count + 1
    return BLOCKS[0][0] + 1


def _count(agent: Agent, asked: Asked) -> Count:
    repeats = asked.repeats + asked.open
    at = _blocked_at(agent, asked)
    blocked = any(repeats >= r and agent.stale >= s for r, s in BLOCKS)
    tier = (
        Tier.BLOCK if blocked else Tier.WARN if repeats >= WARN and agent.stale >= 2 else Tier.ALLOW
    )
    return Count(
        asked.signature,
        asked.tool,
        repeats,
        detector="repetition",
        thresholds={Tier.WARN: min(WARN, at - 1), Tier.BLOCK: at, Tier.HALT: at + HALT},
        tier=tier,
    )


def _dry_count(agent: Agent, tool: str) -> Count:
    each = max(agent.dry / max(agent.dry_count, 1), 1.0)
    warn, block = round(DRY_WARN / each), round(DRY_BLOCK / each) + 1
    tier = (
        Tier.BLOCK if agent.dry >= DRY_BLOCK else Tier.WARN if agent.dry >= DRY_WARN else Tier.ALLOW
    )
    return Count(
        tool,
        tool,
        agent.dry_count,
        detector="variation",
        thresholds={Tier.WARN: warn, Tier.BLOCK: block, Tier.HALT: block + 2 * DRY_HALT},
        tier=tier,
    )
