"""The calls of one recording that meet a query, found a piece at a time. No Textual in here.

A piece takes as long as the caller allows, so that a million calls block nobody. Equal calls are asked
about their tool and arguments once. A recording that grows is looked at from where the last piece ended.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right, insort

from loopguard_console.viewing.query import Query
from loopguard_core.recording.replay import Recording

#: Calls from the end on within which one that still runs is waited for before its answer is final.
LAG = 64
#: Calls that ran beyond that whose answers are looked at again when they end.
_LATE = 1_000
#: Calls between two looks at the clock, and calls whose arguments are read at once.
_BETWEEN = 64
_AT_ONCE = 100
#: Hits that end a piece: lines are made of them at once, and that takes a while, too.
_MOST = 2_000
_UNKNOWN, _NO, _YES = 0, 1, 2


class Hits:
    """``rows``: the hits for good, in order. ``tail``: hits after a call that still runs, which may change.

    ``read``: how many calls have been looked at for good. ``patched`` counts changes in the midst of
    ``rows``: whoever made something of them starts afresh.
    """

    def __init__(self, recording: Recording, query: Query) -> None:
        self.query = query
        self.rows = array("I")
        self.tail: list[int] = []
        self.read = 0
        self.patched = 0
        self._recording = recording
        self._known = bytearray()
        self._late: list[int] = []
        self._seq = -1
        self._fetched = 0

    def __len__(self) -> int:
        return len(self.rows) + len(self.tail)

    @property
    def done(self) -> bool:
        """True where every call has been looked at."""
        return self.read >= self._settled() and self._seq == self._recording.seq

    @property
    def part(self) -> float:
        """How much of the calls has been looked at, from 0 to 1."""
        total = len(self._recording)
        return 1.0 if self.done else self.read / max(1, total)

    # -- finding -----------------------------------------------------------------------------------

    def look(self, seconds: float) -> bool:
        """Look at further calls for about *seconds*; True where all have been looked at."""
        until = time.monotonic() + seconds
        self._settle_late()
        end, found = self._settled(), len(self.rows)
        while self.read < end:
            stop = min(end, self.read + _BETWEEN)
            for row in range(self.read, stop):
                if self._hit(row):
                    self.rows.append(row)
                if self.query.ends and not self._recording.outcomes[row]:
                    self._late.append(row)
            if len(self._late) > 2 * _LATE:
                del self._late[:-_LATE]
            self.read = stop
            if time.monotonic() >= until or len(self.rows) - found >= _MOST:
                break
        last = len(self._recording)
        self.tail = [r for r in range(self.read, last) if self._hit(r)] if self.read >= end else []
        self._seq = self._recording.seq
        return self.done

    def _settled(self) -> int:
        """How many calls are looked at for good: those before the first that still runs."""
        total = len(self._recording)
        if not self.query.ends:
            return total
        first = self._recording.outcomes.find(0, max(0, total - LAG))
        return max(self.read, total if first < 0 else first)

    def _hit(self, row: int) -> bool:
        query, recording = self.query, self._recording
        if not query.of_call(recording, row):
            return False
        key = recording.keys[row]
        if key >= len(self._known):
            self._known.extend(bytes(len(recording.tools) - len(self._known)))
        if self._known[key] == _UNKNOWN:
            if query.reads and row >= self._fetched:
                self._fetch(row)
            self._known[key] = _YES if query.of_key(recording, row) else _NO
        return self._known[key] == _YES

    def _fetch(self, row: int) -> None:
        """Read what is asked about next at once, where much of it has not been asked about yet."""
        self._fetched = row + _AT_ONCE
        known = self._known
        known.extend(bytes(len(self._recording.tools) - len(known)))
        new = sum(known[key] == _UNKNOWN for key in self._recording.keys[row : self._fetched])
        if new > _AT_ONCE // 4:
            self._recording.prefetch(row, min(self._fetched, len(self._recording)) - 1)

    def _settle_late(self) -> None:
        """Calls that were looked at while they ran, and have ended since."""
        if not self._late or self._seq == self._recording.seq:
            return
        ended = [row for row in self._late if self._recording.outcomes[row]]
        for row in ended:
            self._late.remove(row)
            at = bisect_left(self.rows, row)
            was = at < len(self.rows) and self.rows[at] == row
            if was != self._hit(row):
                if was:
                    self.rows.pop(at)
                else:
                    insort(self.rows, row)
                self.patched += 1

    # -- looking -----------------------------------------------------------------------------------

    def __contains__(self, row: int) -> bool:
        at = bisect_left(self.rows, row)
        return (at < len(self.rows) and self.rows[at] == row) or row in self.tail

    def __getitem__(self, place: int) -> int:
        """The call that is the hit number *place*, from 0."""
        settled = len(self.rows)
        return self.rows[place] if place < settled else self.tail[place - settled]

    def place(self, row: int) -> int:
        """How many hits stand before call *row* or are it."""
        return bisect_right(self.rows, row) + bisect_right(self.tail, row)

    def between(self, first: int, last: int) -> bool:
        """True where one of the calls from *first* to *last* is a hit."""
        return self.place(last) > self.place(first - 1) if first else self.place(last) > 0

    def beside(self, row: int, by: int) -> int | None:
        """The next hit after call *row* (before it, with *by* = -1), None where there is none."""
        place = self.place(row) if by > 0 else self.place(row - 1) - 1 if row else -1
        return self[place] if 0 <= place < len(self) else None
