"""The places that a person marked, in a list; Enter goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from loopguard_console.keys.keynames import USUAL, KeyNames
from loopguard_console.render import pad, safe, signature_label
from loopguard_console.viewing.places import Place

if TYPE_CHECKING:
    from loopguard_core.recording.replay import Recording


class BookmarkList(ModalScreen[int | None]):
    """The answer is the call to go to, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "cancel", "close")]

    def __init__(self, recording: Recording, found: list[Place], names: KeyNames = USUAL) -> None:
        super().__init__()
        self._recording = recording
        self._places = found
        self._names = names

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Bookmarks, notes and labels", classes="heading", markup=False)
            if self._places:
                yield OptionList(*[Option(self._words(place)) for place in self._places])
                says = "Enter goes there · Esc closes"
            else:
                says = self._names.say(
                    "None yet: {bookmark} marks the selected call, {note} keeps a note on it in a live session."
                )
            yield Static(says, id="says", markup=False)

    def _words(self, place: Place) -> Content:
        tool, args = self._recording.row(place.row).tool, self._recording.args(place.row)
        return Content.assemble(
            (pad(str(place.row + 1), 7, right=True) + "  ", "$dim"),
            (signature_label(tool, args, 28 if place.said else 58), "bold"),
            (f"  {safe(place.said, 34)}" if place.said else "  ◆", "$text-accent"),
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the call."""
        self.dismiss(self._places[event.option_index].row)

    def action_cancel(self) -> None:
        """Stay."""
        self.dismiss(None)
