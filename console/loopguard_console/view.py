"""Where a person stands in one session's chain: cursor, following, folds, search. No Textual in here.

The same view serves a live session and a recording: the counters it shows are those at the cursor.
"""

from __future__ import annotations

import time

from loopguard_console.folding import Folding, Line
from loopguard_console.query import Query, QueryError
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.replay import Asked, Recording

#: Marks that get a line of their own; texts of the model would only break runs apart.
SHOWN_MARKS = frozenset(
    {
        "session_end",
        "turn_start",
        "user_message",
        "grant",
        "revoke",
        "reset",
        "halt",
        "resume",
        "breakpoint",
        "note",
        "label",
        "gap",
    }
)


#: Seconds that counting hits may take while a person types.
PATIENCE = 0.15


class View:
    """One session as it is looked at."""

    def __init__(self, recording: Recording, *, live: bool) -> None:
        self.recording = recording
        self.live = live
        self.following = live
        self.cursor = -1
        self.fold = True
        self.new = 0
        self.query = ""
        self.held = ""
        self.dropped = ""
        self._query = Query("")
        self._marks = 0
        self._calls = 0
        self.lines = Folding(recording.keys)
        self.grow()

    def append(self, events: list[Event]) -> None:
        """Take further events in; the cursor moves along while following."""
        self.recording.append(events)
        self.grow()

    def grow(self) -> None:
        """Bring the lines up to what the recording has."""
        recording = self.recording
        added = len(recording) - self._calls
        while self._calls < len(recording) or self._marks < len(recording.marks):
            mark = recording.marks[self._marks] if self._marks < len(recording.marks) else None
            if mark is not None and mark.row <= self._calls:
                if self._shows(mark.event):
                    self.lines.mark(self._marks)
                self._marks += 1
            else:
                self.lines.call()
                self._calls += 1
        if self.following:
            self.cursor = len(recording) - 1
            self.new = 0
        elif self.live:
            self.new += added
        if self.cursor < 0 and len(recording):
            self.cursor = 0

    def _shows(self, event: Event) -> bool:
        return event.type in SHOWN_MARKS

    # -- moving ------------------------------------------------------------------------------------

    def go(self, row: int, *, reveal: bool = False) -> None:
        """Put the cursor on call *row* (bounded). Moving off the end detaches from a live session."""
        last = len(self.recording) - 1
        self.cursor = max(min(row, last), 0 if last >= 0 else -1)
        self.following = self.live and self.cursor == last and self.following
        if not self.following and self.live and self.cursor == last:
            self.new = 0
        if reveal and self.cursor >= 0:
            self.lines.reveal(self.cursor)

    def move(self, by: int) -> None:
        """Move the cursor by lines; marks are passed over."""
        if self.cursor < 0:
            return
        at = self.lines.line_of(self.cursor)
        step = 1 if by > 0 else -1
        left = abs(by)
        best = at
        while left and 0 <= at + step < len(self.lines):
            at += step
            if not self.lines.line(at).is_mark:
                best = at
                left -= 1
            elif left > 1:
                left -= 1
        self.to_line(best)

    def to_line(self, number: int) -> None:
        """Put the cursor on the line *number*: for a folded one, on its last call."""
        if not 0 <= number < len(self.lines):
            return
        line = self.lines.line(number)
        if not line.is_mark:
            self.following = False
            self.go(line.last)

    def follow(self) -> None:
        """Stay on the newest call from now on."""
        self.following = self.live
        self.new = 0
        self.cursor = len(self.recording) - 1

    def step(self, by: int) -> None:
        """Move by calls, opening what hides the one arrived at."""
        self.following = False
        self.go(self.cursor + by, reveal=True)

    def change(self, by: int) -> bool:
        """To the next (-1: previous) call at which the tier changes; False where there is none."""
        return self._jump(self.recording.next_change(self.cursor, by))

    def failure(self, by: int) -> bool:
        """To the next (-1: previous) call that failed; False where there is none."""
        return self._jump(self.recording.next_failure(self.cursor, by))

    def _jump(self, row: int | None) -> bool:
        if row is None:
            return False
        self.following = False
        self.go(row, reveal=True)
        return True

    # -- looking -----------------------------------------------------------------------------------

    def toggle_fold(self) -> bool:
        """Open or close the segment at the cursor; True where something changed."""
        if self.cursor < 0:
            return False
        return self.lines.toggle(self.lines.line(self.lines.line_of(self.cursor)).segment)

    def fold_all(self) -> None:
        """Fold runs and cycles, or show every call on its own."""
        self.fold = not self.fold
        self.lines = Folding(self.recording.keys, fold=self.fold)
        self._marks = self._calls = 0
        following, new = self.following, self.new
        self.following = False
        self.grow()
        self.following, self.new = following, new

    def line(self, number: int) -> Line:
        """One line of the chain."""
        return self.lines.line(number)

    @property
    def seq(self) -> int:
        """Where in the log the cursor stands."""
        return self.recording.seq_at(self.cursor)

    @property
    def guard(self) -> Guard:
        """The guard as it stood at the cursor."""
        return self.recording.guard_at(self.seq)

    @property
    def asked(self) -> Asked | None:
        """The last request about the call at the cursor, None where there was none."""
        return self.recording.asked_at.get(self.cursor)

    # -- searching ---------------------------------------------------------------------------------

    def count_hits(self, text: str) -> str:
        """How many calls match *text*, in words; what is wrong with it where it cannot be read."""
        try:
            query = Query(text)
        except QueryError as error:
            return str(error)
        if not query:
            return ""
        hits, until = 0, time.monotonic() + PATIENCE
        for index in range(len(self.recording) - 1, -1, -1):
            hits += query.matches(self.recording, index)
            if time.monotonic() > until:
                return f"{hits} or more hits"
        return f"{hits} hit" + ("s" if hits != 1 else "")

    def search(self, text: str) -> None:
        """Search for *text* from now on. One that cannot be read finds nothing."""
        self.query = text
        try:
            self._query = Query(text)
        except QueryError:
            self._query = Query("")

    def stops_here(self) -> bool:
        """True where the call at the cursor meets the breakpoint of a recording."""
        if not self.held or self.cursor < 0:
            return False
        try:
            return Query(self.held).matches(self.recording, self.cursor)
        except QueryError:
            return False

    def to_hit(self, by: int, *, here: bool = False) -> bool:
        """To the next (-1: previous) hit, around the end; False where there is none."""
        total = len(self.recording)
        if not self._query or not total:
            return False
        start = self.cursor if here else self.cursor + by
        for step in range(total):
            row = (start + by * step) % total
            if self._query.matches(self.recording, row):
                self.following = False
                self.go(row, reveal=True)
                return True
        return False
