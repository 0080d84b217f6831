"""What the human has said and still holds: grants, denials, halts and breakpoints.

One rule: the latest instruction that covers a call, by its position in the log, wins.
"""

from __future__ import annotations

from loopguard_core.verdict import tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.verdict import Verdict


class Grant:
    """A standing permission. ``left``: calls it may still release, None for no limit.

    ``scope``: ``signature``, ``tool`` (``key`` names which) or ``session``. ``until``: ``turn`` (the next
    human message), ``result`` (a covered call answers something new) or empty. ``expires``: seconds
    since the epoch.
    """

    __slots__ = (
        "by",
        "expires",
        "grant",
        "key",
        "left",
        "note",
        "request",
        "results",
        "scope",
        "seq",
        "until",
    )

    def __init__(self, seq: int, data: Mapping[str, Any]) -> None:
        budget = data.get("budget")
        expires = data.get("expires")
        self.seq = seq
        self.grant = str(data["grant"])
        self.scope = str(data["scope"])
        self.key = str(data.get("key") or "")
        self.left: int | None = None if budget is None else int(budget)
        self.expires: float | None = None if expires is None else float(expires)
        self.until = str(data.get("until") or "")
        self.by = str(data.get("by") or "")
        self.note = str(data.get("note") or "")
        self.request = str(data.get("request") or "")
        self.results: dict[str, str] = {}

    def covers(self, tool: str, signature: str, ts: float | None) -> bool:
        """True where this grant speaks for a call of *tool* with *signature* at *ts*."""
        if self.left is not None and self.left <= 0:
            return False
        if self.expires is not None and ts is not None and ts >= self.expires:
            return False
        return self.scope == "session" or self.key == (tool if self.scope == "tool" else signature)

    def answered(self, signature: str, digest: str) -> None:
        """A call that it covered gave the result *digest*: a new one ends a grant ``until`` then."""
        if self.until == "result" and self.results.setdefault(signature, digest) != digest:
            self.left = 0


class Halt:
    """A stop in force. ``scope``: ``turn`` or ``session``. ``by`` is empty for the guard's own latch.

    Of a latch, ``verdict`` set it, ``asked`` says that a human was asked about it and it was refused,
    and ``request`` names where.
    """

    __slots__ = ("asked", "by", "note", "request", "scope", "seq", "verdict")

    def __init__(
        self,
        seq: int,
        *,
        scope: str = "turn",
        by: str = "",
        note: str = "",
        verdict: Verdict | None = None,
    ) -> None:
        self.seq = seq
        self.scope = scope
        self.by = by
        self.note = note
        self.verdict = verdict
        self.asked = False
        self.request = ""


class Denial:
    """A human's no to a signature, for the rest of the turn."""

    __slots__ = ("by", "note", "seq", "signature")

    def __init__(self, seq: int, signature: str, by: str, note: str) -> None:
        self.seq = seq
        self.signature = signature
        self.by = by
        self.note = note


class Breakpoint:
    """A human's wish to be asked about calls that meet ``condition``, in every mode."""

    __slots__ = ("breakpoint", "condition", "note", "seq")

    def __init__(self, seq: int, data: Mapping[str, Any]) -> None:
        self.seq = seq
        self.breakpoint = str(data.get("breakpoint") or "")
        self.condition = str(data.get("condition") or "")
        self.note = str(data.get("note") or "")


class Controls:
    """The instructions in force in one session."""

    __slots__ = ("breakpoints", "denials", "grants", "halt")

    def __init__(self) -> None:
        self.halt: Halt | None = None
        self.grants: list[Grant] = []
        self.denials: dict[str, Denial] = {}
        self.breakpoints: dict[str, Breakpoint] = {}

    def word(
        self, tool: str, signature: str, ts: float | None, hit: str = ""
    ) -> Grant | Halt | Denial | Breakpoint | None:
        """The latest instruction that covers a call, or None. *hit*: the breakpoint it meets."""
        found: Grant | Halt | Denial | Breakpoint | None = self.halt
        if not (self.grants or self.denials or self.breakpoints):
            return found
        for said in (
            self.denials.get(signature),
            self.breakpoints.get(hit),
            self._grant(tool, signature, ts),
        ):
            if said is not None and (found is None or said.seq > found.seq):
                found = said
        return found

    def stops(self, signature: str, hit: str) -> bool:
        """True where a human's word stops a call unless a grant says otherwise. *hit* as for ``word``."""
        return self.halt is not None or signature in self.denials or hit in self.breakpoints

    def _grant(self, tool: str, signature: str, ts: float | None) -> Grant | None:
        for grant in reversed(self.grants):
            if grant.covers(tool, signature, ts):
                return grant
        return None

    def stop(self, halt: Halt) -> None:
        """A halt of the turn does not shorten one of the session, which ends only with ``resume``."""
        if self.halt is not None and self.halt.scope == "session":
            halt.scope = "session"
        self.halt = halt

    def add(self, grant: Grant, ts: float | None) -> None:
        """A new grant at *ts*; those used up or expired by then are dropped."""
        self.grants = [
            g
            for g in self.grants
            if g.left != 0 and (ts is None or g.expires is None or g.expires > ts)
        ]
        self.grants.append(grant)

    def revoke(self, name: str) -> None:
        """Take a grant back; one that is not there is none."""
        self.grants = [g for g in self.grants if g.grant != name]

    def spend(self, name: str) -> None:
        """Take one call from a grant's budget."""
        for grant in self.grants:
            if grant.grant == name and grant.left is not None:
                grant.left -= 1

    def find(self, name: str) -> Grant | None:
        """The grant called *name*, used up or not."""
        return next((g for g in self.grants if g.grant == name), None)

    def set_breakpoint(self, seq: int, data: Mapping[str, Any]) -> None:
        """Set a breakpoint, or with ``on`` false take it away."""
        new = Breakpoint(seq, data)
        self.breakpoints.pop(new.breakpoint, None)
        if data.get("on", True):
            self.breakpoints[new.breakpoint] = new

    def end_turn(self) -> None:
        """A human message: what was said for the turn is over."""
        if self.halt is not None and self.halt.scope == "turn":
            self.halt = None
        self.denials.clear()
        self.grants = [g for g in self.grants if g.until != "turn" and g.left != 0]

    def reset(self, scope: str, key: str) -> None:
        """Counters were reset: denials of what they counted end, and so does a halt of the turn."""
        if scope == "session":
            self.denials.clear()
            if self.halt is not None and self.halt.scope == "turn":
                self.halt = None
            return
        for signature in list(self.denials):
            if key == (tool_of(signature) if scope == "tool" else signature):
                del self.denials[signature]

    def copy(self) -> Controls:
        """Independent controls in the same state."""
        from copy import copy  # the agent never copies

        twin = Controls()
        twin.halt = copy(self.halt)
        twin.grants = [copy(g) for g in self.grants]
        for grant in twin.grants:
            grant.results = dict(grant.results)
        twin.denials = dict(self.denials)
        twin.breakpoints = dict(self.breakpoints)
        return twin
