"""The list of sessions: who is alive, who waits, how bad it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.segment import Segment

from loopguard_console.desk import Desk
from loopguard_console.render import (
    cut,
    cut_middle,
    pad,
    safe,
    session_title,
    size,
)
from loopguard_console.widgets.chain import PILLS
from loopguard_console.widgets.virtual import VirtualList

if TYPE_CHECKING:
    from loopguard_core.store.contract import Session

_DOTS = {
    "live": ("●", "p-ok"),
    "quiet": ("○", "p-ok"),
    "lost": ("✖", "p-error"),
    "ended": ("·", "p-dim"),
}

#: States that the dot alone says in a list of less than so many cells: names need the room.
_CALM = ("ended", "quiet")
_WORDS = 34
#: The most cells of a title that are looked at.
_LONGEST = 200


class SessionList(VirtualList):
    """Sessions as a tree: children below their parents."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.desk: Desk | None = None
        self.items: list[tuple[int, Session]] = []
        self._at = -1
        self._alike: dict[int, set[str]] = {}
        self._measured: list[Session] = []
        self._digits = 0

    def show(self, desk: Desk) -> None:
        """Show the sessions of *desk* as they stand now."""
        self.desk = desk
        items = desk.tree()
        if items is not self.items:
            self.items = items
            self._alike = {}
        if desk.sessions is not self._measured:
            self._measured = desk.sessions
            self._digits = max((len(size(s.calls)) for s in desk.sessions), default=0)
        current = desk.current
        self._at = next((n for n, (_, s) in enumerate(self.items) if s.session == current), -1)
        self.update()

    def count(self) -> int:
        return len(self.items)

    def at(self) -> int:
        return self._at

    def session_at(self, line: int) -> str:
        """The id of the session on *line*."""
        return self.items[line][1].session

    def empty(self) -> str:
        if self.desk is not None and self.desk.filter:
            return self.desk.names.say(" No match. {filter} changes it.")
        return " No sessions yet."

    def paint(self, line: int, width: int) -> list[Segment]:
        depth, session = self.items[line]
        state = self.desk.state.get(session.session, "") if self.desk is not None else ""
        dot, style = _DOTS.get(state, ("·", "p-dim"))
        indent = "  " * min(depth - 1, 4) + "└ " if depth else ""
        head = [Segment(f" {indent}", self.style("p-dim")), Segment(f"{dot} ", self.style(style))]
        waits = self._waits(session.session)
        if waits:
            tail = [Segment(f" {waits} ", self.style("p-ask"))]
        else:
            word = state if state == "lost" or (state in _CALM and width >= _WORDS) else ""
            if session.halted and state != "ended":
                word = "halted"
            style = "p-error" if word in ("lost", "halted") else "p-dim"
            tail = [Segment(f" {word}" if word else "", self.style(style))]
        lost = self.desk.lost_of(session.session) if self.desk is not None else 0
        calls = size(session.calls)
        if lost:
            tail.append(Segment(" ?", self.style("p-error")))
        tail.append(Segment(f" {calls:>{self._digits}} ", self.style("p-dim")))
        if self.desk is not None:
            worst = PILLS[self.desk.worst_of(session.session)]
            tail.append(Segment(f" {self.desk.letter_of(session)} ", self.style(worst)))
        room = width - sum(s.cell_length for s in head) - sum(s.cell_length for s in tail)
        return [
            *head,
            Segment(pad(self._title(session, max(room, 1)), max(room, 0)), self.style("p-text")),
            *tail,
        ]

    def _title(self, session: Session, width: int) -> str:
        """The title; from the middle of one that starts as another does something is left out."""
        full = self._full(session)
        shown = cut(full, width)
        if shown == full or shown not in self._same(width):
            return shown
        return cut_middle(full, width)

    def _full(self, session: Session) -> str:
        named = self.desk.named(session.session) if self.desk is not None else ""
        pin = "★" if self.desk is not None and self.desk.pinned(session.session) else ""
        return safe(f"{pin}{named or session_title(session, _LONGEST)}", _LONGEST)

    def _same(self, width: int) -> set[str]:
        """Titles that more than one session would have in *width* cells."""
        if width not in self._alike:
            shown = Counter(cut(self._full(session), width) for _, session in self.items)
            self._alike[width] = {title for title, times in shown.items() if times > 1}
        return self._alike[width]

    def _waits(self, session: str) -> str:
        """The request that waits in a session, or how many."""
        waiting = self.desk.waiting if self.desk is not None else []
        names = [r.request for r in waiting if r.session == session and not r.resolution]
        return safe(names[0], 6) if len(names) == 1 else f"{len(names)} wait" if names else ""
