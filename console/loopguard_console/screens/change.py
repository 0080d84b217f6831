"""A change of a file, seen before it is written."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from loopguard_console.render import safe
from loopguard_console.rules import Edit

_STYLES = {"+": "$text-success", "-": "$text-error", "@": "$dim"}


def painted(edit: Edit) -> Content:
    """What changes, line by line."""
    lines = edit.diff().split("\n")
    return Content("\n").join(
        Content.assemble((safe(line), _STYLES.get(line[:1], ""))) for line in lines
    )


class ChangeScreen(ModalScreen[Edit | None]):
    """The answer is the change, if the person confirmed it."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "back"),
        Binding("enter", "write", "write it"),
    ]

    def __init__(self, title: str, edit: Edit) -> None:
        super().__init__()
        self._title = title
        self._edit = edit

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(safe(self._title), classes="heading", markup=False)
            with VerticalScroll(id="diff"):
                yield Static(painted(self._edit), id="change", markup=False)
            says = f"Enter writes {self._edit.path} · Esc leaves it"
            yield Static(safe(says), id="says", markup=False)

    def action_write(self) -> None:
        """Confirm it."""
        self.dismiss(self._edit)

    def action_back(self) -> None:
        """Leave it."""
        self.dismiss(None)
