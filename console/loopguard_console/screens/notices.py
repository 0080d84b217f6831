"""Where the lines to a person lie: over the oldest lines of a list, never over a card or its keys."""

from __future__ import annotations

from textual.screen import Screen
from textual.widgets._toast import ToastRack


def lie_over(screen: Screen[None], pane: str) -> None:
    """Keep the notices of *screen* within the widget *pane* names, at its top; as they come where it is not to be seen."""
    if not screen.query(ToastRack) or not screen.query(pane):
        return  # the screen goes
    rack, area = screen.query_one(ToastRack), screen.query_one(pane).region
    for holder in rack.children:
        if holder.is_mounted and not holder.children:
            holder.remove()  # what it held was taken away, its line was not
    styles = rack.styles
    if area:
        styles.dock, styles.margin, styles.offset = "top", 0, (area.x, area.y)
        styles.width, styles.max_height = area.width, area.height
    else:
        for name in ("dock", "margin", "offset", "width", "max_height"):
            styles.clear_rule(name)
