"""The search box: hits are counted while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from loopguard_console.view import View


class SearchBox(ModalScreen[str | None]):
    """Asks for a query; the answer is the query or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(
                "Search  words · tool:bash · tier>=warn · is:error · count>=3 · /regex/",
                markup=False,
            )
            yield Input(self._view.query, id="query")
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Count the hits so far."""
        said = self._view.count_hits(event.value)
        self.query_one("#says", Static).update(said)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for it."""
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Leave the search as it was."""
        self.dismiss(None)
