"""``dsh``: dsh-loop-guard (erdholion, commit 44036d1, 2026, MIT), result-aware.

Unit: one finished call of an agent. A repeat needs the same tool, the same arguments (keys sorted at every
depth, numbers as JavaScript reads them) and the same result: the first ``resultHashChars`` UTF-16 units of
its serialised content, failures and successes apart. Strictly consecutive; any difference starts a chain of
1. Calls whose chain reaches ``softThreshold`` and not yet ``hardThreshold`` are warned of; a call equal to a
chain of ``hardThreshold`` is blocked before it runs and leaves the chain as it is. Nothing halts. Only a
user message or a reset clears. A call that another permission system denied is never blocked, and counts.
Options: ``softThreshold`` 4 and ``hardThreshold`` 8 (calls; 0 switches the stage off; hard above soft),
``resultHashChars`` 4000; ours: ``tools.NAME`` with the two thresholds, ``match``.
"""

from __future__ import annotations

import json
import re
from math import isfinite

from loopguard_core.identity import Payload, canonical
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.flight import Flight
from loopguard_core.policies.keys import Matchers, TypedScheme, grounds
from loopguard_core.policies.wording import CHANGE, named, running, times
from loopguard_core.verdict import ALLOW, Count, Tier, Verdict, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Record
    from loopguard_core.policies.options import Options
    from loopguard_core.traits import Traits

_STRING = json.JSONEncoder(ensure_ascii=False).encode
_UNLIKE_JAVASCRIPT = re.compile(r'\d[.eE]|\d{16}|NaN|Infinity|"__proto__"')
_SURROGATE = re.compile("[\ud800-\udfff]")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class DshScheme(TypedScheme):
    """Arguments and results as JavaScript serialises them."""

    answers = ("r",)

    def __init__(self, chars: int, matchers: Matchers | None) -> None:
        super().__init__("dsh/1" if chars == 4000 else f"dsh/1:{chars}", matchers)
        self.chars = chars

    def args_key(self, args: Payload) -> str:
        if isinstance(args.value, str) or not _UNLIKE_JAVASCRIPT.search(args.canonical):
            return super().args_key(args)
        try:
            return args.digest_of(canonical(_javascript(args.value)))
        except RecursionError:
            return args.digest

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        text = result.value if isinstance(result.value, str) else result.canonical
        quoted = _quoted(text[: self.chars])
        if ok:
            content = f'[{{"type":"text","text":"{quoted}"}}]'
        else:
            content = f'["error","{quoted}",[{{"type":"text","text":"Error: {quoted}"}}]]'
        return {"r": result.digest_of(_units(content, self.chars))}


def _javascript(value: object) -> object:
    """*value* after a round trip through JavaScript: doubles, and no ``__proto__``."""
    if isinstance(value, dict):
        return {key: _javascript(v) for key, v in value.items() if key != "__proto__"}
    if isinstance(value, (list, tuple)):
        return [_javascript(inner) for inner in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _quoted(text: str) -> str:
    """*text* inside a JSON string as JavaScript writes it: lone surrogates are escaped."""
    if not _SURROGATE.search(text):
        return _STRING(text)[1:-1]
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", _STRING(paired)[1:-1])


def _units(text: str, count: int) -> str:
    """The first *count* UTF-16 units; half a character at the end becomes a replacement character."""
    if not _ASTRAL.search(text):
        return text[:count]
    cut = text.encode("utf-16-le")[: 2 * count].decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("\ufffd", cut)


class Thresholds:
    """The two stages of one tool, in calls; 0: off."""

    __slots__ = ("hard", "soft")

    def __init__(self, soft: int, hard: int) -> None:
        self.soft = soft
        self.hard = hard

    @classmethod
    def take(cls, options: Options, default: Thresholds) -> Thresholds:
        """The thresholds in *options*. Raises ``PolicyError`` where a stage could never fire."""
        soft = options.take_int("softThreshold", default.soft, least=0, unit="calls, 0 for off")
        hard = options.take_int("hardThreshold", default.hard, least=0, unit="calls, 0 for off")
        if soft and hard and hard <= soft:
            raise options.error(f"hardThreshold {hard} must exceed softThreshold {soft}")
        if not soft and not hard:
            raise options.error("both stages are off, so this guard can never fire")
        return cls(soft, hard)

    def ladder(self) -> dict[Tier, int]:
        """The tiers that are on."""
        return {t: at for t, at in ((Tier.WARN, self.soft), (Tier.BLOCK, self.hard)) if at}


class Dsh(Policy):
    """The guard of dsh-loop-guard. See the module."""

    name = "dsh"
    asked_first = False
    state = ("_chains", "_flight")

    def __init__(self, options: Options) -> None:
        self.thresholds = Thresholds.take(options, Thresholds(4, 8))
        self._per_tool = options.take_tools(lambda o: Thresholds.take(o, self.thresholds))
        chars = options.take_int("resultHashChars", 4000, unit="UTF-16 units")
        super().__init__(DshScheme(chars, Matchers.take(options)))
        self._chains: dict[str, tuple[str, str, int]] = {}
        self._flight = Flight()

    def _of(self, tool: str) -> Thresholds:
        return self._per_tool.get(tool, self.thresholds)

    def peek(self, call: Call) -> Verdict:
        signature = self.signature(call)
        key, _, chain = self._chains.get(call.agent, ("", "", 0))
        done, flying = chain if key == signature else 0, self._flight.count(signature)
        hard, count = self._of(call.tool).hard, done + flying
        if not hard or count < hard:
            return Verdict(ALLOW, self.name, signature, count)
        reason = (
            f"{named(call.tool)} has run {times(done)} in a row with identical arguments and identical "
            f"results{running(flying)}, so this identical call is denied. {CHANGE}"
        )
        return Verdict(
            Tier.BLOCK,
            self.name,
            detector="identical_results",
            signature=signature,
            count=count,
            threshold=hard,
            reason=reason,
            traits=grounds(signature),
        )

    def start(self, call: Call) -> None:
        self._flight.start(call.call, self.signature(call))

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        self._flight.end(call.call)
        if outcome.kind not in ("ok", "error", "denied"):
            return None
        signature, result = self.signature(call), outcome.records[self.scheme.name]["r"]
        key, last, count = self._chains.get(call.agent, ("", "", 0))
        count = count + 1 if (key, last) == (signature, result) else 1
        self._chains[call.agent] = (signature, result, count)
        at = self._of(call.tool)
        if not at.soft or count < at.soft or (at.hard and count >= at.hard):
            return Verdict(ALLOW, self.name, signature, count)
        denial = f" At {at.hard} such calls the next one will be denied." if at.hard else ""
        reason = (
            f"{named(call.tool)} has now run {times(count)} in a row with identical arguments and identical "
            f"results; once more will bring nothing new.{denial} {CHANGE}"
        )
        return Verdict(
            Tier.WARN,
            self.name,
            detector="identical_results",
            signature=signature,
            count=count,
            threshold=at.soft,
            reason=reason,
            traits=grounds(signature),
        )

    def turn(self, reason: str) -> None:
        if reason == "user":
            self._flight.clear()
            self._chains.clear()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        for agent, (key, _, _) in list(self._chains.items()):
            whole = not tool and not signature
            if whole or key == signature or (tool and tool_of(key) == tool):
                del self._chains[agent]

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        own = self._of(tool)
        return {self.name: {"softThreshold": own.soft, "hardThreshold": own.hard}}

    def counts(self) -> list[Count]:
        found = []
        for key, _, count in self._chains.values():
            tool = tool_of(key)
            ladder = self._of(tool).ladder()
            tier = max((t for t, at in ladder.items() if count >= at), default=Tier.ALLOW)
            found.append(
                Count(key, tool, count, detector="identical_results", thresholds=ladder, tier=tier)
            )
        return found
