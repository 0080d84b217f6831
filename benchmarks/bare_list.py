"""The baseline of the console's benchmarks: a bare Line-API list over the calls of a stored session.

It reads one event for each line that it draws and moves a cursor. With *tails* it also does what any list
of a growing log must: four times a second it reads the new rows by their key, without their payloads,
extends its line count, and follows while its cursor stands at the end. It folds nothing and judges nothing.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from loopguard_core.store.contract import Store

KEYS = ("j", "k", "pagedown", "pageup", "G", "g", "right_square_bracket", "left_square_bracket")
TAIL_EVERY = 0.25


class BareList(ScrollView, can_focus=True):
    """One line a call, read when it is drawn, and a cursor."""

    BINDINGS: ClassVar = [(key, f"go('{key}')", "") for key in KEYS]

    def __init__(self, store: Store, session: str, lines: int, *, tails: bool) -> None:
        super().__init__()
        self._store = store
        self._session = session
        self._lines = lines
        self._tails = tails
        self._at = 0
        self.seq = store.last(session)

    def on_mount(self) -> None:
        self.virtual_size = Size(100, self._lines)
        if self._tails:
            self.set_interval(TAIL_EVERY, self._tail)

    def _tail(self) -> None:
        new = self._store.read(self._session, after=self.seq, payloads=False)
        if not new:
            return
        follows = self._at == self._lines - 1
        self.seq = new[-1].seq
        self._lines += sum(event.type == "call_start" for event in new)
        self.virtual_size = Size(100, self._lines)
        if follows:
            self._show(self._lines - 1)

    def action_go(self, key: str) -> None:
        by = {"j": 1, "k": -1, "pagedown": 30, "pageup": -30, "G": self._lines, "g": -self._lines}
        self._show(self._at + by.get(key, 1 if key.startswith("right") else -1))

    def _show(self, line: int) -> None:
        self._at = max(0, min(self._lines - 1, line))
        region = Region(0, self._at, 1, 1)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = y + round(self.scroll_offset.y)
        found = self._store.read(self._session, after=2 * line, limit=1)
        text = str(found[0].data.get("tool", "")) if found else ""
        mark = ">" if line == self._at else " "
        return Strip([Segment(f"{mark}{line:>8} {text}")]).adjust_cell_length(self.size.width)


class BareApp(App[None]):
    """The bare list alone."""

    def __init__(self, store: Store, session: str, lines: int, *, tails: bool = False) -> None:
        super().__init__()
        self.list = BareList(store, session, lines, tails=tails)

    def compose(self) -> ComposeResult:
        yield self.list
