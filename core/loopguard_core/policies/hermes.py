"""``hermes``: the tool loop guard of Hermes Agent 0.13 to 0.19 (NousResearch/hermes-agent, MIT).

Unit: one finished call within a turn; nothing has to be consecutive and there is no window. Three counters:
failures of a signature (same tool, same arguments), failures of a tool, and identical results of a
read-only signature. Warnings come after the call. With ``hard_stop_enabled`` (off by default) a signature
that failed ``exact_failure_block_after`` times or returned the same ``no_progress_block_after`` times is
refused before it runs, and a tool's ``same_tool_failure_halt_after``-th failure halts; both end the turn.
A success clears the failures of its signature and of its tool, a failure the no-progress count. A turn or
a reset clears all; calls that other permission systems denied are never seen.

Options (counts of calls): ``warnings_enabled`` true, ``hard_stop_enabled`` false,
``exact_failure_warn_after`` 2, ``exact_failure_block_after`` 5, ``same_tool_failure_warn_after`` 3,
``same_tool_failure_halt_after`` 8, ``no_progress_warn_after`` 2, ``no_progress_block_after`` 5; the nested
tables ``warn_after`` and ``hard_stop_after``; ``idempotent_tools``, ``mutating_tools``; ours:
``tools.NAME`` with the six thresholds, ``match``.
"""

from __future__ import annotations

from loopguard_core.identity import Payload, canonical
from loopguard_core.patterns import lazy
from loopguard_core.plain_json import value_at
from loopguard_core.policies.base import Call, Outcome
from loopguard_core.policies.hermes_counters import HermesCounters
from loopguard_core.policies.hermes_options import (
    IDEMPOTENT,
    MUTATING,
    READS,
    Limits,
    named_limits,
    take_limits,
)
from loopguard_core.policies.keys import ArgsScheme, Matchers, grounds
from loopguard_core.policies.wording import CHANGE, DIAGNOSE, named, running, times
from loopguard_core.verdict import ALLOW, Count, Tier, Verdict, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.traits import Traits

_EMPTY = "{}"
_SPACE = lazy(r"[ \t\n\r]*")
_JSON_STARTS = frozenset('{["-0123456789tfnNI \t\r\n')
_REMEMBERED = 64


class HermesScheme(ArgsScheme):
    """Arguments that are an object, else ``{}``; results as canonical JSON where they parse."""

    answers = ("r",)

    def __init__(self, name: str, matchers: Matchers | None) -> None:
        super().__init__(name, matchers)
        self._parsed: dict[str, str] = {}

    def args_key(self, args: Payload) -> str:
        return args.digest if isinstance(args.value, dict) else args.digest_of(_EMPTY)

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        return {"r": self.result_key(tool, result)}

    def result_key(self, tool: str, result: Payload) -> str:
        """What identifies a result. A loop repeats its results, so parsed texts are remembered."""
        text = result.value
        if text is None:
            return result.digest_of("")
        if not isinstance(text, str) or text[:1] not in _JSON_STARTS:
            return result.digest
        known = self._parsed.get(result.digest)
        if known is None:
            known = self._parse(tool, text, result)
            if len(self._parsed) >= _REMEMBERED:
                self._parsed = {}
            self._parsed[result.digest] = known
        return known

    def _parse(self, tool: str, text: str, result: Payload) -> str:
        try:  # as ``json.loads``, whose error about what follows a number costs as much again
            plain = text.lstrip(" \t\n\r")
            value, end = value_at(plain)
        except (ValueError, RecursionError):
            return result.digest
        if end < len(plain) and _SPACE.fullmatch(plain, end) is None:
            return result.digest
        return result.digest if value is None else result.digest_of(canonical(value))


class Hermes(HermesCounters):
    """The guard of Hermes Agent 0.13 to 0.19. See the module."""

    name = "hermes"
    sees_denied = False
    idempotent = IDEMPOTENT
    mutating = MUTATING

    def __init__(self, options: Options) -> None:
        self.warnings = options.take_bool("warnings_enabled", True)
        self.hard_stop = options.take_bool("hard_stop_enabled", False)
        self.limits = take_limits(options, self.hard_stop)
        self._per_tool = options.take_tools(lambda o: take_limits(o, self.hard_stop, self.limits))
        self.idempotent = options.take_names("idempotent_tools", self.idempotent)
        self.mutating = options.take_names("mutating_tools", self.mutating)
        super().__init__(self._scheme(Matchers.take(options)))

    def _scheme(self, matchers: Matchers | None) -> HermesScheme:
        return HermesScheme("hermes/1", matchers)

    def _reads(self, tool: str) -> bool:
        return tool in self.idempotent and tool not in self.mutating

    def _limits(self, tool: str) -> Limits:
        return self._per_tool.get(tool, self.limits)

    def _failed(self, signature: str) -> int:
        """Failures of *signature* that still count towards a block."""
        return self._failures.get(signature, 0)

    # -- before ----------------------------------------------------------------------------------

    def peek(self, call: Call) -> Verdict:
        signature, tool = self.signature(call), call.tool
        failed = self._failed(signature)
        same = self._results.get(signature, ("", 0))[1] if self._reads(tool) else 0
        if not self.hard_stop:
            return Verdict(ALLOW, self.name, signature, max(failed, same))
        limits, flying = self._limits(tool), self._flight.count(signature)
        if failed + flying >= limits.exact_block:
            reason = (
                f"{named(tool)} has failed {times(failed)} this turn with identical arguments"
                f"{running(flying)}, so this call was not run. {DIAGNOSE}"
            )
            return self._stop(
                Tier.BLOCK, "exact_failure", signature, failed + flying, limits.exact_block, reason
            )
        if same and same + flying >= limits.same_block:
            reason = (
                f"{named(tool)} only reads, and it has returned the same result {times(same)} this turn "
                f"for identical arguments{running(flying)}, so this call was not run. {CHANGE}"
            )
            return self._stop(
                Tier.BLOCK, "no_progress", signature, same + flying, limits.same_block, reason
            )
        return Verdict(ALLOW, self.name, signature, max(failed, same))

    def _stop(
        self, tier: Tier, detector: str, signature: str, count: int, threshold: int, reason: str
    ) -> Verdict:
        return Verdict(
            tier,
            self.name,
            detector=detector,
            signature=signature,
            count=count,
            threshold=threshold,
            reason=reason,
            ends_turn=tier >= Tier.BLOCK,
            traits=grounds(signature, *(READS if detector == "no_progress" else ())),
        )

    def start(self, call: Call) -> None:
        self._flight.start(call.call, self.signature(call))

    # -- after -----------------------------------------------------------------------------------

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        self._flight.end(call.call)
        if outcome.kind == "ok":
            return self._succeeded(call, outcome)
        if outcome.kind == "error":
            return self._failure(call, outcome)
        return None

    def _failure(self, call: Call, outcome: Outcome) -> Verdict:
        signature, tool = self.signature(call), call.tool
        exact = self._failures[signature] = self._failed(signature) + 1
        of_tool = self._tool_failures[tool] = self._tool_failures.get(tool, 0) + 1
        self._results.pop(signature, None)
        limits = self._limits(tool)
        if self.hard_stop and of_tool >= limits.tool_halt and self._may_halt(tool):
            reason = (
                f"{named(tool)} has failed {times(of_tool)} this turn, whatever the arguments, so the "
                f"turn ends here. Choose another approach, or say what is blocking you."
            )
            return self._stop(
                Tier.HALT, "same_tool_failure", signature, of_tool, limits.tool_halt, reason
            )
        if self.warnings and exact >= limits.exact_warn:
            reason = f"{named(tool)} has failed {times(exact)} this turn with identical arguments. {DIAGNOSE}"
            return self._stop(
                Tier.WARN, "exact_failure", signature, exact, limits.exact_warn, reason
            )
        if self.warnings and of_tool >= limits.tool_warn:
            reason = (
                f"{named(tool)} has failed {times(of_tool)} this turn with different arguments. "
                f"Keep using tools, but diagnose first. {DIAGNOSE}"
            )
            return self._stop(
                Tier.WARN, "same_tool_failure", signature, of_tool, limits.tool_warn, reason
            )
        return Verdict(ALLOW, self.name, signature, exact)

    def _may_halt(self, tool: str) -> bool:
        return True

    def _succeeded(self, call: Call, outcome: Outcome) -> Verdict:
        signature, tool = self.signature(call), call.tool
        self._failures.pop(signature, None)
        self._tool_failures.pop(tool, None)
        self._progressed(tool)
        if not self._reads(tool):
            self._results.pop(signature, None)
            return Verdict(ALLOW, self.name, signature)
        result = outcome.records[self.scheme.name]["r"]
        before, count = self._results.get(signature, ("", 0))
        count = count + 1 if result == before else 1
        self._results[signature] = (result, count)
        limits = self._limits(tool)
        if self.warnings and count >= limits.same_warn:
            reason = (
                f"{named(tool)} only reads, and it has returned the same result {times(count)} this turn "
                f"for identical arguments. {CHANGE}"
            )
            return self._stop(Tier.WARN, "no_progress", signature, count, limits.same_warn, reason)
        return Verdict(ALLOW, self.name, signature, count)

    def _progressed(self, tool: str) -> None:
        """A success of *tool*: later versions take some as progress of everything."""

    # -- counters --------------------------------------------------------------------------------

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        return {self.name: named_limits(self._limits(tool))}

    def counts(self) -> list[Count]:
        found = []
        for signature in self._failures:
            limits, count = self._limits(tool_of(signature)), self._failed(signature)
            ladder = {Tier.WARN: limits.exact_warn, Tier.BLOCK: limits.exact_block}
            found.append(
                self._counter(signature, tool_of(signature), count, "exact_failure", ladder)
            )
        for tool, count in self._tool_failures.items():
            limits = self._limits(tool)
            ladder = {Tier.WARN: limits.tool_warn}
            if self._may_halt(tool):
                ladder[Tier.HALT] = limits.tool_halt
            found.append(self._counter(tool, tool, count, "same_tool_failure", ladder))
        for signature, (_, count) in self._results.items():
            limits = self._limits(tool_of(signature))
            ladder = {Tier.WARN: limits.same_warn, Tier.BLOCK: limits.same_block}
            found.append(self._counter(signature, tool_of(signature), count, "no_progress", ladder))
        return found

    def _counter(
        self, key: str, tool: str, count: int, detector: str, ladder: dict[Tier, int]
    ) -> Count:
        live = {
            t: at
            for t, at in ladder.items()
            if (self.warnings if t is Tier.WARN else self.hard_stop)
        }
        reached = [tier for tier, at in live.items() if count >= at]
        tier = max(reached, default=Tier.ALLOW)
        return Count(key, tool, count, detector=detector, thresholds=live, tier=tier)
