"""Change the arguments of a waiting call."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from loopguard_console.editing import EditorError, edit
from loopguard_console.render import pretty, safe
from loopguard_core.store.contract import Request

_KEYS = "^S runs it so · ^E in your editor · ^R as it was · Esc leaves it"


class Modify(ModalScreen[tuple[Any] | None]):
    """The arguments as JSON in an editor; the answer is ``(args,)`` or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        Binding("ctrl+s", "confirm", "run it so", priority=True),
        Binding("ctrl+e", "editor", "in your editor", priority=True),
        Binding("ctrl+r", "revert", "as it was", priority=True),
    ]

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._request = request
        self._before = pretty(request.args)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="tall"):
            title = f"  {safe(self._request.request, 8)}  {safe(self._request.tool, 40)}"
            yield Static(Content.assemble(("Modify the arguments", "bold"), title))
            yield TextArea(safe(self._before, lines=True), id="args", show_line_numbers=False)
            yield Static(_KEYS, id="says", markup=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(TextArea))

    def action_confirm(self) -> None:
        """Take the arguments, if they are JSON (a call with a plain string may have any text)."""
        text = self.query_one(TextArea).text
        try:
            args = text if isinstance(self._request.args, str) else json.loads(text)
        except (ValueError, RecursionError) as error:
            self._say(f"Not JSON: {error}")
            return
        self.dismiss((args,))

    def _say(self, wrong: str) -> None:
        """What is wrong, above the keys; it goes with the next change."""
        says = Content.assemble((f"{wrong}\n" if wrong else "", "bold $text-error"), _KEYS)
        self.query_one("#says", Static).update(says)

    def on_text_area_changed(self) -> None:
        """What was wrong may be right now."""
        self._say("")

    def action_editor(self) -> None:
        """The arguments in the person's own editor."""
        area = self.query_one(TextArea)
        try:
            with self.app.suspend():
                text = edit(area.text)
        except (EditorError, SuspendNotSupported) as error:
            self._say(safe(str(error) or "there is no terminal for it"))
            return
        area.text = text.rstrip("\n")
        self.refresh(repaint=True, layout=True)

    def action_revert(self) -> None:
        """The arguments as the agent asked."""
        self.query_one(TextArea).text = safe(self._before, lines=True)

    def action_cancel(self) -> None:
        """Leave it."""
        self.dismiss(None)
