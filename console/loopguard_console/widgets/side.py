"""A pane beside the chain whose border can be dragged."""

from __future__ import annotations

from textual import events
from textual.containers import Vertical
from textual.message import Message


class Side(Vertical):
    """Drag the border towards the chain to make the pane smaller or larger."""

    class Dragged(Message):
        """The border was dragged to a place of the screen; ``done``: it was let go."""

        def __init__(self, side: Side, x: int, y: int, done: bool) -> None:
            super().__init__()
            self.side = side
            self.x = x
            self.y = y
            self.done = done

        @property
        def control(self) -> Side:
            return self.side

    _drags = False

    def _on_border(self, event: events.MouseDown) -> bool:
        size, border = self.outer_size, self.styles.border
        return (
            (bool(border.left[0]) and event.x == 0)
            or (bool(border.right[0]) and event.x == size.width - 1)
            or (bool(border.top[0]) and event.y == 0)
        )

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the border."""
        if self._on_border(event):
            self._drags = True
            self.capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag it along."""
        if self._drags:
            self.post_message(self.Dragged(self, event.screen_x, event.screen_y, False))
            event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let it go."""
        if self._drags:
            self._drags = False
            self.release_mouse()
            self.post_message(self.Dragged(self, event.screen_x, event.screen_y, True))
            event.stop()
