"""Search all sessions: words in arguments, results and texts; Enter goes to the call."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from loopguard_console.render import cut, safe, times_more
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.index import Hit
from loopguard_core.store.search import open_index

if TYPE_CHECKING:
    from loopguard_console.app import ConsoleApp

_MOST = 100
_SLICE = 1.0


class Everywhere(ModalScreen[Hit | None]):
    """Asks for words and lists the events that hold all of them, the best first."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "close"),
        Binding("down", "list", "to the hits"),
    ]

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._hits: list[Hit] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="wide"):
            yield Static("Search all sessions", classes="heading", markup=False)
            yield Input(placeholder='words, or "several words"', id="words")
            yield OptionList(id="hits")
            yield Static(
                "Enter searches, then goes to the call · Esc closes", id="says", markup=False
            )

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for the words."""
        if any(c.isalnum() or c == "_" for c in event.value):
            self.query_one("#says", Static).update("Searching…")
            self._search(event.value)

    @work(thread=True, exclusive=True, exit_on_error=False, group="search")
    def _search(self, words: str) -> None:
        try:
            with contextlib.closing(open_index(self._store)) as index:
                while not index.update(_SLICE):
                    self.app.call_from_thread(self._say, "Reading what is new…")
                hits, said = index.search(words, limit=_MOST), ""
        except StoreError as error:
            hits, said = [], str(error)
        self.app.call_from_thread(self._take, hits, said)

    def _say(self, text: str) -> None:
        self.query_one("#says", Static).update(safe(text))

    def _take(self, hits: list[Hit], said: str) -> None:
        self._hits = hits
        app = cast("ConsoleApp", self.app)
        listed = self.query_one("#hits", OptionList)
        listed.clear_options()
        listed.add_options([Option(self._line(app, hit)) for hit in hits])
        many = f"The best {len(hits)}" if len(hits) == _MOST else f"{len(hits)} found"
        self._say(said or (f"{many} · Enter goes there" if hits else "Nothing was found."))
        if hits:
            listed.highlighted = 0
            self.set_focus(listed)

    def _line(self, app: ConsoleApp, hit: Hit) -> Content:
        parts = [(cut(app.title_of(hit.session), 24) + "  ", "bold $text-primary")]
        room = 100
        for text, found in hit.parts:
            shown = safe(text, max(0, room))
            room -= len(shown)
            parts.append((shown, "bold $text-warning" if found else ""))
        if hit.again:
            parts.append((f"  and {times_more(hit.again)}", "$dim"))
        return Content.assemble(*parts)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the call."""
        self.dismiss(self._hits[event.option_index])

    def action_list(self) -> None:
        """From the words to the hits."""
        if self._hits:
            self.set_focus(self.query_one("#hits"))

    def action_cancel(self) -> None:
        """Close."""
        self.dismiss(None)
