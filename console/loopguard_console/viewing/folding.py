"""The lines of a chain: runs of equal calls and cycles fold into one line that opens.

Pure and incremental: a call costs the same however many came before it, and a line is found without
walking the others. The segment that is still growing keeps its last calls in sight, so that a person
sees the count climb. A call about which a person decided stands alone.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right, insort
from typing import NamedTuple

LAPS = 3  # laps of a cycle that fold
LONGEST = 6  # calls in a cycle
LIVE_TAIL = 5  # calls of the growing segment that stay in sight

MARK = 0


class Line(NamedTuple):
    """One line: a call, a folded segment, or a mark.

    ``first`` and ``last`` are calls (equal for a single one; for a mark, the number of calls before it).
    ``period``: 1 for calls and runs, the length of a cycle, 0 for a mark. ``mark`` is a mark's index.
    ``folds``: this line stands for, or heads, a segment that opens and closes. ``inside``: a call of an
    opened segment.
    """

    first: int
    last: int
    period: int
    mark: int
    segment: int
    folds: bool
    inside: bool

    @property
    def is_mark(self) -> bool:
        return self.period == MARK


class Folding:
    """The lines of one chain. Feed ``call`` and ``mark`` in order."""

    def __init__(self, keys: array[int], *, fold: bool = True) -> None:
        self._keys = keys
        self._fold = fold
        self._calls = 0
        self._start = array("I")
        self._period = array("B")
        self._marks: dict[int, int] = {}
        self._alone: set[int] = set()
        self._barrier = 0
        self._closed = False
        self._opened: list[int] = []

    # -- feeding -----------------------------------------------------------------------------------

    def mark(self, index: int, *, closes: bool = True) -> None:
        """A mark stands here; nothing folds across it. Unless it *closes*, the calls before it stay in sight
        until another comes: a person who acts on them goes on seeing them."""
        self._closed = closes or self._closed
        self._mark(index)

    def call(self, *, alone: bool = False, closes: bool = True) -> None:
        """The next call of ``keys``. *alone*: it folds with no other, and *closes* is said as of a mark."""
        at = self._calls
        if alone:
            self._alone.add(at)
        self._closed = alone and closes
        self._call()

    def part(self, row: int) -> None:
        """Call *row*, which came before, stands alone from here on."""
        if row in self._alone or not self._fold:
            return
        self._alone.add(row)
        segment, total = self._segment_of(row), self._calls
        start = self._start[segment]
        marks = [(self._start[s], self._marks.pop(s)) for s in sorted(self._marks) if s > segment]
        opened = [self._start[s] for s in self._opened if s >= segment]
        self._opened = [s for s in self._opened if s < segment]
        del self._start[segment:], self._period[segment:]
        self._calls = self._barrier = start
        for before, mark in marks:
            self._calls_up_to(before)
            self._mark(mark)
        self._calls_up_to(total)
        for first in opened:
            again = self._segment_of(first)
            if self._start[again] == first and self._folds(again):
                self._opened.append(again)

    def _calls_up_to(self, total: int) -> None:
        while self._calls < total:
            self._call()

    def _mark(self, index: int) -> None:
        self._marks[len(self._start)] = index
        self._add(self._calls, MARK)
        self._barrier = self._calls

    def _call(self) -> None:
        at = self._calls
        self._calls += 1
        if not self._fold:
            self._add(at, 1)
            return
        if at in self._alone:
            self._add(at, 1)
            self._barrier = self._calls
            return
        last = len(self._start) - 1
        if last >= 0 and self._period[last] != MARK and self._start[last] not in self._alone:
            period = self._period[last]
            grows = self._length(last) >= period
            if grows and self._keys[at] == self._keys[at - period]:
                return
        self._add(at, 1)
        self._find_cycle(at)

    def _add(self, start: int, period: int) -> None:
        self._start.append(start)
        self._period.append(period)

    def _length(self, segment: int) -> int:
        """How many calls a segment holds: up to where the next one starts."""
        after = segment + 1
        end = self._start[after] if after < len(self._start) else self._calls
        return end - self._start[segment]

    def _find_cycle(self, at: int) -> None:
        keys = self._keys
        for period in range(2, LONGEST + 1):
            first = at + 1 - LAPS * period
            if first < self._barrier:
                return
            if any(keys[i] != keys[i - period] for i in range(at, first + period - 1, -1)):
                continue
            segment = self._segment_of(first)
            if self._start[segment] != first:
                continue
            del self._start[segment:], self._period[segment:]
            self._opened = [s for s in self._opened if s < segment]
            self._add(first, period)
            return

    # -- looking -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._start) + sum(self._length(s) for s in self._opened) + self._tail_extra()

    def _folds(self, segment: int) -> bool:
        return self._length(segment) > 1

    def _stands_apart(self, segment: int) -> bool:
        return self._period[segment] == MARK or self._start[segment] in self._alone

    def _tail(self) -> int:
        """The growing segment, -1 where it is open anyway or does not fold."""
        last = len(self._start) - 1
        while last >= 0 and not self._closed and self._stands_apart(last):
            last -= 1
        if last < 0 or not self._folds(last):
            return -1
        return -1 if self._opened and self._opened[-1] == last else last

    def _tail_extra(self) -> int:
        tail = self._tail()
        if tail < 0:
            return 0
        length = self._length(tail)
        return length - 1 if length <= LIVE_TAIL else LIVE_TAIL

    def line(self, number: int) -> Line:
        """The line at *number* (from 0)."""
        before = 0
        segment, offset = number, 0
        for opened in self._opened:
            head = opened + before
            if number < head:
                break
            if number <= head + self._length(opened):
                segment, offset = opened, number - head
                return self._inside(segment, offset)
            before += self._length(opened)
            segment = number - before
        tail = self._tail()
        if segment >= tail >= 0:
            below = segment - tail - self._tail_extra()
            if below <= 0:
                return self._tail_line(tail, segment - tail)
            segment = tail + below
        return self._head(segment)

    def _head(self, segment: int) -> Line:
        start, length, period = self._start[segment], self._length(segment), self._period[segment]
        if period == MARK:
            return Line(start, start, MARK, self._marks[segment], segment, False, False)
        return Line(start, start + length - 1, period, -1, segment, self._folds(segment), False)

    def _inside(self, segment: int, offset: int) -> Line:
        if offset == 0:
            return self._head(segment)
        row = self._start[segment] + offset - 1
        return Line(row, row, 1, -1, segment, False, True)

    def _tail_line(self, segment: int, offset: int) -> Line:
        start, length = self._start[segment], self._length(segment)
        hidden = max(0, length - LIVE_TAIL)
        if hidden == 1:  # a fold of one call would save no line
            return Line(start + offset, start + offset, 1, -1, segment, False, False)
        if hidden and offset == 0:
            period = self._period[segment]
            return Line(start, start + hidden - 1, period, -1, segment, True, False)
        row = start + hidden + offset - (1 if hidden else 0)
        return Line(row, row, 1, -1, segment, False, bool(hidden))

    def line_of(self, row: int) -> int:
        """The line on which call *row* stands, folded or not."""
        segment = self._segment_of(row)
        before = sum(self._length(s) for s in self._opened if s < segment)
        head = segment + before
        offset = row - self._start[segment]
        if segment in self._opened:
            return head + 1 + offset
        if segment == self._tail():
            hidden = max(0, self._length(segment) - LIVE_TAIL)
            if not hidden:
                return head + offset
            return head if offset < hidden else head + 1 + offset - hidden
        return head + (self._tail_extra() if segment > self._tail() >= 0 else 0)

    def _segment_of(self, row: int) -> int:
        segment = bisect_right(self._start, row) - 1
        while segment > 0 and self._period[segment] == MARK:
            segment -= 1
        return segment

    # -- opening -----------------------------------------------------------------------------------

    def opened(self, segment: int) -> bool:
        """True where a segment was opened."""
        return segment in self._opened

    def toggle(self, segment: int) -> bool:
        """Open or close a segment that folds; True where something changed."""
        if segment in self._opened:
            self._opened.remove(segment)
            return True
        if not self._folds(segment):
            return False
        insort(self._opened, segment)
        return True

    def reveal(self, row: int) -> None:
        """Open what hides call *row*."""
        segment = self._segment_of(row)
        line = self.line(self.line_of(row))
        if line.first != line.last and segment not in self._opened and self._folds(segment):
            insort(self._opened, segment)
