"""``tool-loop-guard`` 0.1.0 (MukundaKatta/tool-loop-guard, MIT): a sliding window over calls.

Unit: one requested call; the window holds the last ``window`` calls, refused ones included. A call is
appended first, then its equals in the window are counted: ``threshold`` or more halt before the tool runs
(the original raises an exception there). Results, turns and other permission systems do not matter; only
a reset clears. Options: ``window`` 8 (calls, from 2), ``threshold`` 3 (calls, from 2 to the window),
``reset_on_turn`` false, ``key_fn`` or ``match`` (own identities), ``tools.NAME.threshold``.
"""

from __future__ import annotations

from collections import deque

from loopguard_core.identity import Payload
from loopguard_core.interrupts import pass_on
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.keys import Matchers, TypedScheme, grounds
from loopguard_core.policies.wording import CHANGE, named, times
from loopguard_core.verdict import ALLOW, Count, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.policies.options import Options

_EMPTY = "{}"


class WindowScheme(TypedScheme):
    """Arguments as compact JSON; null is ``{}``; what JSON lacks is known by its ``repr``."""

    def args_key(self, args: Payload) -> str:
        if args.value is None:
            return args.digest_of(_EMPTY)
        if isinstance(args.value, str) or not args.foreign:
            return super().args_key(args)
        try:
            return "r" + args.digest_of(repr(args.value))
        except BaseException as error:  # noqa: BLE001 - a foreign repr may raise anything
            pass_on(error)
            return super().args_key(args)


class ToolLoopGuard(Policy):
    """The sliding window of tool-loop-guard. See the module."""

    name = "tool-loop-guard"
    spans_turns = True
    state = ("_window", "_counts")

    def __init__(self, options: Options) -> None:
        self.window = options.take_int("window", 8, least=2, unit="calls")
        self.threshold = self._threshold(options, 3)
        self.reset_on_turn = options.take_bool("reset_on_turn", False)
        self.spans_turns = not self.reset_on_turn
        self._per_tool = options.take_tools(lambda o: self._threshold(o, self.threshold))
        super().__init__(WindowScheme("tool-loop-guard/1", Matchers.take(options, "key_fn")))
        self._window: deque[tuple[str, str]] = deque()
        self._counts: dict[str, int] = {}

    def _threshold(self, options: Options, default: int) -> int:
        threshold = options.take_int("threshold", default, least=2, unit="calls in the window")
        if threshold > self.window:
            raise options.error(
                f"threshold {threshold} can never be reached in a window of {self.window} calls"
            )
        return threshold

    def peek(self, call: Call) -> Verdict:
        signature = self.signature(call)
        count = self._counts.get(signature, 0) + 1
        if len(self._window) == self.window and self._window[0][0] == signature:
            count -= 1
        return self._verdict(call.tool, signature, count)

    def _verdict(self, tool: str, signature: str, count: int) -> Verdict:
        threshold = self._per_tool.get(tool, self.threshold)
        if count < threshold:
            return Verdict(
                Tier.ALLOW, self.name, signature=signature, count=count, threshold=threshold
            )
        reason = (
            f"{named(tool)} was called {times(count)} with identical arguments within the last "
            f"{self.window} calls; the limit is {threshold}. {CHANGE}"
        )
        return Verdict(
            Tier.HALT,
            self.name,
            detector="window",
            signature=signature,
            count=count,
            threshold=threshold,
            reason=reason,
            traits=grounds(signature),
        )

    def start(self, call: Call) -> None:
        self._append(self.signature(call), call.tool)

    def refuse(self, call: Call) -> None:
        self._append(self.signature(call), call.tool)

    def _append(self, signature: str, tool: str) -> None:
        if len(self._window) == self.window:
            self._drop(self._window.popleft()[0])
        self._window.append((signature, tool))
        self._counts[signature] = self._counts.get(signature, 0) + 1

    def _drop(self, signature: str) -> None:
        left = self._counts[signature] - 1
        if left:
            self._counts[signature] = left
        else:
            del self._counts[signature]

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        if outcome.kind in ("blocked", "pending"):
            return None
        signature = self.signature(call)
        threshold = self._per_tool.get(call.tool, self.threshold)
        count = self._counts.get(signature, 0)
        return Verdict(ALLOW, self.name, signature, count, threshold)

    def turn(self, reason: str) -> None:
        if self.reset_on_turn:
            self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        kept = [
            e for e in self._window if (tool or signature) and signature != e[0] and tool != e[1]
        ]
        self._window = deque(kept)
        self._counts = {}
        for entry, _ in kept:
            self._counts[entry] = self._counts.get(entry, 0) + 1

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        return {self.name: {"threshold": self._per_tool.get(tool, self.threshold)}}

    def counts(self) -> list[Count]:
        tools = dict(self._window)
        return [
            Count(
                signature,
                tools[signature],
                count,
                detector="window",
                thresholds={Tier.HALT: self._per_tool.get(tools[signature], self.threshold)},
                tier=Tier.HALT
                if count >= self._per_tool.get(tools[signature], self.threshold)
                else Tier.ALLOW,
            )
            for signature, count in self._counts.items()
        ]
