"""The sizes of the panes: by key, by dragging a border, kept for the next time."""

from __future__ import annotations

from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.viewing.layout import NARROW, STEP, Layout
from loopguard_console.widgets.side import Side


class Sizing(DecidingScreen):
    """The actions that make panes larger and smaller."""

    def action_card_larger(self) -> None:
        """More room for the card."""
        self._grow("#right", 1)

    def action_card_smaller(self) -> None:
        """Less room for the card."""
        self._grow("#right", -1)

    def action_list_larger(self) -> None:
        """More room for the list of sessions."""
        self._grow("#left", 1)

    def action_list_smaller(self) -> None:
        """Less room for the list of sessions."""
        self._grow("#left", -1)

    def action_usual_sizes(self) -> None:
        """All panes as they come."""
        self.console_app.remembered.keep_layout(Layout())
        self.lay_out()
        self.console_app.hint("All panes have their usual sizes.")

    def lay_out(self) -> None:
        """Give the panes the sizes that were set, as far as the terminal is large enough for them."""
        if not self.is_mounted:
            return
        left, right = self.query_one("#left"), self.query_one("#right")
        narrow = self.size.width < NARROW
        sizes = self._fitted(self.console_app.remembered.layout)
        for pane, name, size in (
            (left, "width", sizes.left),
            (right, "width", 0 if narrow else sizes.right),
            (right, "height", sizes.below if narrow else 0),
        ):
            setattr(pane.styles, name, size or None)
        self.call_after_refresh(self.redraw)

    def _grow(self, pane: str, by: int) -> None:
        """Make *pane* larger or smaller by a step; one that is not to be seen is said to be so."""
        found = self.query_one(pane)
        if not (found.display and self.query_one("#body").display):
            self.console_app.hint(
                self.console_app.names.say(
                    "That pane is hidden: {sessions} shows the list of sessions."
                )
            )
            return
        name = self._measure(found.id or "")
        if not self._set(name, self._now(name) + by * STEP[name]):
            said = "There is no more room for it." if by > 0 else "It is as small as it gets."
            self.console_app.hint(said)

    def _measure(self, pane: str) -> str:
        if pane == "left":
            return "left"
        return "below" if self.size.width < NARROW else "right"

    def _set(self, name: str, size: int, *, keep: bool = True) -> bool:
        """Set a size; True where that changes what is on the screen."""
        remembered = self.console_app.remembered
        before = self._now(name)
        kept = getattr(self._fitted(remembered.layout._replace(**{name: max(1, size)})), name)
        remembered.keep_layout(remembered.layout._replace(**{name: kept}), write=keep)
        self.lay_out()
        return bool(kept != before)

    def _now(self, name: str) -> int:
        """The size of a pane now: as it was set, else as it comes."""
        size = getattr(self._fitted(self.console_app.remembered.layout), name)
        if not size:
            found = self.query_one("#left" if name == "left" else "#right").outer_size
            size = found.height if name == "below" else found.width
        return int(size)

    def _fitted(self, layout: Layout) -> Layout:
        narrow = self.size.width < NARROW
        left = 0 if narrow else self.query_one("#left").outer_size.width
        return layout.fitted(self.size.width, self.size.height, left)

    def on_side_dragged(self, message: Side.Dragged) -> None:
        """A border was dragged."""
        side = message.side
        name = self._measure(side.id or "")
        size = {
            "left": message.x + 1 - side.region.x,
            "right": side.region.right - message.x,
            "below": side.region.bottom - message.y,
        }[name]
        self._set(name, size, keep=message.done)
