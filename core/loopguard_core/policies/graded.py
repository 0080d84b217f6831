"""``graded``: the warn, block, halt ladder of ferstar's article (2026; no code was ever published).

Unit: one requested call, refused ones included. A duplicate is the same tool with the same arguments,
keys sorted recursively, whatever it returned. Count ``warn_at`` runs with advice appended to its result,
``block_at`` is refused with a synthetic error, ``halt_at`` and more end the turn. A user message or a
declared turn starts afresh. Options (calls; 0 switches a tier off): ``warn_at`` 2, ``block_at`` 3,
``halt_at`` 4, ``count`` ``consecutive`` or ``cumulative_in_task``; ours: ``mutating = {warn, block, halt}``
(off; 0, 2, 3 inside) for tools declared mutating, ``tools.NAME.warn_at`` (``block_at``, ``halt_at``), ``match``.
"""

from __future__ import annotations

from loopguard_core import events
from loopguard_core.identity import Payload, canonical
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.keys import ArgsScheme, Matchers, grounds
from loopguard_core.policies.wording import CHANGE, named, times
from loopguard_core.verdict import Count, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.traits import Traits

COUNTS = ("consecutive", "cumulative_in_task")


class GradedScheme(ArgsScheme):
    """Arguments with keys sorted recursively; raw text that holds JSON is that JSON."""

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        record = super().request(tool, args, traits)
        if traits.mutating:
            record["m"] = 1
        return record

    def args_key(self, args: Payload) -> str:
        if not isinstance(args.value, str):
            return args.digest
        try:
            return args.digest_of(canonical(events.load(args.value)))
        except ValueError:
            return "s" + args.digest


class Ladder:
    """The counts at which each tier begins; 0: never."""

    __slots__ = ("block", "halt", "warn")

    def __init__(self, warn: int, block: int, halt: int) -> None:
        self.warn = warn
        self.block = block
        self.halt = halt

    @classmethod
    def take(cls, options: Options, default: Ladder, suffix: str = "_at") -> Ladder:
        """The ladder in *options*. Raises ``PolicyError`` for a rung that can never be reached."""
        names = [f"{tier}{suffix}" for tier in ("warn", "block", "halt")]
        rungs = [
            options.take_int(name, at, least=0, unit="calls, 0 for never")
            for name, at in zip(names, (default.warn, default.block, default.halt), strict=True)
        ]
        below, at_most = "", 1
        for name, rung in zip(names, rungs, strict=True):
            if rung and rung <= at_most:
                what = f"{below} {at_most}" if below else "the first call, which repeats nothing"
                raise options.error(
                    f"{name} {rung} can never fire as it should: it must lie above {what}"
                )
            if rung:
                below, at_most = name, rung
        if not below:
            raise options.error("every tier is off, so this ladder can never fire")
        return cls(*rungs)

    def tier(self, count: int) -> tuple[Tier, int]:
        """The tier of the *count*-th call, and the count at which that tier begins."""
        if self.halt and count >= self.halt:
            return Tier.HALT, self.halt
        if self.block and count >= self.block:
            return Tier.BLOCK, self.block
        if self.warn and count >= self.warn:
            return Tier.WARN, self.warn
        return Tier.ALLOW, self.warn or self.block or self.halt

    def thresholds(self) -> dict[Tier, int]:
        """The tiers that are on."""
        rungs = ((Tier.WARN, self.warn), (Tier.BLOCK, self.block), (Tier.HALT, self.halt))
        return {tier: at for tier, at in rungs if at}


class Graded(Policy):
    """The graded ladder. See the module."""

    name = "graded"
    state = ("_counts", "_marked", "_started")

    def __init__(self, options: Options) -> None:
        self.ladder = Ladder.take(options, Ladder(2, 3, 4))
        self.consecutive = self._mode(options) == "consecutive"
        mutating = options.take_table("mutating")
        self._mutating: Ladder | None = None
        if mutating is not None:
            self._mutating = Ladder.take(mutating, Ladder(0, 2, 3), "")
            mutating.finish()
        self._per_tool = options.take_tools(lambda o: Ladder.take(o, self.ladder))
        super().__init__(GradedScheme("graded/1", Matchers.take(options)))
        self._counts: dict[str, tuple[str, int]] = {}
        self._marked: set[str] = set()
        self._started: dict[str, int] = {}

    @staticmethod
    def _mode(options: Options) -> str:
        mode = options.take("count", COUNTS[0])
        if mode not in COUNTS:
            raise options.error(f"count is {' or '.join(COUNTS)}, not {mode!r}")
        return str(mode)

    def _ladder(self, tool: str, mutating: bool) -> Ladder:
        own = self._per_tool.get(tool)
        if own is None and mutating:
            own = self._mutating
        return own or self.ladder

    def peek(self, call: Call) -> Verdict:
        signature = self.signature(call)
        count = self._counts.get(signature, ("", 0))[1] + 1
        verdict = self._verdict(call, signature, count)
        if verdict.tier is Tier.WARN:
            verdict.tier, verdict.reason = Tier.ALLOW, ""
        return verdict

    def _verdict(self, call: Call, signature: str, count: int) -> Verdict:
        mutating = "m" in call.records[self.scheme.name]
        ladder = self._ladder(call.tool, mutating)
        tier, threshold = ladder.tier(count)
        reason = ""
        if tier:
            row = " in a row" if self.consecutive else " in this task"
            reason = (
                f"{named(call.tool)} has now been requested {times(count)}{row} with identical "
                f"arguments; {_CONSEQUENCE[tier]} {CHANGE}"
            )
        tight = mutating and ladder is self._mutating
        return Verdict(
            tier,
            self.name,
            detector="repeated_tool_calls" if tier else "",
            signature=signature,
            count=count,
            threshold=threshold,
            reason=reason,
            traits=grounds(signature, *(("mutating",) if tight else ())),
        )

    def start(self, call: Call) -> None:
        self._started[call.call] = self._count(call)

    def refuse(self, call: Call) -> None:
        self._count(call)

    def _count(self, call: Call) -> int:
        signature = self.signature(call)
        count = self._counts.get(signature, ("", 0))[1] + 1
        if self.consecutive and signature not in self._counts:
            self._counts.clear()
            self._marked.clear()
        self._counts[signature] = (call.tool, count)
        if "m" in call.records[self.scheme.name]:
            self._marked.add(signature)
        return count

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        count = self._started.pop(call.call, 0)
        if not count or outcome.kind in ("blocked", "pending"):
            return None
        verdict = self._verdict(call, self.signature(call), count)
        verdict.tier = min(verdict.tier, Tier.WARN)
        return verdict

    def turn(self, reason: str) -> None:
        self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        if tool or signature:
            for key in [k for k, (of, _) in self._counts.items() if signature == k or tool == of]:
                del self._counts[key]
        else:
            self._counts.clear()

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        own = self._ladder(tool, False)
        return {self.name: {"warn_at": own.warn, "block_at": own.block, "halt_at": own.halt}}

    def counts(self) -> list[Count]:
        found = []
        for signature, (tool, count) in self._counts.items():
            ladder = self._ladder(tool, signature in self._marked)
            found.append(
                Count(
                    signature,
                    tool,
                    count,
                    detector="repeated_tool_calls",
                    thresholds=ladder.thresholds(),
                    tier=ladder.tier(count)[0],
                )
            )
        return found


_CONSEQUENCE = {
    Tier.WARN: "repeating it has brought nothing new so far.",
    Tier.BLOCK: "this one was not run.",
    Tier.HALT: "this one was not run and the turn ends here.",
}
