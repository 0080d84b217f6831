"""Asking a policy alone about a recording: one row a call, without latch, grants or mode."""

from __future__ import annotations

from collections import deque

from loopguard_core.events import ASIDE, compared, expand
from loopguard_core.identity import Digester, Payload
from loopguard_core.policies.base import Call, Outcome
from loopguard_core.traits import TraitTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.identity import Record, Scheme
    from loopguard_core.policies.base import Policy
    from loopguard_core.traits import Traits
    from loopguard_core.verdict import Verdict


class Row:
    """What a policy says of one call.

    ``at``: 0-based index of the event in the input; for split calls that of ``call_start``. ``before`` and
    ``after``: the verdicts before the call and on its result, None where that stage does not exist: the
    policy never sees the call, or the call did not run, or its end says nothing.
    """

    __slots__ = (
        "after",
        "args",
        "at",
        "before",
        "call",
        "done",
        "new",
        "ok",
        "started",
        "tool",
        "traits",
    )

    def __init__(self, at: int, call: Call, args: Payload, traits: Traits, before: Verdict) -> None:
        self.at = at
        self.call = call
        self.args = args
        self.tool = call.tool
        self.traits = traits
        self.before: Verdict | None = before
        self.after: Verdict | None = None
        self.started = not before.stops
        self.done = False
        self.ok = False
        self.new = False

    @property
    def verdict(self) -> Verdict | None:
        """The one that counts: the stronger of the two, the later of equals."""
        if self.after is None or self.before is None:
            return self.after or self.before
        return self.before if self.before.tier > self.after.tier else self.after

    @property
    def stops(self) -> bool:
        """True where a stage blocks or halts."""
        return any(v is not None and v.stops for v in (self.before, self.after))

    def to_json(self) -> dict[str, Any]:
        """The row as ``judge --json`` prints it."""
        said = self.verdict
        return {
            "at": self.at,
            "before": None if self.before is None else self.before.tier.word,
            "after": None if self.after is None else self.after.tier.word,
            "count": None if said is None else said.count,
            "threshold": None if said is None else said.threshold,
            "detector": "" if said is None else said.detector,
            "signature": "" if said is None else said.signature,
            "reason": "" if said is None else said.reason,
        }


def judge(
    events: Iterable[Event],
    policy: Policy,
    *,
    traits: TraitTable | None = None,
    digester: Digester | None = None,
) -> Iterator[Row]:
    """One row for each call in *events*, in the order of the calls. *policy* is folded on.

    A refused call is judged on: the recording says what it would have returned, and the policy does not
    see that. Each session in the input has its own counters. Rows come as soon as all calls before theirs have ended, the rest at the end of the input.
    """
    judging = _Judging(policy, traits or TraitTable(), digester or Digester())
    for at, event in expand(events):
        judging.take(at, event)
        while judging.rows and judging.rows[0].done:
            yield judging.rows.popleft()
    yield from judging.rows


class _Judging:
    def __init__(self, policy: Policy, traits: TraitTable, digester: Digester) -> None:
        self.policy = policy
        self._fresh = policy.copy()
        self._policies: dict[str, Policy] = {}
        self.traits = traits
        self.digester = digester
        self.rows: deque[Row] = deque()
        self._open: dict[tuple[str, str], Row] = {}
        self._clock: dict[str, float] = {}
        self._known: dict[str, set[str]] = {}

    def take(self, at: int, event: Event) -> None:
        self.policy = self._policy(event.session)
        if event.type == "call_start":
            self._start(at, event)
        elif event.type == "call_end":
            self._end(event)
        elif event.type == "user_message":
            self.policy.turn("user")
        elif event.type == "turn_start":
            self.policy.turn(event.text("reason") or "host")
        elif event.type in ("assistant_text", "system_message"):
            self.policy.text(event.type)
        elif event.type == "reset":
            self._reset(event)
        if event.ts is not None:
            if event.type not in ASIDE:
                self._clock[event.session] = event.ts
            elif event.type == "session_start":
                self._clock.setdefault(event.session, event.ts)

    def _policy(self, session: str) -> Policy:
        """The policy of *session*: the one that was given for the first, a fresh copy for each other."""
        known = self._policies.get(session)
        if known is None:
            known = self._fresh.copy() if self._policies else self.policy
            self._policies[session] = known
        return known

    def _reset(self, event: Event) -> None:
        scope, key = event.text("scope"), event.text("key")
        self.policy.reset(
            tool=key if scope == "tool" else "", signature=key if scope == "signature" else ""
        )

    def _start(self, at: int, event: Event) -> None:
        tool, args = str(event.data["tool"]), Payload(event.data.get("args"), self.digester)
        traits = self.traits.of(tool, event.data.get("traits"))
        records = self._stored(event, outcome=False)
        for scheme in self._missing(records):
            records[scheme.name] = scheme.request(tool, args, traits)
        gap = event.data.get("dt")
        last = self._clock.get(event.session)
        if gap is None and event.ts is not None and last is not None:
            gap = event.ts - last
        call = Call(
            f"{event.session}/{event.data['call']}",
            tool,
            records,
            message=f"{event.session}/{event.data.get('message') or event.data['call']}",
            agent=event.text("agent"),
            ts=event.ts,
            gap=gap,
            approximate=bool(event.data.get("cut") or event.data.get("redacted")),
        )
        row = Row(at, call, args, traits, self.policy.peek(call))
        if row.started:
            self.policy.start(call)
        elif self.policy.sees_denied:
            self.policy.refuse(call)
        self.rows.append(row)
        self._open[event.session, str(event.data["call"])] = row

    def _end(self, event: Event) -> None:
        row = self._open.pop((event.session, str(event.data["call"])), None)
        if row is None:
            return
        kind = str(event.data["outcome"])
        row.done = True
        denied, policy = kind == "denied", self.policy
        if not row.started and denied and not policy.asked_first:
            row.before, row.started = policy.allow(row.call), True
            policy.start(row.call)
        outcome = self._outcome(row, event, kind)
        if row.started:
            row.after = policy.end(row.call, outcome)
        elif not policy.sees_denied and not denied:
            policy.refuse(row.call)
        if denied and not policy.sees_denied:
            row.before = row.after = None

    def _outcome(self, row: Row, event: Event, kind: str) -> Outcome:
        records = self._stored(event, outcome=True)
        result = Payload(compared(event.data), self.digester)
        for scheme in self._missing(records):
            request = row.call.records[scheme.name]
            records[scheme.name] = scheme.outcome(
                row.tool, row.args, result, kind == "ok", row.traits, request
            )
        row.ok = kind == "ok"
        known = self._known.setdefault(row.call.tool + row.args.digest, set())
        row.new = result.digest not in known
        known.add(result.digest)
        duration = event.data.get("duration")
        closes = event.data.get("last")
        if closes is None:
            message = row.call.message
            closes = all(o.call.message != message for o in self._open.values())
        return Outcome(
            kind,
            records,
            ts=event.ts,
            duration=float(duration) if isinstance(duration, (int, float)) else None,
            closes_message=bool(closes),
        )

    def _stored(self, event: Event, *, outcome: bool) -> dict[str, Record]:
        ids = event.data.get("ids")
        if not isinstance(ids, dict):
            return {}
        schemes = {scheme.name: scheme for scheme in self.policy.schemes}
        return {
            name: record
            for name, record in ids.items()
            if name in schemes and schemes[name].fits(record, outcome=outcome)
        }

    def _missing(self, records: dict[str, Record]) -> list[Scheme]:
        return [scheme for scheme in self.policy.schemes if scheme.name not in records]
