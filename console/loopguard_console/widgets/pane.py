"""A pane of text that repaints only when its text changes."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Pane(Static):
    """Literal text. Strings are never markup."""

    def __init__(
        self, text: str = "", *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(text, id=id, classes=classes, markup=False)
        self._put: Content | None = None

    def put(self, text: str | Content, *, layout: bool = False) -> None:
        """Show *text*; *layout* where its height may have changed. Nothing happens if it is there already."""
        new = Content(text) if isinstance(text, str) else text
        old = self._put
        if old is None or old.plain != new.plain or old.spans != new.spans:
            self._put = new
            self.update(new, layout=layout and not self._fits(new))

    def _fits(self, new: Content) -> bool:
        """True where *new* needs no other height than what is there has."""
        width, height = self.content_size
        if not width:
            return False
        needed = new.get_height(self.styles.get_rules(), width)
        least = self.styles.min_height
        return needed == height or (least is not None and max(needed, height) <= least.value)
