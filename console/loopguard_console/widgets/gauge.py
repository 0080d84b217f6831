"""The panes below the chain: the window, the counters, the tiers over time."""

from __future__ import annotations

from textual.content import Content

from loopguard_console.inspector.costs import since_first
from loopguard_console.inspector.gauges import (
    counter_lines,
    counter_of_call,
    legend,
    rate,
    strip,
    timeline,
)
from loopguard_console.render import span
from loopguard_console.viewing.view import View
from loopguard_console.widgets.pane import Pane


def _title(text: str, note: str = "") -> Content:
    return Content.assemble((text, "bold $text-primary"), (f"  {note}" if note else "", "$dim"))


class WindowPane(Pane):
    """The last N calls, equal ones alike, and what stands in them more than once."""

    def show(self, view: View | None, *, alone: bool = False) -> None:
        """Show the window up to the cursor of *view*.

        *alone*: the counters have no pane of their own, and that of the selected call stands here.
        """
        if view is None or view.cursor < 0:
            self.put("")
            return
        width, height = self.size.width or 60, self.size.height or 4
        head = Content.assemble(
            (f"LAST {view.recording.window} ", "bold $text-primary"), strip(view, width - 9)
        )
        paid = since_first(view.recording, view.cursor)
        counter = counter_of_call(view, width) if alone and height > 1 else None
        lines = [head] if counter is None else [head, counter]
        lines += legend(view, width, max(0, height - len(lines)))
        if len(lines) == 1 and height > 1:
            lines.append(Content.assemble(("no call stands twice in the window", "$dim")))
        if paid and len(lines) < height:
            title = "since the first repeat: "
            title = title if len(title) + len(paid) <= width else "cost: "
            lines.append(Content.assemble((title, "$dim"), (paid, "$text-warning")))
        self.put(Content("\n").join(lines[:height]))


class CounterPane(Pane):
    """The policy's counters against warn, block and halt, before anything fires."""

    def show(self, view: View | None) -> None:
        """Show the counters as they stood at the cursor of *view*."""
        if view is None or view.cursor < 0:
            self.put("")
            return
        width, height = self.size.width or 60, self.size.height or 4
        lines = counter_lines(view, width, max(1, height - 1))
        if not lines:
            lines = [Content.assemble(("it counts nothing here", "$dim"))]
        policy = view.recording.guard.policy.name
        self.put(Content("\n").join([_title("COUNTERS", f"of {policy}"), *lines][:height]))


class TimelinePane(Pane):
    """The tiers of the whole session and how fast the calls came."""

    def show(self, view: View | None) -> None:
        """Show the session of *view*."""
        if view is None or not len(view.recording):
            self.put("")
            return
        width = self.size.width or 60
        lines = [Content.assemble(("TIERS ", "bold $text-primary"), timeline(view, width - 6))]
        bars, length = rate(view, max(4, min(40, width - 24)))
        if length is not None:
            lines.append(
                Content.assemble(
                    ("CALLS ", "bold $text-primary"),
                    (bars, "$text-accent"),
                    (f" in {span(length)}", "$dim"),
                )
            )
        self.put(Content("\n").join(lines))
