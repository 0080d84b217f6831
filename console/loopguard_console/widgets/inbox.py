"""The list of requests that wait, of every session, worst and oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment

from loopguard_console.desk import Desk
from loopguard_console.render import countdown, pad, safe, signature_label, tier_letter
from loopguard_console.widgets.chain import PILLS
from loopguard_console.widgets.virtual import VirtualList

if TYPE_CHECKING:
    from loopguard_core.store.contract import Request


#: The most cells of a request's id.
_ID = 6
#: Cells in which a call has room for its arguments, too.
_CALL = 16
#: Cells of a time that is left; more where one has no limit.
_TIME = 6


def left_of(request: Request, now: float) -> float | None:
    """Seconds until the request's time is over, None where it has none."""
    until = request.late_until if request.resolution == "expired" else request.deadline
    return None if until is None else max(0.0, until - now)


def _time(request: Request, now: float) -> str:
    """The time that is left of a request, in words."""
    left = left_of(request, now)
    time = "no limit" if left is None else countdown(left)
    return f"late {time}" if request.resolution == "expired" else time


class InboxList(VirtualList):
    """Requests with a cursor and marks."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.desk: Desk | None = None
        self.chosen = ""
        self.marked: set[str] = set()
        self._widest = self._timed = 0

    def show(self, desk: Desk) -> None:
        """Show what waits now. The cursor stays on its request; nothing slides under it."""
        self.desk = desk
        here = {r.request for r in desk.waiting}
        self.marked &= here
        self._widest = max((cell_len(safe(name, _ID)) for name in here), default=0)
        times = (len(_time(r, desk.now)) for r in desk.waiting if not r.resolution)
        self._timed = max((_TIME, *times))
        self.update()

    def count(self) -> int:
        return len(self.desk.waiting) if self.desk is not None else 0

    def at(self) -> int:
        waiting = self.desk.waiting if self.desk is not None else []
        return next((n for n, r in enumerate(waiting) if r.request == self.chosen), -1)

    def move(self, by: int) -> None:
        """Choose the request *by* lines further."""
        waiting = self.desk.waiting if self.desk is not None else []
        if waiting:
            at = self.at()
            at = 0 if at < 0 else max(0, min(len(waiting) - 1, at + by))
            self.chosen = waiting[at].request
            self.update(show_cursor=True)

    def empty(self) -> str:
        return " Nothing waits for you."

    def paint(self, line: int, width: int) -> list[Segment]:
        desk = self.desk
        if desk is None or line >= len(desk.waiting):
            return []
        request = desk.waiting[line]
        late = request.resolution == "expired"
        time = _time(request, desk.now)
        mark = "◆" if request.request in self.marked else " "
        head = [
            Segment(mark, self.style("p-accent")),
            Segment(f" {tier_letter(request.tier)} ", self.style(PILLS[request.tier])),
            Segment(f" {pad(safe(request.request, _ID), self._widest)} ", self.style("p-strong")),
        ]
        if width >= 70:
            session = desk.session(request.session)
            title = desk.title(session) if session is not None else request.session
            wide = 24 if width >= 110 else 14
            head.append(Segment(pad(safe(title, wide), wide + 1), self.style("p-text")))
        tail = [
            Segment(
                pad(time, 1 + max(self._timed, len(time)), right=True) + " ",
                self.style("p-dim" if late else "p-warn"),
            )
        ]
        room = max(0, width - sum(s.cell_length for s in head) - sum(s.cell_length for s in tail))
        what_room = room if width < 70 else min(room, max(24, room * 2 // 5))
        what = signature_label(request.tool, request.args, what_room)
        if what_room < _CALL:
            what = safe(request.tool, what_room) or what
        out = [*head, Segment(pad(what, what_room), self.style("p-text"))]
        if room > what_room:
            why = safe(str(request.verdict.get("reason", "")), room - what_room - 2)
            out.append(Segment("  " + pad(why, room - what_room - 2), self.style("p-dim")))
        return out + tail
