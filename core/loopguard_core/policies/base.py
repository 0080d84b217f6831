"""What a guard policy is: a pure fold over calls and their outcomes.

A policy has no clock, no I/O and no randomness; time comes with the calls. Asking (``peek``) never
records. The guard drives it so:

1. ``peek(call)``: the verdict before the call runs.
2. Exactly one of ``start(call)`` (it runs), ``refuse(call)`` (it was stopped on a verdict), or nothing at
   all (a human let it run against the verdict: it leaves no mark).
3. After ``start``: ``end(call, outcome)`` with the verdict on the result. Outcome ``blocked`` here means
   that a human's word or a latch refused a call that the policy itself had allowed.
"""

from __future__ import annotations

from loopguard_core.verdict import ALLOW, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.identity import Record, Scheme
    from loopguard_core.verdict import Count


class Call:
    """A requested tool call as policies see it: records instead of payloads.

    ``message`` groups the calls of one assistant message. ``gap``: seconds since the event before it in
    the session, None where the recording does not say. ``records``: one record a scheme.
    """

    __slots__ = ("agent", "approximate", "call", "gap", "message", "records", "tool", "ts")

    def __init__(
        self,
        call: str,
        tool: str,
        records: Mapping[str, Record],
        message: str = "",
        agent: str = "",
        ts: float | None = None,
        gap: float | None = None,
        approximate: bool = False,
    ) -> None:
        self.call = call
        self.tool = tool
        self.records = records
        self.message = message or call
        self.agent = agent
        self.ts = ts
        self.gap = gap
        self.approximate = approximate


class Outcome:
    """How a call ended. ``kind`` is one of ``events.OUTCOMES``.

    ``closes_message``: no other call of the same assistant message is known to be open or to follow.
    """

    __slots__ = ("closes_message", "duration", "kind", "records", "ts")

    def __init__(
        self,
        kind: str,
        records: Mapping[str, Record],
        ts: float | None = None,
        duration: float | None = None,
        closes_message: bool = True,
    ) -> None:
        self.kind = kind
        self.records = records
        self.ts = ts
        self.duration = duration
        self.closes_message = closes_message

    @property
    def ok(self) -> bool:
        return self.kind == "ok"


class Policy:
    """One guard policy with its state. Subclasses say source, version, units and options."""

    name = ""
    #: False where the original never sees a call that another permission system denied.
    sees_denied = True
    #: False where other permission systems are asked before the original: a call that they deny is never
    #: stopped by it, only judged on the refusal.
    asked_first = True
    #: Attributes that hold state in flat containers; ``copy`` copies these and shares the rest.
    state: tuple[str, ...] = ()
    #: True where counters outlive a human's message: a guard is then rebuilt from the whole session.
    spans_turns = False

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The identity schemes whose records this policy reads."""
        return (self.scheme,)

    def signature(self, call: Call) -> str:
        """What makes two calls the same for this policy: ``tool:digest``, from a record of ``ArgsScheme``."""
        return f"{call.tool}:{call.records[self.scheme.name]['a']}"

    def allow(self, call: Call) -> Verdict:
        """A verdict without any objection to *call*."""
        return Verdict(ALLOW, self.name, self.signature(call))

    def peek(self, call: Call) -> Verdict:
        """The verdict on *call* if it came now. Records nothing."""
        raise NotImplementedError

    def start(self, call: Call) -> None:
        """Record that *call* runs."""

    def refuse(self, call: Call) -> None:
        """Record that *call* was requested and stopped on this policy's verdict."""

    def end(self, call: Call, outcome: Outcome) -> Verdict | None:
        """Record how a started call ended; the verdict on it, None where there is none."""
        return None

    def turn(self, reason: str) -> None:
        """A turn begins: *reason* is ``user`` for a human's message, else the host's word for it."""

    def text(self, kind: str) -> None:
        """Text without calls: *kind* is ``assistant_text`` or ``system_message``."""

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        """Clear the counters of one signature, of one tool, or (neither given) all of them."""
        raise NotImplementedError

    def counts(self) -> list[Count]:
        """The counters as they stand, without recording anything."""
        return []

    def thresholds_of(self, tool: str) -> dict[str, dict[str, Any]]:
        """By policy, the options of ``tools.NAME`` as they hold for *tool*: counts, or a list of them."""
        return {}

    def weight(self) -> int:
        """How many things the state holds: what a copy costs, in time and memory."""
        held = (getattr(self, name) for name in self.state)
        return sum(len(value) for value in held if isinstance(value, (dict, list, set)))

    def copy(self) -> Policy:
        """An independent policy in the same state."""
        from copy import copy, deepcopy  # an agent never copies

        if not self.state:
            return deepcopy(self)
        twin = copy(self)
        for name in self.state:
            setattr(twin, name, copy(getattr(self, name)))
        return twin
