"""The lines of a chain of which only the hits of a search are shown. No Textual in here.

They fold as those of the whole chain do, on what is shown. A turn's head is shown where one of its calls
is; what a person did or noted is shown always.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from loopguard_console.viewing.folding import MARK, Folding, Line
from loopguard_console.viewing.hits import Hits
from loopguard_core.events import Event
from loopguard_core.recording.replay import Recording

_TURNS = frozenset({"user_message", "turn_start"})


class Filtered:
    """The lines of *hits*. *shows* says whether an event between the calls has a line of its own."""

    def __init__(
        self, recording: Recording, hits: Hits, shows: Callable[[Event], bool], *, fold: bool
    ) -> None:
        self._recording = recording
        self._hits = hits
        self._shows = shows
        self._fold = fold
        self._begin()
        self.grow()

    def _begin(self) -> None:
        self._keys = array("I")
        self._folding = Folding(self._keys, fold=self._fold)
        self._taken = 0
        self._decided = 0
        self._marks = 0
        self._turn = -1
        self._tail: list[Line] = []
        self._patched = self._hits.patched

    # -- feeding -----------------------------------------------------------------------------------

    def grow(self) -> None:
        """Take in what was found since."""
        hits = self._hits
        if hits.patched != self._patched:
            self._begin()
        decided = self._recording.decided
        for row in list(decided)[self._decided :]:
            place = bisect_left(hits.rows, row, 0, self._taken)
            if place < self._taken and hits.rows[place] == row:
                self._folding.part(place)
        self._decided = len(decided)
        for row in hits.rows[self._taken :]:
            for mark in self._between(row):
                self._folding.mark(mark)
            self._keys.append(self._recording.keys[row])
            self._folding.call(alone=row in decided)
        self._taken = len(hits.rows)
        kept = self._marks, self._turn
        self._tail = list(self._later())
        self._marks, self._turn = kept

    def _later(self) -> Iterator[Line]:
        """The lines after those that are folded: hits that may change yet, and the last marks."""
        for row in self._hits.tail:
            for mark in self._between(row):
                yield Line(row, row, MARK, mark, -1, False, False)
            yield Line(row, row, 1, -1, -1, False, False)
        if self._hits.done:
            total = len(self._recording)
            for mark in self._between(total, turns=False):
                yield Line(total, total, MARK, mark, -1, False, False)

    def _between(self, row: int, *, turns: bool = True) -> Iterator[int]:
        """The marks to show before the hit *row*, from where the last one stood."""
        marks = self._recording.marks
        while self._marks < len(marks) and marks[self._marks].row <= row:
            event, at = marks[self._marks].event, self._marks
            self._marks += 1
            if event.type in _TURNS:
                self._turn = at
            elif self._shows(event):
                if self._turn >= 0:
                    yield self._turn
                    self._turn = -1
                yield at
        if turns and self._turn >= 0:
            yield self._turn
            self._turn = -1

    # -- looking -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._folding) + len(self._tail)

    def line(self, number: int) -> Line:
        """The line at *number* (from 0); its calls are numbered as in the recording."""
        folded = len(self._folding)
        if number >= folded:
            return self._tail[number - folded]
        line = self._folding.line(number)
        if line.is_mark:
            return line
        rows = self._hits.rows
        return line._replace(first=rows[line.first], last=rows[line.last])

    def line_of(self, row: int) -> int:
        """The line on which call *row* stands or, where it is not shown, the one before it."""
        place = bisect_right(self._hits.rows, row) - 1
        later = [n for n, line in enumerate(self._tail) if not line.is_mark and line.first <= row]
        if later:
            return len(self._folding) + later[-1]
        return self._folding.line_of(max(0, place)) if self._taken else 0

    def calls(self, line: Line) -> Sequence[int]:
        """The calls for which *line* stands."""
        rows = self._hits.rows
        if line.segment < 0:
            return (line.first,)
        return rows[bisect_left(rows, line.first) : bisect_right(rows, line.last)]

    # -- opening -----------------------------------------------------------------------------------

    def opened(self, segment: int) -> bool:
        """True where a segment was opened."""
        return self._folding.opened(segment)

    def toggle(self, segment: int) -> bool:
        """Open or close a segment that folds; True where something changed."""
        return segment >= 0 and self._folding.toggle(segment)

    def reveal(self, row: int) -> None:
        """Open what hides call *row*, which is a hit."""
        if self._taken and row <= self._hits.rows[self._taken - 1]:
            self._folding.reveal(bisect_left(self._hits.rows, row))
