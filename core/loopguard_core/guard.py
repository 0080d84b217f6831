"""The guard: a pure fold over the event log. A policy's verdicts and a human's word give rulings.

Live shim, hook process, console, replay and what-if all run this fold over the same events. The latest
human instruction that covers a call (by position in the log) wins, then the guard's own halt latch,
then the verdict. A call that runs against a stopping verdict, because a human let it, leaves no mark on
the policy's counters.
"""

from __future__ import annotations

from copy import copy

from loopguard_core.events import Event
from loopguard_core.identity import EXACT, Digester, ExactScheme, Payload
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.traits import TraitTable
from loopguard_core.verdict import Ruling, Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.identity import Record, Scheme
    from loopguard_core.verdict import Count

MODES = ("observe", "ask", "enforce")


class Grant:
    """A human's standing permission. ``left``: calls it may still release, None for no limit.

    ``scope``: ``signature``, ``tool`` or ``session``. ``until``: ``turn``, ``result`` or empty.
    """

    __slots__ = ("by", "expires", "grant", "key", "left", "note", "result", "scope", "seq", "until")

    def __init__(self, seq: int, data: Mapping[str, Any]) -> None:
        budget = data.get("budget")
        expires = data.get("expires")
        self.seq = seq
        self.grant = str(data["grant"])
        self.scope = str(data["scope"])
        self.key = str(data.get("key", ""))
        self.left: int | None = int(budget) if budget is not None else None
        self.expires: float | None = float(expires) if expires is not None else None
        self.until = str(data.get("until", ""))
        self.by = str(data.get("by", ""))
        self.note = str(data.get("note", ""))
        self.result = str(data.get("result", ""))

    def covers(self, tool: str, signature: str, ts: float | None) -> bool:
        """True where this grant speaks for a call of *tool* with *signature* at *ts*."""
        if self.left is not None and self.left <= 0:
            return False
        if self.expires is not None and ts is not None and ts >= self.expires:
            return False
        if self.scope == "session":
            return True
        return self.key == (tool if self.scope == "tool" else signature)


class Halt:
    """A stop in force. ``scope``: ``turn`` or ``session``. ``by`` is empty for the guard's own latch."""

    __slots__ = ("asked", "by", "note", "scope", "seq", "verdict")

    def __init__(self, seq: int, scope: str, by: str, note: str, verdict: Verdict | None) -> None:
        self.seq = seq
        self.scope = scope
        self.by = by
        self.note = note
        self.verdict = verdict
        self.asked = False


class _Open:
    """A call between its start and its end."""

    __slots__ = ("args", "call", "ruling", "started", "traits")

    def __init__(self, call: Call, args: Payload, ruling: Ruling, started: bool) -> None:
        self.call = call
        self.args = args
        self.ruling = ruling
        self.started = started


class Guard:
    """The fold. Feed it every event of one session in order with ``apply``.

    Before a new call is appended, ``rule`` tells what is to happen to it; ``rule`` records nothing.
    *unique*: whoever feeds it sees to it that no call starts twice, so the guard keeps no list of them.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        mode: str = "ask",
        traits: TraitTable | None = None,
        digester: Digester | None = None,
        unique: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"no mode is called {mode!r}: {', '.join(MODES)}")
        self.policy = policy
        self.mode = mode
        self.traits = traits or TraitTable()
        self.digester = digester or Digester()
        self.seq = 0
        self.turns = 0
        self.latch: Halt | None = None
        self.halt: Halt | None = None
        self.grants: list[Grant] = []
        self._denied: dict[str, tuple[int, str]] = {}
        self._open: dict[str, _Open] = {}
        self._unique = unique
        self._seen: set[str] = set()
        self._requests: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._last_ts: float | None = None
        self._schemes: tuple[Scheme, ...] = (ExactScheme(), *policy.schemes)

    # -- records ---------------------------------------------------------------------------------

    def identify(
        self, tool: str, args: Payload, annotations: Mapping[str, Any] | None = None
    ) -> dict[str, Record]:
        """The records of a requested call, one a scheme, to be stored on its ``call_start``."""
        traits = self.traits.of(tool, annotations)
        return {s.name: s.request(tool, args, traits) for s in self._schemes}

    def identify_result(
        self, tool: str, args: Payload, result: Payload, ok: bool, request: Mapping[str, Record]
    ) -> dict[str, Record]:
        """The records of a result, one a scheme, to be stored on its ``call_end``."""
        traits = self.traits.of(tool)
        return {
            s.name: s.outcome(tool, args, result, ok, traits, request[s.name])
            for s in self._schemes
        }

    # -- asking ----------------------------------------------------------------------------------

    def rule(self, event: Event) -> Ruling:
        """What is to happen to the call of this ``call_start``, if it came now. Records nothing."""
        return self._rule(self._call(event)[0])

    def counts(self) -> list[Count]:
        """The policy's counters, without recording a call."""
        return self.policy.counts()

    def open_calls(self) -> list[str]:
        """Calls that have started and not ended."""
        return list(self._open)

    def ruling(self, call: str) -> Ruling | None:
        """The ruling under which an open call started, None where it is not open."""
        opened = self._open.get(call)
        return None if opened is None else opened.ruling

    def peer_message(self, agent: str = "") -> str:
        """The message of a call of *agent* that is still open, for hosts that do not name messages."""
        for open_call in reversed(self._open.values()):
            if open_call.call.agent == agent:
                return open_call.call.message
        return ""

    # -- the fold --------------------------------------------------------------------------------

    def apply(self, event: Event) -> Verdict | None:
        """Fold one event in. The verdict on a ``call_start`` or ``call_end``, else None."""
        if event.seq:
            self.seq = event.seq
        handler = _HANDLERS.get(event.type)
        verdict = handler(self, event) if handler is not None else None
        if event.ts is not None:
            self._last_ts = event.ts
        return verdict

    def copy(self) -> Guard:
        """An independent guard in the same state."""
        twin = copy(self)
        twin.policy = self.policy.copy()
        twin.grants = [copy(g) for g in self.grants]
        twin.latch, twin.halt = copy(self.latch), copy(self.halt)
        twin._denied = dict(self._denied)
        twin._open = {k: copy(v) for k, v in self._open.items()}
        twin._seen = set(self._seen)
        twin._requests = dict(self._requests)
        twin._results = dict(self._results)
        return twin

    def _call(self, event: Event) -> tuple[Call, Payload]:
        data = event.data
        tool = str(data["tool"])
        args = Payload(data.get("args"), self.digester)
        stored = data.get("ids")
        records: dict[str, Record] = dict(stored) if isinstance(stored, dict) else {}
        approximate = False
        missing = [s for s in self._schemes if s.name not in records]
        if missing:
            traits = self.traits.of(tool, data.get("traits"))
            approximate = bool(data.get("cut") or data.get("redacted"))
            for scheme in missing:
                records[scheme.name] = scheme.request(tool, args, traits)
        gap = data.get("dt")
        if gap is None and event.ts is not None and self._last_ts is not None:
            gap = event.ts - self._last_ts
        call = Call(
            str(data["call"]),
            tool,
            records,
            message=str(data.get("message") or ""),
            agent=str(data.get("agent") or ""),
            ts=event.ts,
            gap=gap,
            approximate=approximate,
        )
        return call, args

    def _rule(self, call: Call) -> Ruling:
        verdict = self.policy.peek(call)
        signature = verdict.signature
        latched = self.latch is not None
        stops = verdict.stops or latched
        grant = self._covering(call.tool, signature, call.ts)
        halt_seq = self.halt.seq if self.halt else -1
        deny_seq, deny_note = self._denied.get(signature, (-1, ""))
        if grant is not None and grant.seq > halt_seq and grant.seq > deny_seq:
            return Ruling("run", verdict, cause="grant", ref=grant.grant, released=stops)
        if self.halt is not None and halt_seq > deny_seq:
            return Ruling(
                "refuse", verdict, tier=Tier.HALT, cause="halt", note=self.halt.note, ends_turn=True
            )
        if deny_seq >= 0 and self.mode != "observe":
            tier = max(verdict.tier, Tier.BLOCK)
            return Ruling("refuse", verdict, tier=tier, cause="deny", note=deny_note)
        if self.mode == "observe":
            return Ruling("run", verdict)
        if self.latch is not None:
            ask = self.mode == "ask" and not self.latch.asked
            return Ruling(
                "ask" if ask else "refuse",
                verdict,
                tier=Tier.HALT,
                why=self.latch.verdict,
                cause="latch",
                ends_turn=True,
            )
        if not verdict.stops:
            return Ruling("run", verdict)
        ends = verdict.tier is Tier.HALT or verdict.ends_turn
        return Ruling("ask" if self.mode == "ask" else "refuse", verdict, ends_turn=ends)

    def _covering(self, tool: str, signature: str, ts: float | None) -> Grant | None:
        for grant in reversed(self.grants):
            if grant.covers(tool, signature, ts):
                return grant
        return None

    # -- one method an event type ----------------------------------------------------------------

    def _call_start(self, event: Event) -> Verdict | None:
        call, args = self._call(event)
        if not self._unique:
            if call.call in self._seen:
                return None
            self._seen.add(call.call)
        ruling = self._rule(call)
        started = ruling.action == "run" and not ruling.released
        if started:
            self.policy.start(call)
        elif ruling.cause == "grant":
            self._spend(ruling.ref)
        self._open[call.call] = _Open(call, args, ruling, started)
        return ruling.verdict

    def _spend(self, grant_id: str) -> None:
        for grant in self.grants:
            if grant.grant == grant_id and grant.left is not None:
                grant.left -= 1

    def _call_end(self, event: Event) -> Verdict | None:
        opened = self._open.pop(str(event.data["call"]), None)
        if opened is None:
            return None
        kind = str(event.data["outcome"])
        if kind == "blocked":
            self._refused(opened, event.seq)
            return None
        call = opened.call
        outcome = self._outcome(opened, event, kind)
        self._result_seen(opened, outcome)
        if not opened.started:
            return None
        verdict = self.policy.end(call, outcome)
        if verdict is not None and self._latches(verdict):
            self.latch = Halt(event.seq, "turn", "", verdict.reason, verdict)
        return verdict

    def _outcome(self, opened: _Open, event: Event, kind: str) -> Outcome:
        call = opened.call
        stored = event.data.get("ids")
        records: dict[str, Record] = dict(stored) if isinstance(stored, dict) else {}
        missing = [s for s in self._schemes if s.name not in records]
        if missing and kind != "pending":
            result = Payload(event.data.get("result"), self.digester)
            traits = self.traits.of(call.tool)
            for scheme in missing:
                records[scheme.name] = scheme.outcome(
                    call.tool, opened.args, result, kind == "ok", traits, call.records[scheme.name]
                )
        duration = event.data.get("duration")
        closes = event.data.get("last")
        if closes is None:
            closes = all(o.call.message != call.message for o in self._open.values())
        return Outcome(
            kind,
            records,
            ts=event.ts,
            duration=float(duration) if isinstance(duration, (int, float)) else None,
            closes_message=bool(closes),
        )

    def _refused(self, opened: _Open, seq: int) -> None:
        if opened.started:
            self.policy.end(opened.call, Outcome("blocked", {}))
        else:
            self.policy.refuse(opened.call)
        if self.latch is not None:
            self.latch.asked = True
        elif self._latches(opened.ruling.verdict):
            verdict = opened.ruling.verdict
            self.latch = Halt(seq, "turn", "", verdict.reason, verdict)
            self.latch.asked = True

    def _latches(self, verdict: Verdict) -> bool:
        if self.mode == "observe":
            return False
        return verdict.tier is Tier.HALT or (verdict.tier is Tier.BLOCK and verdict.ends_turn)

    def _result_seen(self, opened: _Open, outcome: Outcome) -> None:
        digest = str(outcome.records.get(EXACT, {}).get("r", ""))
        signature = opened.ruling.verdict.signature
        before = self._results.get(signature, digest)
        self._results[signature] = digest
        if opened.ruling.cause == "grant" and digest != before:
            for grant in self.grants:
                if grant.grant == opened.ruling.ref and grant.until == "result":
                    grant.left = 0

    def _user_message(self, event: Event) -> None:
        self.turns += 1
        self.latch = None
        if self.halt is not None and self.halt.scope == "turn":
            self.halt = None
        self._denied.clear()
        self._results.clear()
        self.grants = [g for g in self.grants if g.until != "turn" and g.left != 0]
        self.policy.turn("user")

    def _turn_start(self, event: Event) -> None:
        self.turns += 1
        self.policy.turn(event.text("reason") or "host")

    def _text(self, event: Event) -> None:
        self.policy.text(event.type)

    def _session_start(self, event: Event) -> None:
        mode = event.data.get("mode")
        if mode in MODES:
            self.mode = mode
        self._open.clear()

    def _request_opened(self, event: Event) -> None:
        self._requests[event.text("request")] = str(event.data["call"])

    def _request_resolved(self, event: Event) -> None:
        call = self._requests.pop(event.text("request"), "")
        opened = self._open.get(call)
        if opened is not None and event.text("resolution") == "denied":
            signature = opened.ruling.verdict.signature
            self._denied[signature] = (event.seq, event.text("note"))

    def _grant(self, event: Event) -> None:
        self.grants.append(Grant(event.seq, event.data))

    def _revoke(self, event: Event) -> None:
        gone = event.text("grant")
        self.grants = [g for g in self.grants if g.grant != gone]

    def _halt(self, event: Event) -> None:
        scope = event.text("scope") or "turn"
        self.halt = Halt(event.seq, scope, event.text("by") or "human", event.text("note"), None)

    def _resume(self, event: Event) -> None:
        self.latch = None
        self.halt = None

    def _reset(self, event: Event) -> None:
        scope, key = event.text("scope") or "session", event.text("key")
        if scope == "tool":
            self.policy.reset(tool=key)
        elif scope == "signature":
            self.policy.reset(signature=key)
        else:
            self.policy.reset()
        held = self.latch.verdict if self.latch is not None else None
        if scope == "session" or held is None or held.signature == key or _tool(held) == key:
            self.latch = None
        if scope == "session":
            self._denied.clear()
        else:
            for signature in [s for s in self._denied if key in (s, s.rpartition(":")[0])]:
                del self._denied[signature]


def _tool(verdict: Verdict) -> str:
    return verdict.signature.rpartition(":")[0]


_HANDLERS = {
    "call_start": Guard._call_start,
    "call_end": Guard._call_end,
    "user_message": Guard._user_message,
    "turn_start": Guard._turn_start,
    "assistant_text": Guard._text,
    "system_message": Guard._text,
    "session_start": Guard._session_start,
    "request_opened": Guard._request_opened,
    "request_resolved": Guard._request_resolved,
    "grant": Guard._grant,
    "revoke": Guard._revoke,
    "halt": Guard._halt,
    "resume": Guard._resume,
    "reset": Guard._reset,
}
