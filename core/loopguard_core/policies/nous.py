"""``nous``: Nous.Plugins.LoopGuard 0.17.3 (nyo16/nous), advice only.

Unit: one assistant message, read as the ordered list of its calls (lower-cased tool, arguments), without
excluded tools. The chain is how many such messages in a row are equal. Messages of excluded calls only,
tool results and system messages are transparent; a user message, a declared turn, or an answer without calls
ends the chain. Denied calls count; results never matter. Advice comes after the message's last result, once
for the highest threshold that the chain has reached and not yet announced; nothing is ever stopped.
Options: ``thresholds`` [3, 5, 8] (messages; what is not a whole number above 1 is dropped, [] for never),
``excluded_tools`` []; ours: ``tools.NAME.thresholds`` for messages that call that tool alone, ``match``.
"""

from __future__ import annotations

import json

from loopguard_core.identity import Payload, canonical
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.policies.keys import ArgsScheme, Matchers, grounds
from loopguard_core.policies.wording import CHANGE, named, times
from loopguard_core.verdict import ALLOW, Count, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.policies.options import Options

_EMPTY = "[]"


class NousScheme(ArgsScheme):
    """Arguments as Elixir compares them: a string is decoded once, null, ``{}`` and ``[]`` are equal."""

    def args_key(self, args: Payload) -> str:
        value = args.value
        if value is None:
            return args.digest_of(_EMPTY)
        if isinstance(value, str):
            return self._decoded(args, value)
        if "{}" not in args.canonical and "-0.0" not in args.canonical:
            return args.digest
        return self._elixir(args, value)

    def _decoded(self, args: Payload, text: str) -> str:
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return "s" + args.digest
        return "s" + args.digest_of(value) if isinstance(value, str) else self._elixir(args, value)

    def _elixir(self, args: Payload, value: object) -> str:
        try:
            return args.digest_of(canonical(_emptied(value)))
        except RecursionError:
            return args.digest_of(canonical(value))


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _emptied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _emptied(inner) for key, inner in value.items()} or []
    if isinstance(value, (list, tuple)):
        return [_emptied(inner) for inner in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def _lower(tool: str) -> str:
    # letter by letter, since the end of a word has no say in it
    return "".join(letter.lower() for letter in tool)


class Chain:
    """How often one message was made in a row, and what was already announced of it. Immutable.

    ``latest``: what was announced since the last message. The original finds its own advice again by
    walking back over the transcript, so advice that stands between two chains counts for both.
    """

    __slots__ = ("announced", "calls", "count", "latest")

    def __init__(
        self,
        calls: tuple[tuple[str, str], ...] = (),
        count: int = 0,
        announced: frozenset[int] = frozenset(),
        latest: frozenset[int] = frozenset(),
    ) -> None:
        self.calls = calls
        self.count = count
        self.announced = announced
        self.latest = latest

    def then(self, calls: tuple[tuple[str, str], ...]) -> Chain:
        """The chain after a message of *calls*; one without any is transparent."""
        if not calls:
            return self
        if calls != self.calls:
            return Chain(calls, 1, self.latest)
        return Chain(calls, self.count + 1, self.announced)

    def announce(self, threshold: int) -> Chain:
        """The chain with *threshold* announced."""
        said = {threshold}
        return Chain(self.calls, self.count, self.announced | said, self.latest | said)


class Nous(Policy):
    """The advisory guard of Nous. See the module."""

    name = "nous"
    state = ("_calls",)

    def __init__(self, options: Options) -> None:
        self.thresholds = self._thresholds(options, (3, 5, 8))
        self._per_tool = {
            _lower(tool): thresholds
            for tool, thresholds in options.take_tools(
                lambda o: self._thresholds(o, self.thresholds)
            ).items()
        }
        excluded = options.take_names("excluded_tools", frozenset())
        self.excluded = frozenset(map(_lower, excluded))
        super().__init__(NousScheme("nous/1", Matchers.take(options)))
        self._message = ""
        self._calls: list[tuple[str, str]] = []
        self._before = Chain()
        self._chain = Chain()

    @staticmethod
    def _thresholds(options: Options, default: tuple[int, ...]) -> tuple[int, ...]:
        given = options.take("thresholds", default)
        if not isinstance(given, (list, tuple)):
            raise options.error(f"thresholds is a list of whole numbers above 1, not {given!r}")
        kept = {n for n in given if isinstance(n, int) and not isinstance(n, bool) and n > 1}
        if given and not kept:
            raise options.error(
                f"no threshold of {list(given)!r} can ever fire: none is a whole number above 1"
            )
        return tuple(sorted(kept))

    def peek(self, call: Call) -> Verdict:
        return Verdict(
            Tier.ALLOW, self.name, signature=self.signature(call), count=self._chain.count
        )

    def start(self, call: Call) -> None:
        if call.message != self._message:
            self._message, self._calls, self._before = call.message, [], self._chain
        tool = _lower(call.tool)
        if tool not in self.excluded:
            self._calls.append((tool, str(call.records[self.scheme.name]["a"])))
        if self._calls:
            self._chain = self._before.then(tuple(self._calls))

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        if not outcome.closes_message or outcome.kind == "blocked":
            return None
        signature, chain = self.signature(call), self._chain
        thresholds = self._of(chain)
        due = [at for at in thresholds if at <= chain.count and at not in chain.announced]
        if not due or not chain.calls:
            return Verdict(ALLOW, self.name, signature, chain.count)
        threshold = due[-1]
        self._chain = chain.announce(threshold)
        return Verdict(
            Tier.WARN,
            self.name,
            detector="identical_messages",
            signature=signature,
            count=chain.count,
            threshold=threshold,
            reason=_advice(chain, thresholds.index(threshold)),
            traits=grounds(signature),
        )

    def _of(self, chain: Chain) -> tuple[int, ...]:
        tools = {tool for tool, _ in chain.calls}
        return (
            self._per_tool.get(tools.pop(), self.thresholds) if len(tools) == 1 else self.thresholds
        )

    def turn(self, reason: str) -> None:
        self.reset()

    def text(self, kind: str) -> None:
        if kind == "assistant_text":
            self.reset()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        name, _, digest = signature.rpartition(":")
        touched = any(
            of == _lower(tool) or (of, key) == (_lower(name), digest)
            for of, key in self._chain.calls
        )
        if touched or not (tool or signature):
            self._message, self._calls = "", []
            self._before = self._chain = Chain()

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        own = self._per_tool.get(_lower(tool), self.thresholds)
        return {self.name: {"thresholds": list(own)}}

    def counts(self) -> list[Count]:
        chain = self._chain
        if not chain.calls:
            return []
        tool, digest = chain.calls[0]
        live = [at for at in self._of(chain) if at not in chain.announced]
        return [
            Count(
                f"{tool}:{digest}",
                tool,
                chain.count,
                detector="identical_messages",
                thresholds={Tier.WARN: live[0]} if live else {},
                tier=Tier.WARN if chain.announced else Tier.ALLOW,
            )
        ]


_TONES = (
    "The result will not change by itself: read again what the last one said. ",
    "Repeating it will not bring a different result: change the approach now. ",
    "Stop making this call: sum up what you know, say what is still open and end your turn. ",
)


def _advice(chain: Chain, tone: int) -> str:
    tools = ", ".join(named(tool) for tool, _ in chain.calls)
    return (
        f"The same message of calls ({tools}) has now been made {times(chain.count)} in a row with identical "
        f"arguments. {_TONES[min(tone, len(_TONES) - 1)]}{CHANGE}"
    )
