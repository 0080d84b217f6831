"""Where a recording stands: position, tier changes, speed."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message

from loopguard_console.render import tier_letter
from loopguard_console.viewing.view import View
from loopguard_console.widgets.pane import Pane

_TIERS = ("$dim", "bold $text-warning", "bold $text-error", "bold $text-error")


def cell_of(row: int, total: int, width: int) -> int:
    """The first of *width* cells that stands for call *row*, an inverse of ``cell * total // width``."""
    total = max(1, total)
    if row == total - 1 > 0:
        return width - 1  # the last call stands at the end, however wide its stretch
    return min(-(-row * width // total), ((row + 1) * width - 1) // total)


class Transport(Pane):
    """The transport of a replay. A click seeks."""

    class Seek(Message):
        """Go to call *row*."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._track = (0, 1)
        self._total = 0

    def show(self, view: View | None, *, playing: bool, speed: float) -> None:
        """Show where *view* stands."""
        if view is None:
            self.put("")
            return
        total = len(view.recording)
        self._total = total
        left = f" {'▶ playing' if playing else '■ paused '} call {view.cursor + 1}/{total} "
        wide = (self.size.width or 80) >= 100
        keys = view.names.say("{back} {step} step  {next_tier} tier  {play} play")
        right = f"  {'speed ' if wide else ''}{speed:g}×  {keys} "
        width = max(10, (self.size.width or 80) - len(left) - len(right))
        self._track = (len(left), width)
        parts = [(left, "bold"), *self._cells(view, width), (right, "$dim")]
        self.put(Content.assemble(*parts))

    def _cells(self, view: View, width: int) -> list[tuple[str, str]]:
        tiers, total = view.recording.tiers, len(view.recording)
        parts = []
        here = cell_of(max(0, view.cursor), total, width)
        for cell in range(width):
            first = cell * total // width
            stretch = tiers[first : max(first + 1, (cell + 1) * total // width)]
            tier = next((t for t in (3, 2, 1) if stretch.find(t) >= 0), 0)
            if cell == here:
                parts.append(("●", "bold $text-accent"))
            elif tier:
                parts.append((tier_letter(tier), _TIERS[tier]))
            else:
                parts.append(("─", "$dim"))
        return parts

    def on_click(self, event: events.Click) -> None:
        """Seek to the place that was clicked."""
        first, width = self._track
        if first <= event.x < first + width and self._total:
            self.post_message(self.Seek((event.x - first) * self._total // width))
