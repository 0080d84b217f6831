"""Several policies side by side: the strongest verdict wins and says whose it is."""

from __future__ import annotations

from loopguard_core.policies.base import Call, Outcome, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from loopguard_core.identity import Scheme
    from loopguard_core.verdict import Count, Verdict


class Composite(Policy):
    """A list of policies, each with its own counters and options.

    Verdicts carry the name of the policy that gave them; of equals the first listed wins. Their signature
    is always the first policy's, so that a human's grant means one thing whoever objects. A call that one
    stops ends as ``blocked`` for the others: requested, and not run.
    """

    state = ("_aliases",)

    def __init__(self, members: Sequence[Policy]) -> None:
        super().__init__(members[0].scheme)
        self.members = list(members)
        self.name = "+".join(member.name for member in members)
        self.sees_denied = any(member.sees_denied for member in members)
        self.asked_first = all(member.asked_first for member in members)
        self.spans_turns = any(member.spans_turns for member in members)
        self._aliases: dict[str, tuple[str, ...]] = {}

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        found = {scheme.name: scheme for member in self.members for scheme in member.schemes}
        return tuple(found.values())

    def signature(self, call: Call) -> str:
        return self.members[0].signature(call)

    def peek(self, call: Call) -> Verdict:
        verdict = max((member.peek(call) for member in self.members), key=lambda v: v.tier)
        verdict.signature = self.signature(call)
        return verdict

    def start(self, call: Call) -> None:
        self._remember(call)
        for member in self.members:
            member.start(call)

    def refuse(self, call: Call) -> None:
        self._remember(call)
        for member in self.members:
            if member.peek(call).stops:
                member.refuse(call)
            else:
                member.start(call)
                member.end(call, Outcome("blocked", {}))

    def _remember(self, call: Call) -> None:
        self._aliases[self.signature(call)] = tuple(m.signature(call) for m in self.members)

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        ended = [member.end(call, outcome) for member in self.members]
        verdict = max((v for v in ended if v is not None), key=lambda v: v.tier, default=None)
        if verdict is not None:
            verdict.signature = self.signature(call)
        return verdict

    def turn(self, reason: str) -> None:
        if reason == "user" and not self.spans_turns:
            self._aliases.clear()
        for member in self.members:
            member.turn(reason)

    def text(self, kind: str) -> None:
        for member in self.members:
            member.text(kind)

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        theirs = self._aliases.get(signature, ()) or (signature,) * len(self.members)
        for member, alias in zip(self.members, theirs, strict=True):
            member.reset(tool=tool, signature=alias)

    def counts(self) -> list[Count]:
        return [count for member in self.members for count in member.counts()]

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        return {k: v for member in self.members for k, v in member.thresholds_of(tool).items()}

    def weight(self) -> int:
        return super().weight() + sum(member.weight() for member in self.members)

    def copy(self) -> Composite:
        twin = super().copy()
        assert isinstance(twin, Composite)
        twin.members = [member.copy() for member in self.members]
        return twin
