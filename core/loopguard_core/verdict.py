"""What a policy says of a call, and what the guard makes of it.

These classes are on the agent's hot path: plain slotted classes, no dataclasses, no typing at run time.
"""

from __future__ import annotations

from loopguard_core.plain_json import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar


class Tier(int):
    """How strong a verdict is. Ordered: the strongest wins. ``Tier(2)`` is ``Tier.BLOCK``.

    One object each, as an enumeration has; the module ``enum`` costs a hook process more than judging a call.
    """

    __slots__ = ()

    ALLOW: ClassVar[Tier]
    WARN: ClassVar[Tier]
    BLOCK: ClassVar[Tier]
    HALT: ClassVar[Tier]

    def __new__(cls, value: int) -> Tier:
        """The tier with number *value*. Raises ``ValueError`` where there is none."""
        if value in _NUMBERS:
            return TIERS[value]
        raise ValueError(f"{value!r} is not the number of a tier")

    @property
    def name(self) -> str:
        """As it stands in code: ``ALLOW`` … ``HALT``."""
        return _WORDS[self].upper()

    @property
    def word(self) -> str:
        """The tier as it stands in events and on the command line: ``allow`` … ``halt``."""
        return _WORDS[self]

    @classmethod
    def of(cls, word: object) -> Tier:
        """The tier named *word*. Raises ``ValueError`` for any other value."""
        try:
            return _TIERS[word]  # type: ignore[index]
        except (KeyError, TypeError):
            raise ValueError(f"no tier is called {word!r}: allow, warn, block or halt") from None

    def __repr__(self) -> str:
        return f"Tier.{self.name}"

    def __str__(self) -> str:
        return int.__repr__(self)


_WORDS = ("allow", "warn", "block", "halt")
_NUMBERS = range(len(_WORDS))
#: Every tier, the weakest first.
TIERS = tuple([int.__new__(Tier, number) for number in _NUMBERS])
Tier.ALLOW, Tier.WARN, Tier.BLOCK, Tier.HALT = TIERS
ALLOW, BLOCK = Tier.ALLOW, Tier.BLOCK
_TIERS = dict(zip(_WORDS, TIERS, strict=True))


#: The policy and the traits of a verdict that allows -> how its JSON begins and ends.
_ALLOWS: dict[tuple[str, tuple[str, ...]], tuple[str, str]] = {}
_ALLOWS_KEPT = 500


def _allows(policy: str, traits: tuple[str, ...]) -> tuple[str, str]:
    if len(_ALLOWS) > _ALLOWS_KEPT:
        _ALLOWS.clear()
    names = ",".join(map(quote, traits))
    said = _ALLOWS[policy, traits] = (
        f'{{"tier":"allow","policy":{quote(policy)},"signature":',
        f',"traits":[{names}]}}' if names else "}",
    )
    return said


def tool_of(signature: str) -> str:
    """The tool in a signature ``tool:digest``."""
    return signature.rpartition(":")[0]


class Verdict:
    """A policy's judgement of one call, before it runs or on its result.

    ``count`` is how often the detector has seen the repetition, ``threshold`` the count at which this
    tier fires (0 where the detector has none). ``traits`` names the tool traits and normalisations
    that took part. ``ends_turn``: a block that latches like a halt (Hermes). ``source`` names another
    guard whose verdict this is; empty for ours. Each call makes two, so those that allow are made by position.
    """

    __slots__ = (
        "count",
        "detector",
        "ends_turn",
        "policy",
        "reason",
        "signature",
        "source",
        "threshold",
        "tier",
        "traits",
    )

    def __init__(
        self,
        tier: Tier,
        policy: str,
        signature: str = "",
        count: int = 0,
        threshold: int = 0,
        traits: tuple[str, ...] = (),
        detector: str = "",
        reason: str = "",
        ends_turn: bool = False,
        source: str = "",
    ) -> None:
        self.tier = tier
        self.policy = policy
        self.signature = signature
        self.count = count
        self.threshold = threshold
        self.traits = traits
        self.detector = detector
        self.reason = reason
        self.ends_turn = ends_turn
        self.source = source

    @property
    def stops(self) -> bool:
        """True for block and halt: the call does not run unless a human lets it."""
        return self.tier >= BLOCK

    @property
    def latches(self) -> bool:
        """True where the turn ends with it, until a human speaks: for halt, and for a block that says so."""
        return self.tier is Tier.HALT or (self.tier is BLOCK and self.ends_turn)

    def to_json(self) -> dict[str, Any]:
        """The verdict as it stands on an event. Empty fields are left out."""
        out: dict[str, Any] = {"tier": _WORDS[self.tier], "policy": self.policy}
        if self.detector:
            out["detector"] = self.detector
        if self.signature:
            out["signature"] = self.signature
        if self.count:
            out["count"] = self.count
        if self.threshold:
            out["threshold"] = self.threshold
        if self.reason:
            out["reason"] = self.reason
        if self.ends_turn:
            out["ends_turn"] = True
        if self.traits:
            out["traits"] = list(self.traits)
        if self.source:
            out["source"] = self.source
        return out

    def to_text(self) -> str:
        """``to_json`` as compact JSON, of a verdict that allows; else empty. Agents wait for it twice a call."""
        signature = self.signature
        if (
            self.tier is not ALLOW
            or self.detector
            or self.reason
            or self.ends_turn
            or self.source
            or not signature
        ):
            return ""
        policy, traits = self.policy, self.traits
        head, end = _ALLOWS.get((policy, traits)) or _allows(policy, traits)
        count = f',"count":{self.count}' if self.count else ""
        threshold = f',"threshold":{self.threshold}' if self.threshold else ""
        return f"{head}{quote(signature)}{count}{threshold}{end}"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that stands on an event. Raises ``ValueError`` for an unknown tier."""
        return cls(
            Tier.of(data.get("tier")),
            str(data.get("policy", "")),
            detector=str(data.get("detector", "")),
            signature=str(data.get("signature", "")),
            count=int(data.get("count") or 0),
            threshold=int(data.get("threshold") or 0),
            reason=str(data.get("reason", "")),
            ends_turn=bool(data.get("ends_turn", False)),
            traits=tuple(str(t) for t in data.get("traits") or ()),
            source=str(data.get("source", "")),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.tier, self.policy, self.signature, self.count))

    def __repr__(self) -> str:
        return f"Verdict({self.to_json()!r})"


class Count:
    """One counter of a policy, as the console draws it.

    ``thresholds`` maps each tier that this counter can still reach to the count at which it does.
    ``key`` is a signature, or a tool's name for a counter of the whole tool.
    """

    __slots__ = ("count", "detector", "key", "thresholds", "tier", "tool")

    def __init__(
        self,
        key: str,
        tool: str,
        count: int,
        *,
        detector: str,
        thresholds: Mapping[Tier, int],
        tier: Tier = Tier.ALLOW,
    ) -> None:
        self.key = key
        self.tool = tool
        self.count = count
        self.detector = detector
        self.thresholds = dict(thresholds)
        self.tier = tier

    @property
    def next(self) -> tuple[Tier, int] | None:
        """The next tier that this counter will reach and at which count, or None."""
        ahead = [(at, tier) for tier, at in self.thresholds.items() if at > self.count]
        if not ahead:
            return None
        at, tier = min(ahead)
        return tier, at

    def __repr__(self) -> str:
        return f"Count({self.key!r}, {self.count}, {self.detector!r}, {self.tier.word})"


class Ruling:
    """What happens to a call: the human's word, then the latch, then the verdict.

    ``action``: ``run``, ``refuse``, or ``ask`` (a request is to be opened and answered first).
    ``cause`` says whose word it was: ``verdict``, ``latch``, ``grant``, ``halt``, ``deny``,
    ``breakpoint``. ``ref`` names the grant behind it. ``released``: the call runs although the policy,
    a latch or an earlier word would have stopped it, so it leaves no mark on the counters. ``by`` is whose word it was
    and ``note`` what they said. ``verdict`` is the policy's
    on this very call; ``why`` is the one that explains the ruling (a latch keeps the verdict that set it).
    """

    __slots__ = (
        "action",
        "by",
        "cause",
        "ends_turn",
        "note",
        "ref",
        "released",
        "tier",
        "verdict",
        "why",
    )

    def __init__(
        self,
        action: str,
        verdict: Verdict,
        tier: Tier | None = None,
        why: Verdict | None = None,
        cause: str = "verdict",
        ref: str = "",
        by: str = "",
        note: str = "",
        released: bool = False,
        ends_turn: bool = False,
    ) -> None:
        self.action = action
        self.verdict = verdict
        self.why = verdict if why is None else why
        self.tier = verdict.tier if tier is None else tier
        self.cause = cause
        self.ref = ref
        self.by = by
        self.note = note
        self.released = released
        self.ends_turn = ends_turn

    def __repr__(self) -> str:
        return f"Ruling({self.action!r}, {self.tier.word}, cause={self.cause!r})"
