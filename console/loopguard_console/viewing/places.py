"""Places in a chain that a person marked: bookmarks by number of the event, notes and labels. No Textual in here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import NamedTuple

from loopguard_console.inspector.marks import mark_words
from loopguard_core.recording.replay import Recording

#: Calls before a note among which the one that it is about is looked for.
_FAR = 500


class Place(NamedTuple):
    """A marked call: ``row``, and ``said``, the words that stand on it (foreign text), empty for a bookmark."""

    row: int
    said: str


class Bookmarks:
    """The bookmarks of one recording, as the numbers of the events that began the calls.

    *keep* is called with them after each change.
    """

    def __init__(self, seqs: list[int], keep: Callable[[list[int]], None]) -> None:
        self._seqs = sorted(set(seqs))
        self._keep = keep

    def __bool__(self) -> bool:
        return bool(self._seqs)

    def toggle(self, recording: Recording, row: int) -> bool:
        """Mark call *row* or take its mark away; True where it is marked now."""
        seq = recording.row(row).start_seq
        at = bisect_left(self._seqs, seq)
        marked = at == len(self._seqs) or self._seqs[at] != seq
        if marked:
            insort(self._seqs, seq)
        else:
            del self._seqs[at]
        self._keep(list(self._seqs))
        return marked

    def between(self, recording: Recording, first: int, last: int) -> bool:
        """True where one of the calls from *first* to *last* is marked."""
        if not self._seqs or last < 0:
            return False
        begin, end = recording.row(first).start_seq, recording.row(last).start_seq
        return bisect_left(self._seqs, begin) < bisect_right(self._seqs, end)

    def beside(self, recording: Recording, row: int, by: int) -> int | None:
        """The marked call after *row* (before it, with *by* = -1), around the end; None without any."""
        rows = self.rows(recording)
        if not rows:
            return None
        if by > 0:
            return rows[bisect_right(rows, row) % len(rows)]
        return rows[bisect_left(rows, row) - 1]

    def rows(self, recording: Recording) -> list[int]:
        """The marked calls, as far as the recording has been read."""
        return [recording.row_of(seq) for seq in self._seqs if seq <= recording.seq]


def places(recording: Recording, bookmarks: Bookmarks) -> list[Place]:
    """All marked places in order: bookmarks, and the calls that notes and labels are about."""
    found = [Place(row, "") for row in bookmarks.rows(recording)]
    for mark in recording.marks:
        if mark.event.type in ("note", "label"):
            who, text, _ = mark_words(mark.event)
            row = _about(recording, mark.event.text("on"), mark.row - 1)
            found.append(Place(row, f"{who} {text}"))
    return sorted(found)


def _about(recording: Recording, call: str, last: int) -> int:
    """The call with the id *call* among those up to *last*, else *last*."""
    last = max(0, last)
    for row in range(last, max(-1, last - _FAR) if call else last, -1):
        if (last - row) % 100 == 0:
            recording.prefetch(max(0, row - 99), row)
        start = recording.events_of(row)[0]
        if start is not None and start.text("call") == call:
            return row
    return last
