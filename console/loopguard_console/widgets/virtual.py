"""A virtual list: lines are painted when they are on the screen, however many there are."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

#: Names of the styles in app.tcss that painted lines use.
STYLES = frozenset(
    {
        "p-text", "p-dim", "p-strong", "p-ok", "p-allow", "p-warn", "p-block", "p-halt",
        "p-blockpill", "p-haltpill", "p-warnpill", "p-error", "p-ask", "p-mark", "p-cursor",
        "p-cursor-blur", "p-accent", "p-loop", *(f"l-{n}" for n in range(8)),
    }
)  # fmt: skip


class VirtualList(ScrollView, can_focus=True):
    """Lines with a cursor. Subclasses say how many there are and paint one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(STYLES)

    class Picked(Message):
        """A line was clicked; ``again``: it was the cursor's already."""

        def __init__(self, source: VirtualList, line: int, again: bool) -> None:
            super().__init__()
            self.source = source
            self.line = line
            self.again = again

        @property
        def control(self) -> VirtualList:
            return self.source

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._styles: dict[str, Style] = {}
        self._base: Style | None = None

    # -- for subclasses ----------------------------------------------------------------------------

    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def paint(self, line: int, width: int) -> list[Segment]:
        """One line in safe text, at most *width* cells."""
        raise NotImplementedError

    def at(self) -> int:
        """The cursor's line, -1 for none."""
        return -1

    def empty(self) -> str:
        """What to say when there is nothing."""
        return ""

    def style(self, name: str) -> Style:
        """A style by its name in ``STYLES``, without a background of its own unless it has one."""
        found = self._styles.get(name)
        if found is None:
            found = self.get_component_rich_style(name, partial=True)
            self._styles[name] = found
        return found

    # -- keeping up --------------------------------------------------------------------------------

    def update(self, *, show_cursor: bool = True) -> None:
        """The lines changed: repaint, and keep the cursor in sight if *show_cursor*."""
        size = Size(max(1, self.scrollable_content_region.width), self.count())
        if self.virtual_size != size:
            self.virtual_size = size
        if show_cursor and self.at() >= 0:
            self.scroll_to_region(
                Region(0, self.at(), 1, 1), animate=False, immediate=True, force=True
            )
        self.refresh()

    def notify_style_update(self) -> None:
        self._styles = {}
        self._base = None
        super().notify_style_update()

    def on_resize(self) -> None:
        self.update()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = y + round(self.scroll_offset.y)
        base = self._base = self._base or self.rich_style
        if line >= self.count():
            text = self.empty() if line == 0 and not self.count() else ""
            return Strip([Segment(text[:width], base + self.style("p-dim"))]).adjust_cell_length(
                width, base
            )
        if line == self.at():
            base += self.style("p-cursor" if self.has_focus else "p-cursor-blur")
        strip = Strip(Segment.apply_style(self.paint(line, width), base))
        return strip.crop_extend(0, width, base)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + round(self.scroll_offset.y)
        if 0 <= line < self.count():
            self.post_message(self.Picked(self, line, line == self.at()))
