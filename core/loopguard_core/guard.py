"""The guard: a pure fold over the event log. A policy's verdicts and a human's word give rulings.

Live shim, hook process, console, replay and what-if all run this fold over the same events. The latest
human instruction that covers a call (by position in the log) wins, then the guard's own halt latch,
then the verdict. A call that runs against a stopping verdict, because a human let it, leaves no mark on
the policy's counters.
"""

from __future__ import annotations

from loopguard_core.controls import Breakpoint, Controls, Denial, Grant, Halt
from loopguard_core.events import ASIDE, GOES_ON, Event, Judged
from loopguard_core.identity import EXACT, Digester
from loopguard_core.opened import OpenCall
from loopguard_core.policies.base import Call, Outcome, Policy
from loopguard_core.reading import Reading
from loopguard_core.traits import TraitTable
from loopguard_core.verdict import ALLOW, Ruling, Tier, Verdict, tool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from loopguard_core.verdict import Count

MODES = ("observe", "ask", "enforce")
#: signatures of a turn whose last result is known to a grant "until the result changes"
_REMEMBERED = 4096


class Guard:
    """The fold. Feed it every event of one session in order with ``apply``.

    Before a new call is appended, ``rule`` tells what is to happen to it; ``rule`` records nothing.
    *unique*: whoever feeds it sees to it that no call starts twice, so the guard keeps no list of them.
    *ours*: the records on the events were made on this machine, so that none has to be looked at.
    Not thread-safe: whoever shares one between threads takes turns.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        mode: str = "ask",
        traits: TraitTable | None = None,
        digester: Digester | None = None,
        unique: bool = False,
        ours: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"no mode is called {mode!r}: {', '.join(MODES)}")
        self.policy = policy
        self.mode = mode
        self.settings = ""
        self.traits = traits or TraitTable()
        self.digester = digester or Digester()
        self.controls = Controls()
        self.latch: Halt | None = None
        self.seq = 0
        self.turns = 0
        self._open: dict[str, OpenCall] = {}
        self._unique = unique
        self._seen: set[str] = set()
        self._requests: dict[str, tuple[str, str, float | None]] = {}
        self._unanswered: dict[str, tuple[str, float | None]] = {}
        self._results: dict[str, str] = {}
        #: what ended while its message went on, by message, tool and digest
        self._read: set[tuple[str, str, str]] = set()
        self._spoken = 0
        self._last_ts: float | None = None
        self._ruled: OpenCall | None = None
        self.reading = Reading(policy.schemes, self.traits, self.digester, ours=ours)

    # -- records ---------------------------------------------------------------------------------

    def needs_payload(self, event: Event) -> bool:
        """Whether the fold makes records of *event* that are not stored on it."""
        return event.type in ("call_start", "call_end") and self.reading.makes(event)

    # -- asking ----------------------------------------------------------------------------------

    def rule(self, event: Event) -> Ruling:
        """What is to happen to the call of this ``call_start``, if it came now. Records nothing."""
        call, args = self.reading.call_of(event, self._last_ts)
        hit = event.text("breakpoint") if "breakpoint" in event.data else ""
        ruling = self._rule(call, hit)
        self._ruled = OpenCall(event, call, args, hit, ruling, self._spoken)
        return ruling

    def review(self, call: str) -> Ruling | None:
        """The ruling on a call that has started and waits, by what holds now. None: it is not open."""
        opened = self._open.get(call)
        return None if opened is None else self._rule(opened.call, opened.hit)

    def counts(self) -> list[Count]:
        """The policy's counters, without recording a call."""
        return self.policy.counts()

    @property
    def latest(self) -> float | None:
        """When the latest event was, in seconds since the epoch; None before the first."""
        return self._last_ts

    def open_calls(self, *, ours: bool = False) -> list[str]:
        """Calls that have started and not ended. *ours*: only those that were judged here, as far as is known."""
        return [c for c, o in self._open.items() if not ours or type(o.start) is Judged]

    def asked(self) -> list[tuple[str, str]]:
        """Requests that are not resolved, each with its call."""
        return [(request, about) for request, (about, *_) in self._requests.items()]

    def ruling(self, call: str) -> Ruling | None:
        """The ruling under which an open call started, None where it is not open."""
        opened = self._open.get(call)
        return None if opened is None else opened.ruling

    def open_call(self, tool: str, digest: str) -> str:
        """The oldest open call of *tool* with these exact arguments, else of *tool*, else empty.

        For hosts that do not name calls; *digest* is that of the scheme ``exact``.
        """
        named = [o for o in self._open.values() if o.call.tool == tool]
        same = [o for o in named if o.digest == digest]
        return (same or named)[0].call.call if named else ""

    def records(self, call: str, tool: str) -> Mapping[str, Any] | None:
        """Those under which *call* of *tool* started, None where it is not open: a scheme knows what it reads itself."""
        opened = self._open.get(call)
        return None if opened is None or opened.call.tool != tool else opened.call.records

    def is_open(self, call: str, tool: str, digest: str, message: str = "") -> bool:
        """Whether *call* is open, and one of *tool* with these exact arguments, and of *message* if that is given.

        *digest* as for ``open_call``.
        """
        opened = self._open.get(call)
        if opened is None or opened.call.tool != tool:
            return False
        if message and opened.call.message != message:
            return False
        return opened.digest == digest

    def peer_message(self, tool: str, digest: str, agent: str = "") -> str:
        """The message of a call of *agent* in this turn that is still open, for hosts that name none.

        Not that of one whose message has had an answer to this very call: who asks again has read it. *digest* as
        for ``open_call``.
        """
        for opened in reversed(self._open.values()) if self._open else ():
            if opened.call.agent == agent and opened.spoken == self._spoken:
                message = opened.call.message
                return "" if (message, tool, digest) in self._read else message
        return ""

    def unanswered(self, signature: str, ts: float | None) -> str:
        """The request about *signature* that nobody answered and that may still be approved, or empty."""
        request, until = self._unanswered.get(signature, ("", None))
        return "" if until is not None and ts is not None and ts >= until else request

    # -- the fold --------------------------------------------------------------------------------

    def apply(self, event: Event) -> Verdict | None:
        """Fold one event in. The verdict on a ``call_start`` or ``call_end``, else None."""
        if event.seq:
            self.seq = event.seq
        handler = _HANDLERS.get(event.type)
        verdict = handler(self, event) if handler is not None else None
        self._ruled = None
        if event.ts is not None and event.type not in ASIDE:
            self._last_ts = event.ts
        return verdict

    def adopt(self, other: Guard) -> None:
        """Go on with the policy and the traits of *other*, which has folded the same turn."""
        self.policy, self.traits, self.reading = other.policy, other.traits, other.reading
        self._open = other._open

    def copy(self) -> Guard:
        """An independent guard in the same state."""
        from copy import copy  # the agent never copies

        twin = copy(self)
        twin.policy = self.policy.copy()
        twin.controls = self.controls.copy()
        twin.latch = copy(self.latch)
        twin._open = {k: copy(v) for k, v in self._open.items()}
        twin._seen = set(self._seen)
        twin._requests = dict(self._requests)
        twin._unanswered = dict(self._unanswered)
        twin._results = dict(self._results)
        twin._read = set(self._read)
        twin._ruled = None
        return twin

    def dump(self) -> dict[str, Any]:
        """The state in plain containers, without payloads. Raises ``Unfreezable`` where it cannot be."""
        from loopguard_core.freezing import attributes, freeze

        state = {name: freeze(getattr(self, name)) for name in _STATE}
        state["open"] = [
            (freeze(o.call), o.hit, freeze(o.ruling), o.spoken, o.request)
            for o in self._open.values()
        ]
        members = getattr(self.policy, "members", ())
        state["policies"] = [attributes(p, private=True) for p in (self.policy, *members)]
        return state

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that ``dump`` gave, of a guard with the same policy and settings."""
        from loopguard_core.freezing import set_attributes, thaw

        for name in _STATE:
            setattr(self, name, thaw(state[name]))
        for call, hit, ruling, spoken, request in state["open"]:
            opened = OpenCall(None, thaw(call), None, hit, thaw(ruling), spoken)
            opened.request = request
            self._open[opened.call.call] = opened
        members = getattr(self.policy, "members", ())
        for policy, own in zip((self.policy, *members), state["policies"], strict=True):
            set_attributes(policy, own)

    def _rule(self, call: Call, hit: str) -> Ruling:
        verdict, controls = self.policy.peek(call), self.controls
        if not (
            verdict.tier is not ALLOW
            or self.latch
            or controls.halt
            or controls.grants
            or controls.denials
            or controls.breakpoints
        ):
            return Ruling("run", verdict)  # as nearly every call
        said = controls.word(call.tool, verdict.signature, call.ts, hit)
        if said is None:
            return self._own(verdict)
        if isinstance(said, Grant):
            stops = (
                self.mode != "observe" and (verdict.stops or self.latch is not None)
            ) or controls.stops(verdict.signature, hit)
            return Ruling("run", verdict, cause="grant", ref=said.grant, by=said.by, released=stops)
        if isinstance(said, Breakpoint):
            tier = max(verdict.tier, Tier.BLOCK)
            return Ruling(
                "ask",
                verdict,
                tier=tier,
                cause="breakpoint",
                ref=said.breakpoint,
                note=said.note,
                ends_turn=self._latches(verdict),
            )
        if isinstance(said, Halt):
            return Ruling(
                "refuse",
                verdict,
                tier=Tier.HALT,
                cause="halt",
                by=said.by,
                note=said.note,
                ends_turn=True,
            )
        return Ruling(
            "refuse",
            verdict,
            tier=max(verdict.tier, Tier.BLOCK),
            cause="deny",
            by=said.by,
            note=said.note,
            ends_turn=self._latches(verdict),
        )

    def _own(self, verdict: Verdict) -> Ruling:
        """The guard's own ruling, where no human has spoken: the latch, then the verdict."""
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
                ref=self.latch.request,
                ends_turn=True,
            )
        if not verdict.stops:
            return Ruling("run", verdict)
        action = "ask" if self.mode == "ask" else "refuse"
        return Ruling(action, verdict, ends_turn=self._latches(verdict))

    def _latches(self, verdict: Verdict) -> bool:
        return self.mode != "observe" and verdict.latches

    # -- one method an event type ----------------------------------------------------------------

    def _call_start(self, event: Event) -> Verdict | None:
        name = str(event.data["call"])
        if not self._unique:
            if name in self._seen:
                return None
            self._seen.add(name)
        opened = self._ruled
        if opened is None or opened.start is not event:
            self.rule(event)
            opened = self._ruled
            assert opened is not None
        if opened.started:
            self.policy.start(opened.call)
        elif opened.ruling.cause == "grant":
            self.controls.spend(opened.ruling.ref)
        self._open[name] = opened
        return opened.ruling.verdict

    def _call_end(self, event: Event) -> Verdict | None:
        opened = self._open.pop(str(event.data["call"]), None)
        if opened is None:
            return None
        if opened.spoken != self._spoken and not self.policy.spans_turns:
            return None  # a human has spoken since: what began before counts nothing after it
        kind = str(event.data["outcome"])
        closes = not self._open or self._closes(opened.call.message)
        if not closes:
            self._read.add((opened.call.message, opened.call.tool, opened.digest))
        if kind == "blocked":
            self._refused(opened, event.seq)
            return None
        outcome = self.reading.outcome_of(event, opened.call, opened.args, opened.start, closes)
        self._answered(opened, outcome)
        if not opened.started:
            return None
        verdict = self.policy.end(opened.call, outcome)
        if verdict is not None and verdict.tier is not ALLOW and self._latches(verdict):
            self.latch = Halt(event.seq, note=verdict.reason, verdict=verdict)
        return verdict

    def _closes(self, message: str) -> bool:
        """Whether no other call of *message* is open."""
        spans = self.policy.spans_turns
        return not any(
            o.call.message == message and (spans or o.spoken == self._spoken)
            for o in self._open.values()
        )

    def _answered(self, opened: OpenCall, outcome: Outcome) -> None:
        signature = opened.ruling.verdict.signature
        exact = outcome.records.get(EXACT)
        digest = "" if exact is None else str(exact.get("r", ""))
        results = self._results
        results[signature] = digest
        if len(results) > _REMEMBERED:
            del results[next(iter(results))]
        if opened.ruling.cause == "grant":
            grant = self.controls.find(opened.ruling.ref)
            if grant is not None:
                grant.answered(signature, digest)

    def _refused(self, opened: OpenCall, seq: int) -> None:
        verdict, cause = opened.ruling.verdict, opened.ruling.cause
        if opened.started:
            self.policy.end(opened.call, Outcome("blocked", {}))
        elif verdict.stops:
            self.policy.refuse(opened.call)
        else:  # a human's word or the latch stopped what the policy had allowed
            self.policy.start(opened.call)
            self.policy.end(opened.call, Outcome("blocked", {}))
        if opened.spoken != self._spoken:
            return  # what was asked before a human spoke latches nothing after it
        if cause in ("verdict", "deny", "breakpoint") and self._latches(verdict):
            self.latch = self.latch or Halt(seq, note=verdict.reason, verdict=verdict)
        elif cause != "latch":
            return
        if self.latch is not None:
            self.latch.asked = True
            self.latch.request = self.latch.request or opened.request

    def _user_message(self, event: Event) -> None:
        self.turns += 1
        self._spoken += 1
        self.latch = None
        self.controls.end_turn()
        self._requests.clear()
        self._unanswered.clear()
        self._results.clear()
        self._read.clear()
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
        self.settings = event.text("config") or self.settings
        if self._last_ts is None:
            self._last_ts = event.ts
        if event.text("reason") in GOES_ON:
            return
        for opened in self._open.values():  # the process that ran them is gone
            if opened.started:
                self.policy.end(opened.call, Outcome("pending", {}))
        self._open.clear()

    def _request_opened(self, event: Event) -> None:
        name, call = event.text("request"), str(event.data["call"])
        opened = self._open.get(call)
        signature = event.text("signature")
        if opened is not None:
            opened.request = name
            signature = opened.ruling.verdict.signature
        until = event.data.get("late_until")
        self._requests[name] = (call, signature, until)

    def _request_resolved(self, event: Event) -> None:
        name, resolution = event.text("request"), event.text("resolution")
        _, signature, until = self._requests.pop(name, ("", "", None))
        signature = event.text("signature") or signature
        until = event.data.get("late_until", until)
        if resolution == "denied" and signature:
            denial = Denial(event.seq, signature, event.text("by"), event.text("note"))
            self.controls.denials[signature] = denial
        elif resolution == "expired" and signature:
            self._unanswered[signature] = (name, until)
        elif resolution == "approved":
            self.controls.spend(event.text("grant"))

    def _grant(self, event: Event) -> None:
        grant = Grant(event.seq, event.data)
        grant.results = dict(self._results)
        self.controls.add(grant, event.ts)
        self._decided(grant.request)

    def _revoke(self, event: Event) -> None:
        self.controls.revoke(event.text("grant"))
        self._decided(event.text("request"))

    def _decided(self, request: str) -> None:
        """A human answered *request* after its end: its call is asked about anew."""
        self._unanswered = {s: r for s, r in self._unanswered.items() if r[0] != request}

    def _halt(self, event: Event) -> None:
        self.controls.stop(
            Halt(
                event.seq,
                scope=event.text("scope") or "turn",
                by=event.text("by") or "human",
                note=event.text("note"),
            )
        )

    def _resume(self, event: Event) -> None:
        self.latch = None
        self.controls.halt = None

    def _reset(self, event: Event) -> None:
        scope, key = event.text("scope") or "session", event.text("key")
        if scope == "tool":
            self.policy.reset(tool=key)
        elif scope == "signature":
            self.policy.reset(signature=key)
        else:
            self.policy.reset()
        self.controls.reset(scope, key)
        held = self.latch.verdict if self.latch is not None else None
        if held is not None and scope != "session":
            counted = tool_of(held.signature) if scope == "tool" else held.signature
            if counted != key:
                return
        self.latch = None

    def _breakpoint(self, event: Event) -> None:
        self.controls.set_breakpoint(event.seq, event.data)


_SEEN = ("mode", "settings", "seq", "turns", "controls", "latch")
_STATE = (*_SEEN, "_requests", "_unanswered", "_results", "_read", "_spoken", "_seen", "_last_ts")

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
    "breakpoint": Guard._breakpoint,
}
