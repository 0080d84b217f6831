"""Guards of the past: a few kept over the whole log, more around the place that somebody looks at.

A guard at any event is made from the nearest one before it by folding what lies between. So the first look
at a place costs up to one spacing of the kept ones, and further looks near it, forward or back, next to nothing.
"""

from __future__ import annotations

from bisect import bisect_right

from loopguard_core.folding import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard_core.events import Event
    from loopguard_core.guard import Guard
    from loopguard_core.recording.calls import Events

#: Guards kept over the whole log, and events between two of them at first; it doubles when they are too many.
KEPT = 256
SPACING = 256
#: What the guards that are kept may hold together, and as much again near a place: one whose turn has ten
#: thousand different calls weighs so much, and a copy of it takes its time.
WEIGHT = 200_000
#: Guards kept around the place last looked at, and the least events between two of them.
NEAR = 64
CLOSE = 32
#: Events read at once.
_READ = 512


class Snapshots:
    """Guards of one log at chosen events, from *guard*, which is fresh, on.

    *kept* guards at most over the whole log, at first *spacing* events apart; *near* around where somebody
    looks, at least *close* events apart. Either of the two holds at most *weight* (``Policy.weight``), and
    one guard.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        kept: int = KEPT,
        spacing: int = SPACING,
        near: int = NEAR,
        close: int = CLOSE,
        weight: int = WEIGHT,
    ) -> None:
        self._most_kept, self._most_near = kept, near
        self._spacing, self._close = spacing, close
        self._most_weight = weight
        self._weight = 0
        self._kept = [(0, guard.copy())]
        self._turns: set[int] = set()
        self._near: list[tuple[int, Guard]] = []
        self._last: tuple[int, Guard] | None = None
        self._lean = True

    def passed(self, seq: int, guard: Guard) -> None:
        """The log has come to event *seq*, *guard* stands behind it."""
        if seq % self._spacing:
            return
        self._kept.append((seq, guard.copy()))
        self._weight += guard.policy.weight()
        while self._too_much():
            self._spacing *= 2
            self._kept = [
                pair
                for pair in self._kept
                if pair[0] % self._spacing == 0 or pair[0] in self._turns
            ]
            self._weight = _weight(self._kept)

    def _too_much(self) -> bool:
        regular = len(self._kept) - len(self._turns)
        return regular > self._most_kept or (self._weight > self._most_weight and regular > 1)

    def turned(self, seq: int, guard: Guard) -> None:
        """From event *seq* on the log is folded with another policy, as *guard* has it: kept for good."""
        if self._kept[-1][0] == seq:
            self._kept.pop()
        self._kept.append((seq, guard.copy()))
        self._turns.add(seq)

    def at(self, seq: int, source: Events) -> Guard:
        """The guard after event *seq* of *source*. To be looked at, not fed; good until the next call."""
        reached, guard = self._before(seq)
        # A copy of a heavy guard costs as much as folding many events.
        close = max(self._close, self._spacing // self._most_near, guard.policy.weight() // 8)
        for event in self._between(reached, seq, guard, source):
            fold(guard, event)
            reached += 1
            if reached % close == 0:
                self._remember(reached, guard)
        self._last = reached, guard
        return guard

    def _before(self, seq: int) -> tuple[int, Guard]:
        """The last guard known at or before *seq*, to be fed."""
        best = max(
            (
                pairs[place - 1]
                for pairs in (self._kept, self._near)
                if (place := _place(pairs, seq))
            ),
            key=_seq,
        )
        if self._last is not None and best[0] <= self._last[0] <= seq:
            return self._last
        return best[0], best[1].copy()

    def _remember(self, seq: int, guard: Guard) -> None:
        """Keep a copy of *guard* among those near; where they are too many, the farthest goes."""
        place = _place(self._near, seq)
        if place and self._near[place - 1][0] == seq:
            return
        self._near.insert(place, (seq, guard.copy()))
        while len(self._near) > 1 and (
            len(self._near) > self._most_near or _weight(self._near) > self._most_weight
        ):
            lowest, highest = self._near[0][0], self._near[-1][0]
            del self._near[0 if seq - lowest >= highest - seq else -1]

    def _between(self, after: int, until: int, guard: Guard, source: Events) -> Iterator[Event]:
        """The events behind *after* up to *until*: without payloads, unless the fold needs them."""
        while after < until:
            limit = min(_READ, until - after)
            events = source.after(after, limit, payloads=not self._lean)
            if self._lean and any(guard.needs_payload(event) for event in events):
                self._lean = False
                events = source.after(after, limit)
            if not events:
                return
            yield from events
            after += len(events)


def _weight(pairs: list[tuple[int, Guard]]) -> int:
    return sum(guard.policy.weight() for _, guard in pairs)


def _seq(pair: tuple[int, Guard]) -> int:
    return pair[0]


def _place(pairs: list[tuple[int, Guard]], seq: int) -> int:
    """How many of *pairs*, which are in order, stand at or before event *seq*."""
    return bisect_right(pairs, seq, key=_seq)
