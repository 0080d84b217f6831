"""``hermes-seed``: the loop guard printed in a skill document that names Hermes Agent as its origin.

The code is the document's own (version 1.0.0, MIT), not Hermes Agent's. Unit: one finished call within a
turn. It differs from ``hermes``: a read-only signature's identical results are counted from 0, so the
third is the first to warn, and its block comes *after* the call ran; a tool's failures halt *before* the
next call; a success clears no failures and a failure no result; raw text is hashed, null is not ``{}``;
calls that other permission systems denied count as failures; ``tool_warn_after`` is never used. The count on
its halt is the signature's own failures, whatever the tool's are.

Options (counts of calls): ``warnings_enabled`` true, ``hard_stop_enabled`` false, ``exact_warn_after`` 2,
``exact_block_after`` 5, ``tool_warn_after`` 3, ``tool_halt_after`` 8, ``noprog_warn_after`` 2,
``noprog_block_after`` 5; ours: ``tools.NAME`` with the thresholds, ``match``.
"""

from __future__ import annotations

from loopguard_core.identity import Payload
from loopguard_core.policies.base import Call, Outcome
from loopguard_core.policies.hermes_counters import HermesCounters
from loopguard_core.policies.hermes_options import READS
from loopguard_core.policies.keys import Matchers, TypedScheme, grounds
from loopguard_core.policies.wording import CHANGE, DIAGNOSE, named, running, times
from loopguard_core.verdict import ALLOW, Count, Tier, Verdict, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.traits import Traits

IDEMPOTENT = frozenset(
    {
        *("read_file", "list_dir", "web_search", "web_fetch", "browser_snapshot", "grep", "glob"),
        *("get_file_info", "search_files", "view_image", "memory_recall", "get_env"),
    }
)
_DEFAULTS = {
    "exact_warn_after": 2,
    "exact_block_after": 5,
    "tool_warn_after": 3,
    "tool_halt_after": 8,
    "noprog_warn_after": 2,
    "noprog_block_after": 5,
}


class SeedScheme(TypedScheme):
    """Arguments as JSON, results as raw text."""

    answers = ("r",)

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        return {"r": result.digest}


def _thresholds(options: Options, default: dict[str, int], hard_stop: bool) -> dict[str, int]:
    asked = {name for name in default if options.given(name)}
    values = {name: options.take_int(name, at, unit="calls") for name, at in default.items()}
    for warn, stop in (
        ("exact_warn_after", "exact_block_after"),
        ("noprog_warn_after", "noprog_block_after"),
    ):
        if hard_stop and warn in asked and values[warn] > values[stop]:
            raise options.error(
                f"{warn} {values[warn]} can never fire: {stop} {values[stop]} stops before"
            )
    return values


class HermesSeed(HermesCounters):
    """The guard of the seed document. See the module."""

    name = "hermes-seed"

    def __init__(self, options: Options) -> None:
        self.warnings = options.take_bool("warnings_enabled", True)
        self.hard_stop = options.take_bool("hard_stop_enabled", False)
        self.thresholds = _thresholds(options, _DEFAULTS, self.hard_stop)
        self._per_tool = options.take_tools(
            lambda o: _thresholds(o, self.thresholds, self.hard_stop)
        )
        super().__init__(SeedScheme("hermes-seed/1", Matchers.take(options)))

    def _at(self, tool: str, name: str) -> int:
        return self._per_tool.get(tool, self.thresholds)[name]

    def peek(self, call: Call) -> Verdict:
        signature, tool = self.signature(call), call.tool
        failed, flying = self._failures.get(signature, 0), self._flight.count(signature)
        of_tool = self._tool_failures.get(tool, 0)
        if self.hard_stop and failed + flying >= self._at(tool, "exact_block_after"):
            reason = (
                f"{named(tool)} has failed {times(failed)} this turn with identical arguments"
                f"{running(flying)}, so this call was not run. {DIAGNOSE}"
            )
            threshold = self._at(tool, "exact_block_after")
            return self._verdict(
                Tier.BLOCK, "exact_failure", signature, failed + flying, threshold, reason
            )
        if self.hard_stop and of_tool >= self._at(tool, "tool_halt_after"):
            reason = (
                f"{named(tool)} has failed {times(of_tool)} this turn, whatever the arguments, so this "
                f"call was not run and the turn ends here. {DIAGNOSE}"
            )
            threshold = self._at(tool, "tool_halt_after")
            return self._verdict(
                Tier.HALT, "same_tool_failure", signature, failed, threshold, reason
            )
        return Verdict(ALLOW, self.name, signature, failed)

    def _verdict(
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
            traits=grounds(signature, *(READS if detector == "no_progress" else ())),
        )

    def start(self, call: Call) -> None:
        self._flight.start(call.call, self.signature(call))

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        self._flight.end(call.call)
        if outcome.kind in ("error", "denied"):
            return self._failure(call)
        if outcome.kind == "ok":
            return self._success(call, outcome)
        return None

    def _failure(self, call: Call) -> Verdict:
        signature, tool = self.signature(call), call.tool
        count = self._failures[signature] = self._failures.get(signature, 0) + 1
        self._tool_failures[tool] = self._tool_failures.get(tool, 0) + 1
        threshold = self._at(tool, "exact_warn_after")
        if not self.warnings or count < threshold:
            return Verdict(ALLOW, self.name, signature, count)
        reason = f"{named(tool)} has failed {times(count)} this turn with identical arguments. {DIAGNOSE}"
        return self._verdict(Tier.WARN, "exact_failure", signature, count, threshold, reason)

    def _success(self, call: Call, outcome: Outcome) -> Verdict:
        signature, tool = self.signature(call), call.tool
        if tool not in IDEMPOTENT:
            return Verdict(ALLOW, self.name, signature)
        result = outcome.records[self.scheme.name]["r"]
        before, count = self._results.get(signature, ("", 0))
        count = count + 1 if result == before else 0
        self._results[signature] = (result, count)
        reason = (
            f"{named(tool)} only reads, and it has repeated its result {times(count)} this turn for "
            f"identical arguments. {CHANGE}"
        )
        block, warn = self._at(tool, "noprog_block_after"), self._at(tool, "noprog_warn_after")
        if count and self.hard_stop and count >= block:
            return self._verdict(Tier.BLOCK, "no_progress", signature, count, block, reason)
        if count and self.warnings and count >= warn:
            return self._verdict(Tier.WARN, "no_progress", signature, count, warn, reason)
        return Verdict(ALLOW, self.name, signature, count)

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        return {self.name: dict(self._per_tool.get(tool, self.thresholds))}

    def counts(self) -> list[Count]:
        found = []
        for key, count in self._failures.items():
            found.append(
                self._counter(
                    key, tool_of(key), count, "exact_failure", "exact_warn", "exact_block"
                )
            )
        for tool, count in self._tool_failures.items():
            found.append(self._counter(tool, tool, count, "same_tool_failure", "", "tool_halt"))
        for key, (_, count) in self._results.items():
            found.append(
                self._counter(
                    key, tool_of(key), count, "no_progress", "noprog_warn", "noprog_block"
                )
            )
        return found

    def _counter(
        self, key: str, tool: str, count: int, detector: str, warn: str, stop: str
    ) -> Count:
        ladder = {}
        if warn and self.warnings:
            ladder[Tier.WARN] = self._at(tool, f"{warn}_after")
        if self.hard_stop:
            top = Tier.BLOCK if warn else Tier.HALT
            ladder[top] = self._at(tool, f"{stop}_after")
        tier = max((t for t, at in ladder.items() if count >= at), default=Tier.ALLOW)
        return Count(key, tool, count, detector=detector, thresholds=ladder, tier=tier)
