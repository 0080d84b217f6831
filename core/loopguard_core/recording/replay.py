"""The read model: one session's calls, counters and tiers, live or at any step of its past.

A ``Recording`` folds the events of one session with a guard and keeps a few numbers a call; payloads
and verdicts are read again when somebody looks at them. The same object serves a session that grows
(``append``) and one that is stepped through (``guard_at``, ``next_change``): the counters at a step are
what the guard had at that step.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque

from loopguard_core.columns import Rising, Times
from loopguard_core.events import GOES_ON, TYPES, Event, expand
from loopguard_core.folding import ODD, fold
from loopguard_core.identity import EXACT, Payload
from loopguard_core.recording.calls import (
    STATES,
    Asked,
    Events,
    ListEvents,
    Mark,
    Row,
    stored_verdict,
)
from loopguard_core.recording.repeats import Repeats
from loopguard_core.recording.snapshots import Snapshots
from loopguard_core.spending import Spending
from loopguard_core.verdict import Tier, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from loopguard_core.guard import Guard

WINDOW = 20
_TURNS = ("user_message", "turn_start")
_CAUSES = ("verdict", "latch", "grant", "halt", "deny", "breakpoint")
_REMEMBERED = 1024
_AT_ONCE = 256
#: Events between a call's start and its end from which on they are kept apart.
_LONG = 0xFFFF
#: What may be said of a request after its end, and the field that names the request.
_ABOUT = {"grant": "request", "revoke": "request", "note": "on"}
#: Events that are shown between the calls.
MARKS = frozenset(n for n in TYPES if not n.startswith(("call", "request_", "usage")))


class Recording(Repeats):
    """The calls of one session, folded with *guard*, which belongs to the recording from here on.

    ``keys``, ``tiers`` and ``outcomes`` (places in ``STATES``) have one entry a call. ``letters`` numbers
    the keys that came again within a window, in the order in which they first did; ``asked_at`` has the last request about a call, ``decided`` the calls about
    which a person decided, in the order of the first decisions.
    *judges*: every verdict is the guard's own, whatever was recorded.
    """

    def __init__(
        self,
        guard: Guard,
        events: Events | None = None,
        *,
        window: int = WINDOW,
        judges: bool = False,
    ) -> None:
        self.guard = guard
        self.judges = judges
        self.source = ListEvents() if events is None else events
        self.window = window
        self.session = ""
        self.seq = 0
        self.turn = 0
        self.tools: list[str] = []
        self.marks: list[Mark] = []
        self._afresh: list[Mark] = []
        self.requests: dict[str, Asked] = {}
        self.asked_at: dict[int, Asked] = {}
        self.decided: dict[int, None] = {}
        self.start: Event | None = None
        self.end: Event | None = None
        self.lost = 0
        self.odd = 0
        self.spending = Spending()
        self.letters: dict[int, int] = {}
        self._last_of = array("I")
        self._first_of = array("I")
        self.worst = Tier.ALLOW
        self._key_of: dict[str, dict[str, int]] = {}
        self._signature_of: dict[str, int] = {}
        self._signatures: list[str] = []
        self._open: dict[str, int] = {}
        self._seen: set[str] = set()
        self._message = ""
        self._recent: deque[int] = deque()
        self._in_window: Counter[int] = Counter()
        self._snapshots = Snapshots(guard)
        self._read: dict[int, Event] = {}
        self.keys = array("I")
        self.tiers = bytearray()
        self._verdicts = bytearray()
        self.outcomes = bytearray()
        self._counts = bytearray()
        self._key_signature = array("I")
        self._odd_signatures: dict[int, int] = {}
        self._ts = Times()
        self._duration = array("f")
        self._turn_rows = array("I")
        self._starts = Rising()
        self._spans = array("H")
        self._long_spans: dict[int, int] = {}

    @classmethod
    def of(cls, events: Iterable[Event], guard: Guard, *, window: int = WINDOW) -> Recording:
        """A recording of events as they stand in a file (``call`` allowed; one session)."""
        recording = cls(guard, window=window)
        recording.append(event for _, event in expand(events))
        return recording

    def __len__(self) -> int:
        return len(self.keys)

    # -- folding -----------------------------------------------------------------------------------

    def append(self, events: Iterable[Event]) -> None:
        """Fold further events in. Those at or below ``seq`` are known already and are passed over."""
        memory = self.source.events if isinstance(self.source, ListEvents) else None
        for event in events:
            if event.seq and event.seq <= self.seq:
                continue
            if memory is not None:
                memory.append(event)
            self.seq = event.seq or self.seq + 1
            self.session = self.session or event.session
            try:
                self._fold(event)
            except ODD:
                self.odd += 1
            self._snapshots.passed(self.seq, self.guard)

    def _fold(self, event: Event) -> None:
        if event.type == "call_start":
            self._start(event)
            return
        verdict = self.guard.apply(event)
        if event.type == "call_end":
            self._end(event, verdict)
        elif event.type == "request_opened":
            row = self._open.get(event.text("call"), len(self) - 1)
            asked = Asked(event.text("request"), row, event)
            self.requests[asked.request] = self.asked_at[row] = asked
        elif event.type == "request_resolved":
            known = self.requests.get(event.text("request"))
            if known is not None and known.resolved is None:
                known.resolved, known.resolved_seq = event, self.seq
                self._decide(known)
        elif event.type == "usage":
            self._spend(event)
        elif event.type in MARKS:
            self._mark(event)
            name = event.text(_ABOUT[event.type]) if event.type in _ABOUT else ""
            about = self.requests.get(name) if name else None
            if about is not None and about.resolved is not None:
                about.later = event
                self._decide(about)

    def _decide(self, asked: Asked) -> None:
        if asked.word is not None:
            self.decided.setdefault(asked.row)

    def _spend(self, event: Event) -> None:
        row = len(self)
        if row and event.text("message") == self._message:  # its calls came before it
            row -= 1
            while row and self.together(row):
                row -= 1
        self.spending.add(row, event.data)

    def _mark(self, event: Event) -> None:
        if event.type == "session_start":
            self.start = self.start or event
            self.end = None
            if event.text("reason") not in GOES_ON:
                for row in self._open.values():
                    self.outcomes[row] = STATES.index("pending")
                self._open.clear()
        elif event.type == "session_end":
            self.end = event
            for row in self._open.values():  # one that ends all the same still may
                self.outcomes[row] = STATES.index("pending")
        elif event.type in _TURNS:
            self.turn += 1
            self._turn_rows.append(len(self))
        elif event.type == "gap":
            count = event.data.get("count")
            self.lost += count if isinstance(count, int) else 0
        mark = Mark(len(self), event)
        self.marks.append(mark)
        if event.type in ("reset", "user_message"):
            self._afresh.append(mark)

    def _start(self, event: Event) -> None:
        call = str(event.data["call"])
        if not self.source.unique:
            if call in self._seen:
                return
            self._seen.add(call)
        verdict = self._stored(event)
        folded = self.guard.apply(event)
        ruling = self.guard.ruling(call)
        verdict = verdict or folded or Verdict(Tier.ALLOW, "")
        tool = str(event.data["tool"])
        row = len(self.keys)
        self._open[call] = row
        message = str(event.data.get("message") or call)
        together = message == self._message
        self._message = message
        key = self._key(tool, event)
        self.keys.append(key)
        count = self._slide(key)
        if count > 1 and key not in self.letters:
            self.letters[key] = len(self.letters)
        self._counts.append(together << 7 | min(count, 127))
        self.tiers.append(verdict.tier)
        self.worst = max(self.worst, verdict.tier)
        cause = _CAUSES.index(ruling.cause) if ruling is not None else 0
        released = ruling is not None and ruling.released
        self._verdicts.append(released << 7 | cause << 4 | verdict.tier)
        self.outcomes.append(0)
        signature = self._signature(verdict.signature)
        if signature == len(self._last_of):
            self._last_of.append(row)
        self._last_of[signature] = row
        if key == len(self._key_signature):
            self._key_signature.append(signature)
        elif self._key_signature[key] != signature:
            self._odd_signatures[row] = signature
        self._ts.append(event.ts)
        self._duration.append(float("nan"))
        self._starts.append(self.seq)
        self._spans.append(0)

    def _stored(self, event: Event) -> Verdict | None:
        return None if self.judges else stored_verdict(event)

    def _end(self, event: Event, folded: Verdict | None) -> None:
        row = self._open.pop(str(event.data["call"]), None)
        if row is None:
            return
        verdict = self._stored(event) or folded
        self.outcomes[row] = STATES.index(str(event.data["outcome"]))
        span = self.seq - self._starts[row]
        self._spans[row] = min(span, _LONG)
        if span >= _LONG:
            self._long_spans[row] = span
        if verdict is not None:
            self._verdicts[row] |= verdict.tier << 2
            self.tiers[row] = max(self.tiers[row], verdict.tier)
            self.worst = max(self.worst, verdict.tier)
        duration, began = event.data.get("duration"), self._ts[row]
        if isinstance(duration, (int, float)):
            self._duration[row] = float(duration)
        elif event.ts is not None and began is not None and event.ts > began:
            self._duration[row] = event.ts - began

    def go_on_under(self, guard: Guard) -> None:
        """The session goes on under other settings: those of *guard*, a fresh one.

        The turn is folded with it once more; what was shown of earlier calls stays.
        """
        turns = (m.event.seq for m in reversed(self.marks) if m.event.type in _TURNS)
        reached = 0 if guard.policy.spans_turns else next(turns, 1) - 1
        while reached < self.seq and (events := self.source.after(reached, _AT_ONCE)):
            for event in events:
                fold(guard, event)
            reached = events[-1].seq or reached + len(events)
        self.guard.adopt(guard)
        self._snapshots.turned(self.seq, self.guard)

    def _key(self, tool: str, event: Event) -> int:
        ids = event.data.get("ids")
        record = ids.get(EXACT) if isinstance(ids, dict) else None
        digest = record.get("a") if isinstance(record, dict) else None
        if digest is None:
            digest = Payload(event.data.get("args"), self.guard.digester).digest
        of_tool = self._key_of.setdefault(tool, {})
        known = of_tool.get(digest)
        if known is None:
            known = of_tool[digest] = len(self.tools)
            self.tools.append(tool)
            self._first_of.append(len(self.keys))
        return known

    def _signature(self, signature: str) -> int:
        known = self._signature_of.get(signature)
        if known is None:
            known = self._signature_of[signature] = len(self._signatures)
            self._signatures.append(signature)
        return known

    def _slide(self, key: int) -> int:
        self._recent.append(key)
        self._in_window[key] += 1
        if len(self._recent) > self.window:
            gone = self._recent.popleft()
            self._in_window[gone] -= 1
            if not self._in_window[gone]:
                del self._in_window[gone]
        return self._in_window[key]

    # -- looking -----------------------------------------------------------------------------------

    def row(self, index: int) -> Row:
        """The call at *index* (from 0)."""
        row = Row()
        row.number = index + 1
        row.key = self.keys[index]
        row.tool = self.tools[row.key]
        row.signature = self._signatures[self._signature_at(index)]
        row.ts = self._ts[index]
        row.duration = _known(self._duration[index])
        row.outcome = STATES[self.outcomes[index]]
        row.count = self._counts[index] & 0x7F
        row.before = Tier(self._verdicts[index] & 3)
        row.after = self._tier_after(index)
        row.cause = _CAUSES[self._verdicts[index] >> 4 & 7]
        row.released = self.released(index)
        row.turn = self.turn_at(index)
        row.start_seq = self._starts[index]
        return row

    def together(self, index: int) -> bool:
        """Whether a call stands in the same assistant message as the call before it."""
        return bool(self._counts[index] & 0x80)

    def released(self, index: int) -> bool:
        """Whether a call ran only because a human let it."""
        return bool(self._verdicts[index] & 0x80)

    def _tier_after(self, index: int) -> Tier:
        return Tier(self._verdicts[index] >> 2 & 3)

    def times(self, index: int, most: int) -> list[float]:
        """When the last calls up to *index* started, at most *most*; unknown times are left out."""
        rows = range(max(0, index + 1 - most), index + 1)
        return [ts for row in rows if (ts := self._ts[row]) is not None]

    def rows(self) -> Iterator[Row]:
        """All calls in order."""
        return (self.row(index) for index in range(len(self)))

    def _end_of(self, index: int) -> int:
        """The number of the event that ended a call, 0 while it runs."""
        span = self._spans[index]
        if span == _LONG:
            span = self._long_spans[index]
        return self._starts[index] + span if span else 0

    def events_of(self, index: int) -> tuple[Event | None, Event | None]:
        """The ``call_start`` of a call and its ``call_end`` (None while it runs)."""
        end = self._end_of(index)
        return self._event(self._starts[index]), self._event(end) if end else None

    def _event(self, seq: int) -> Event | None:
        if isinstance(self.source, ListEvents):
            return self.source.events[seq - 1]
        known = self._read.get(seq)
        if known is None:
            self._keep(self.source.after(seq - 1, 1))
            known = self._read.get(seq)
        return known

    def _keep(self, events: list[Event]) -> None:
        """Remember events that were read, a limited number of them."""
        while len(self._read) + len(events) > _REMEMBERED and self._read:
            del self._read[next(iter(self._read))]
        self._read.update((event.seq, event) for event in events)

    def prefetch(self, first: int, last: int) -> None:
        """Read the calls from *first* to *last* at once, if they are few and not known yet."""
        if isinstance(self.source, ListEvents) or not 0 <= first <= last < len(self):
            return
        begin, end = self._starts[first], self._starts[last]
        if end - begin < _REMEMBERED // 2 and not {begin, end} <= self._read.keys():
            self._keep(self.source.after(begin - 1, end - begin + 1))

    def args(self, index: int) -> Any:
        """The arguments of a call as they were stored."""
        start = self._event(self._starts[index])
        return None if start is None else start.data.get("args")

    def result(self, index: int) -> Any:
        """The result of a call as it was stored, None while it runs."""
        end = self.events_of(index)[1]
        return None if end is None else end.data.get("result")

    def args_of_key(self, key: int) -> Any:
        """The arguments of the first call with *key*."""
        return self.args(self._first_of[key])

    def last_with(self, signature: str) -> int | None:
        """The last call with a policy's *signature*, None where there is none."""
        known = self._signature_of.get(signature)
        return None if known is None else self._last_of[known]

    def verdicts(self, index: int) -> tuple[Verdict | None, Verdict | None]:
        """The verdict before a call and the one on its result: as recorded, else as the guard gives it."""
        start, end = self.events_of(index)
        if start is None:
            return None, None
        before, after = self._stored(start), None if end is None else self._stored(end)
        if before is None:
            before = self.guard_at(start.seq - 1).rule(start).verdict
        if after is None and end is not None and self._tier_after(index):
            twin = self.guard_at(end.seq - 1).copy()
            after = fold(twin, end)
        return before, after

    def foreign(self, index: int) -> Verdict | None:
        """Another guard's verdict on a call that ours judged too (the agent's own), None without one."""
        end = self.events_of(index)[1]
        return None if end is None else stored_verdict(end, "foreign")

    def why(self, index: int) -> Verdict | None:
        """The verdict that explains a call's tier: the stronger one, the first where they are equal."""
        before, after = self.verdicts(index)
        if before is None or after is None:
            return before or after
        return after if after.tier > before.tier else before

    # -- stepping ----------------------------------------------------------------------------------

    def seq_at(self, index: int) -> int:
        """Where the log stands when call *index* is done (or has begun, while it runs). -1: before all."""
        if index < 0:
            return self._starts[0] - 1 if len(self) else self.seq
        if index >= len(self) - 1:
            return self.seq
        return self._end_of(index) or self._starts[index]

    def row_of(self, seq: int) -> int:
        """The call that event *seq* belongs to: the last one that had started by then; at least 0."""
        return max(0, self._starts.upto(seq) - 1)

    def row_asked_about(self, request: str) -> int | None:
        """The call that *request* is about; None where no such request has been read."""
        asked = self.requests.get(request)
        return None if asked is None else asked.row

    def guard_at(self, seq: int) -> Guard:
        """The guard as it stood after event *seq*. To be looked at, not fed; good until the next call."""
        return self.guard if seq >= self.seq else self._snapshots.at(seq, self.source)

    def pending_at(self, seq: int) -> list[Asked]:
        """Requests that waited after event *seq*, the oldest first."""
        return [asked for asked in self.requests.values() if asked.waits_at(seq)]

    def window_at(self, index: int, last: int | None = None) -> array[int]:
        """The keys of the last *last* calls (the window's length by default) up to call *index*."""
        length = self.window if last is None else last
        return self.keys[max(0, index + 1 - length) : index + 1]

    def next_change(self, index: int, by: int = 1) -> int | None:
        """The next call (the one before, with *by* = -1) whose tier differs from its predecessor's."""
        at = index + by
        while 0 <= at < len(self):
            if self.tiers[at] != (self.tiers[at - 1] if at else 0):
                return at
            at += by
        return None

    def next_failure(self, index: int, by: int = 1) -> int | None:
        """The next call (the one before, with *by* = -1) that failed, was denied or blocked."""
        bad = {STATES.index(s) for s in ("error", "denied", "blocked")}
        at = index + by
        while 0 <= at < len(self):
            if self.outcomes[at] in bad:
                return at
            at += by
        return None


def _known(number: float) -> float | None:
    return number if number == number else None
