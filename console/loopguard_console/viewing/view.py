"""Where a person stands in one session's chain: cursor, following, folds, search. No Textual in here.

The same view serves a live session and a recording: the counters it shows are those at the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopguard_console.keys.keynames import USUAL
from loopguard_console.viewing.filtering import Filtered
from loopguard_console.viewing.folding import Folding, Line
from loopguard_console.viewing.hits import Hits
from loopguard_console.viewing.places import Bookmarks
from loopguard_console.viewing.query import Query, QueryError
from loopguard_core.events import Event
from loopguard_core.guard import Guard
from loopguard_core.recording.calls import Asked
from loopguard_core.recording.replay import Recording

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


#: Seconds that looking for hits may take whenever calls arrive.
PIECE = 0.004
#: Calls of a folded line whose tiers are looked at.
_MANY = 20_000


class View:
    """One session as it is looked at."""

    def __init__(self, recording: Recording, *, live: bool) -> None:
        self.recording = recording
        self.live = live
        self.following = live
        self.cursor = -1
        self.fold = True
        self.new = 0
        self.hits: Hits | None = None
        self.sought = 0
        self.held = ""
        self.dropped = ""
        self.bookmarks = Bookmarks([], lambda seqs: None)
        self.names = USUAL
        self.lost = False
        self._only: Filtered | None = None
        self._wish = -1
        self._marks = 0
        self._calls = 0
        self._decided = 0
        self._all = Folding(recording.keys)
        self.grow()

    def append(self, events: list[Event]) -> None:
        """Take further events in; the cursor moves along while following."""
        self.recording.append(events)
        self.grow()

    def grow(self) -> None:
        """Bring the lines up to what the recording has."""
        recording = self.recording
        added = len(recording) - self._calls
        for row in list(recording.decided)[self._decided :]:
            if 0 <= row < self._calls:  # a request may name a call that is not in the log
                self._all.part(row)
        self._decided = len(recording.decided)
        while self._calls < len(recording) or self._marks < len(recording.marks):
            mark = recording.marks[self._marks] if self._marks < len(recording.marks) else None
            if mark is not None and mark.row <= self._calls:
                if self._shows(mark.event):
                    closes = not self.live or mark.event.type == "session_end"
                    self._all.mark(self._marks, closes=closes)
                self._marks += 1
            else:
                self._all.call(alone=self._calls in recording.decided, closes=not self.live)
                self._calls += 1
        if self.following:
            self.cursor = len(recording) - 1
            self.new = 0
        elif self.live:
            self.new += added
        if self.cursor < 0 and len(recording):
            self.cursor = 0
        self.look(PIECE)

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
        if self._only is not None and self.hits is not None and self.cursor not in self.hits:
            self.filter(False)  # what is to be seen must not be hidden
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
        self._onto_hit()

    def seek(self, row: int) -> None:
        """To call *row* or, where it is not shown, to the one nearest to it."""
        self.following = False
        if self._only is None:
            self.go(row, reveal=True)
        else:
            self.cursor = max(0, min(row, len(self.recording) - 1))
            self._onto_hit()

    def step(self, by: int) -> bool:
        """Move by calls that are shown, opening what hides the one arrived at; False at the end."""
        if self._only is not None and self.hits is not None:
            return self._jump(self.hits.beside(self.cursor, by))
        row = self.cursor + by
        return self._jump(row if 0 <= row < len(self.recording) else None)

    def change(self, by: int) -> bool:
        """To the next (-1: previous) call at which the tier changes; False where there is none."""
        return self._shown(self.recording.next_change, by)

    def failure(self, by: int) -> bool:
        """To the next (-1: previous) call that failed; False where there is none."""
        return self._shown(self.recording.next_failure, by)

    def _shown(self, next_of: Callable[[int, int], int | None], by: int) -> bool:
        """To the next of the calls that are shown."""
        row = next_of(self.cursor, by)
        hits = self.hits if self._only is not None else None
        while row is not None and hits is not None and row not in hits:
            row = next_of(row, by)
        return self._jump(row)

    def to_bookmark(self, by: int) -> bool:
        """To the next (-1: previous) bookmark, around the end; False where there is none."""
        return self._jump(self.bookmarks.beside(self.recording, self.cursor, by))

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
        self._all = Folding(self.recording.keys, fold=self.fold)
        self._marks = self._calls = self._decided = 0
        following, new = self.following, self.new
        self.following = False
        self.grow()
        self.filter(self.filtered)
        self.following, self.new = following, new

    def line(self, number: int) -> Line:
        """One line of the chain."""
        return self.lines.line(number)

    def calls(self, line: Line) -> Sequence[int]:
        """The calls for which a line stands."""
        if self._only is not None:
            return self._only.calls(line)
        return range(line.first, line.last + 1)

    def tiers(self, line: Line) -> bytes | bytearray:
        """The tiers of the calls for which a line stands; of very many, of the last ones."""
        tiers = self.recording.tiers
        if self._only is None:
            return tiers[line.first : line.last + 1]
        return bytes(tiers[call] for call in self._only.calls(line)[-_MANY:])

    @property
    def seq(self) -> int:
        """Where in the log the cursor stands."""
        return self.recording.seq_at(self.cursor)

    @property
    def moment(self) -> tuple[int, int, int, int]:
        """What stands at the cursor is the same as long as this is: the call, how far the log had
        come, the letters given, and where its request was spoken of last.

        What was said of a request after its end holds for calls to come, so there all of the log counts.
        """
        asked = self.asked
        spoken = 0 if asked is None else asked.resolved_seq
        if asked is not None and asked.later is not None:
            spoken = self.recording.seq
        return self.cursor, self.seq, len(self.recording.letters), spoken

    @property
    def guard(self) -> Guard:
        """The guard as it stood at the cursor."""
        return self.recording.guard_at(self.seq)

    @property
    def asked(self) -> Asked | None:
        """The last request about the call at the cursor, None where there was none."""
        return self.recording.asked_at.get(self.cursor)

    # -- searching ---------------------------------------------------------------------------------

    @property
    def lines(self) -> Folding | Filtered:
        """The lines on the screen: all, or those of the hits alone."""
        return self._all if self._only is None else self._only

    @property
    def filtered(self) -> bool:
        """True where only the hits of the search are shown."""
        return self._only is not None

    def find(self, hits: Hits | None) -> None:
        """Show the hits of a search from now on; None: of none."""
        self.hits = hits if hits is not None and hits.query else None
        self.sought = 0
        self.filter(self.filtered and self.hits is not None)

    def filter(self, only: bool) -> None:
        """Show only the hits, or all calls with the hits marked."""
        self._only = None
        self._wish = -1
        if only and self.hits is not None:
            self._only = Filtered(self.recording, self.hits, self._shows, fold=self.fold)
            self._wish = self.cursor
            self._onto_hit()

    def look(self, seconds: float) -> bool:
        """Go on looking for hits for about *seconds*; True where all calls have been looked at."""
        if self.hits is None:
            return True
        done = self.hits.look(seconds)
        if self._only is not None:
            self._only.grow()
            self._onto_hit()
        if self.sought and self.to_hit(self.sought) is not None:
            self.sought = 0
        return done

    @property
    def found(self) -> str:
        """How many calls the search finds, in words; empty without one."""
        hits = self.hits
        if hits is None:
            return ""
        total = len(self.recording)
        words = f"filtered: {len(hits):,}" if self.filtered else f"{len(hits):,} found"
        words += f" of {total:,}"
        return words if hits.done else f"{words} · {hits.part:.0%} searched"

    def _onto_hit(self) -> None:
        """Where only hits are shown the cursor stands on one: the last while following, else the nearest."""
        hits = self.hits
        if self._only is None or hits is None or not len(hits):
            return
        if self.following:
            self.cursor = hits[len(hits) - 1]
            return
        if self._wish < 0 and self.cursor in hits:
            return
        wish = self.cursor if self._wish < 0 else self._wish
        self.cursor = hits[min(hits.place(wish - 1) if wish else 0, len(hits) - 1)]
        if self.cursor >= wish or hits.done:
            self._wish = -1

    def to_hit(self, by: int, *, here: bool = False) -> bool | None:
        """To the next (-1: previous) hit, around the end.

        False where there is none, None where the calls in question have not been looked at yet.
        """
        hits = self.hits
        if hits is None:
            return False
        row = hits.beside(self.cursor - by if here else self.cursor, by)
        known = row is not None and (by > 0 or hits.read >= self.cursor)
        if not known and not hits.done:
            return None
        if row is None and len(hits):
            row = hits[0 if by > 0 else len(hits) - 1]
        return self._jump(row)

    def stops_here(self) -> bool:
        """True where the call at the cursor meets the breakpoint of a recording."""
        if not self.held or self.cursor < 0:
            return False
        try:
            return Query(self.held).matches(self.recording, self.cursor)
        except QueryError:
            return False
