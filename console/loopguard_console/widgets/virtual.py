"""A virtual list: lines are painted when they are on the screen, however many there are."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

#: Names of the styles in app.tcss that painted lines use.
STYLES = frozenset(
    {
        "p-text", "p-dim", "p-strong", "p-ok", "p-allow", "p-warn", "p-block", "p-halt",
        "p-blockpill", "p-haltpill", "p-warnpill", "p-error", "p-ask", "p-mark", "p-cursor",
        "p-cursor-blur", "p-accent", "p-loop", *(f"l-{n}" for n in range(8)),
    }
)  # fmt: skip

#: Painted lines that are kept: some screens of the largest kind.
KEPT = 400
#: Parts of a cell in which a scroll bar is drawn.
_PARTS = 8


class VirtualList(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines with a cursor. Subclasses say how many there are and paint one.

    A list has neither border nor padding: what it paints is the whole of it. Keys belong to its screen, which
    moves the cursor; the wheel and the bar scroll.
    """

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
        self._base: tuple[Style, Color] | None = None
        self._strips: LRUCache[Hashable, Strip] = LRUCache(KEPT)
        self._cursor = -1
        self._picture: list[Strip] = []
        self._pictured: tuple[object, ...] = ()

    # -- for subclasses ----------------------------------------------------------------------------

    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def paint(self, line: int, width: int) -> list[Segment]:
        """One line in safe text, at most *width* cells."""
        raise NotImplementedError

    def face(self, line: int) -> Hashable:
        """All that ``paint`` makes *line* of: lines with equal faces look alike. None: paint it anew."""
        return None

    def at(self) -> int:
        """The cursor's line, -1 for none."""
        return -1

    def empty(self) -> str:
        """What to say when there is nothing."""
        return ""

    def prepare(self, first: int, last: int) -> None:
        """Lines from *first* to *last* are about to be painted."""

    def style(self, name: str) -> Style:
        """A style by its name in ``STYLES``, without a background of its own unless it has one."""
        found = self._styles.get(name)
        if found is None:
            found = self.get_component_rich_style(name, partial=True)
            self._styles[name] = found
        return found

    # -- keeping up --------------------------------------------------------------------------------

    def update(self, *, show_cursor: bool = False) -> None:
        """The lines changed: repaint those that look different.

        The cursor is brought in sight where it moved, or with *show_cursor*; else what was scrolled to stays.
        """
        self._fit(Size(max(1, self.scrollable_content_region.width), self.count()))
        at, before = self.at(), self._cursor
        self._cursor = at
        if at >= 0 and (show_cursor or at != before):
            self.scroll_to_region(Region(0, at, 1, 1), animate=False, immediate=True, force=True)
        self._repaint()

    def forget(self) -> None:
        """Faces mean something else from now on."""
        self._strips.clear()

    def notify_style_update(self) -> None:
        self._styles = {}
        self._base = None
        self.forget()
        super().notify_style_update()

    def on_resize(self) -> None:
        self.update(show_cursor=True)

    def _fit(self, size: Size) -> None:
        """Have *size* for all lines. The screen is laid out anew only where that moves something."""
        old, height = self.virtual_size, self.scrollable_content_region.height
        if old == size:
            return
        scrolls = size.height > height
        if (
            old.width != size.width
            or (old.height > height) != scrolls
            or self.styles.auto_dimensions
        ):
            self.virtual_size = size
            return
        self.set_reactive(Widget.virtual_size, size)
        self._tell_bar()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._tell_bar()
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    def _tell_bar(self) -> None:
        """Let the scroll bar know what is in sight; it is drawn anew only where that moves its thumb."""
        if not self.show_vertical_scrollbar:
            return
        bar, total, at = self.vertical_scrollbar, self.virtual_size.height, self.scroll_y
        if self._thumb(total, at) != self._thumb(bar.window_virtual_size, bar.position):
            bar.window_virtual_size, bar.position = total, at

    def _thumb(self, total: float, at: float) -> tuple[int, int]:
        """Where the scroll bar's thumb begins, and its size, in parts of a cell."""
        height = self.scrollable_content_region.height
        size = max(1.0, height * height / max(1, total))
        begins = (height - size) * at / max(1, total - height)
        return int(begins * _PARTS), ceil(size * _PARTS)

    def _repaint(self) -> None:
        """Repaint the lines on the screen that look different from what is there."""
        before, where = self._picture, self._pictured
        self._look()
        if where != self._pictured:
            self.refresh()
            return
        width = self.size.width
        pairs = enumerate(zip(before, self._picture, strict=True))
        lines = [y for y, (old, new) in pairs if old is not new and old != new]
        if lines:
            self.refresh(*(Region(0, y, width, 1) for y in lines))

    # -- painting ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The line *y* lines below the upper edge."""
        if self._pictured != self._where():
            self._look()
        return self._picture[y]

    def render_lines(self, crop: Region) -> list[Strip]:
        """What the screen shows of the list; painted lines are used again as they are."""
        strips = [self.render_line(y) for y in crop.line_range]
        _, background = self._ground()
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _ground(self) -> tuple[Style, Color]:
        """The style under all lines, and its background."""
        if self._base is None:
            self._base = self.rich_style, self.background_colors[1]
        return self._base

    def _where(self) -> tuple[object, ...]:
        """A picture holds as long as this does and nobody calls ``update``."""
        return self.scroll_offset, self.size, self.has_focus, self._base

    def _look(self) -> None:
        """Have a picture of the lines in sight as they are now."""
        first, count, at = round(self.scroll_offset.y), self.count(), self.at()
        height = self.size.height
        last = min(first + height, count) - 1
        if first <= last:  # a list that is hidden shows no line of those it has
            self.prepare(first, last)
        strips = [self._strip(line, line == at) for line in range(first, last + 1)]
        if len(strips) < height:
            said = "" if count else self.empty()
            strips.append(self._blank(said))
            strips += [self._blank("")] * (height - len(strips))
        self._ground()
        self._picture, self._pictured = strips, self._where()

    def _blank(self, text: str) -> Strip:
        base, _ = self._ground()
        width = self.size.width
        return Strip([Segment(text[:width], base + self.style("p-dim"))]).adjust_cell_length(
            width, base
        )

    def _strip(self, line: int, here: bool) -> Strip:
        width = self.scrollable_content_region.width
        face = self.face(line)
        key = (face, width, here and 1 + self.has_focus)
        strip = None if face is None else self._strips.get(key)
        if strip is None:
            base, _ = self._ground()
            if here:
                base += self.style("p-cursor" if self.has_focus else "p-cursor-blur")
            painted = Strip(Segment.apply_style(self.paint(line, width), base))
            strip = painted.crop_extend(0, width, base)
            strip = strip.adjust_cell_length(self.size.width, base)
            if face is not None:
                self._strips[key] = strip
        return strip

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + round(self.scroll_offset.y)
        if 0 <= line < self.count():
            self.post_message(self.Picked(self, line, line == self.at()))
