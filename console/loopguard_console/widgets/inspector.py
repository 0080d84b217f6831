"""The inspector: the call at the cursor, why the guard stepped in, and what each key will do."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from loopguard_console.inspector.card import Asking, card
from loopguard_console.viewing.view import View
from loopguard_console.widgets.pane import Pane


class Inspector(VerticalScroll, can_focus=True):
    """The card of one call; it scrolls where it is longer than the pane."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._at: tuple[int, int] = (-1, -1)

    def compose(self) -> ComposeResult:
        yield Pane(id="card")

    def on_resize(self) -> None:
        """The card fills the pane, so that most cards are of one height."""
        self.query_one("#card", Pane).styles.min_height = self.scrollable_content_region.height

    def show(self, view: View | None, asking: Asking | None) -> None:
        """Show the call at the cursor of *view*; *asking* is the request about it that waits."""
        width = max(20, (self.scrollable_content_region.width or 40) - 1)
        height = self.scrollable_content_region.height or 40
        self.query_one("#card", Pane).put(card(view, asking, width, height), layout=True)
        at = (id(view), view.cursor if view is not None else -1)
        if at != self._at:
            self._at = at
            self.scroll_home(animate=False)
