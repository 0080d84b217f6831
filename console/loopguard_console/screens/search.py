"""The search box: hits are counted while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from loopguard_console.punctual import Punctual
from loopguard_console.render import safe
from loopguard_console.viewing.hits import Hits
from loopguard_console.viewing.query import Query, QueryError

if TYPE_CHECKING:
    from textual.timer import Timer

    from loopguard_console.viewing.view import View

PIECE = 0.02
PAUSE = 0.005
LANGUAGE = "words  tool:bash  tier>=warn  is:error  count>=3  turn:2  /regex/"


class Asked(NamedTuple):
    """What is searched for; ``only``: nothing else is to be shown."""

    hits: Hits
    only: bool


class SearchBox(Punctual, ModalScreen[Asked | None]):
    """Asks for a query. ``None``: the search stays as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        Binding("tab", "only", "show only the hits", priority=True),
    ]

    def __init__(self, view: View, *, only: bool) -> None:
        super().__init__()
        self._view = view
        self._only = only
        self._hits = view.hits or Hits(view.recording, Query(""))
        self._wrong = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Search", classes="heading", markup=False)
            yield Static(LANGUAGE, id="language", markup=False)
            yield Input(self._hits.query.text, id="query")
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))
        self._count()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Count the hits of what stands there now."""
        self._wrong = ""
        if event.value.strip() == self._hits.query.text:
            self._count()
            return
        try:
            self._hits = Hits(self._view.recording, Query(event.value))
        except QueryError as error:
            self._hits = Hits(self._view.recording, Query(""))
            self._wrong = str(error)
        self._count()

    def _count(self) -> None:
        """Count on for a moment, and again after the keys have been answered."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        hits = self._hits
        said = self._wrong
        if hits.query:
            done = hits.look(PIECE)
            total = len(self._view.recording)
            said = f"{len(hits):,} of {total:,} calls" + (
                "" if done else f" · {hits.part:.0%} read"
            )
            if not done:
                self._timer = self.set_timer(PAUSE, self._count)
        self._draw(said)

    def _draw(self, said: str) -> None:
        parts: list[str | tuple[str, str]] = [f"{safe(said)}\n\n"]
        for only, words in ((False, "mark the hits"), (True, "show only the hits")):
            chosen = only == self._only
            shown = f"‹{words}›" if chosen else f" {words} "
            parts.append((shown, "bold underline" if chosen else "$dim"))
        parts.append(("\nTab changes that · Enter does it · Esc leaves it", "$dim"))
        self.query_one("#says", Static).update(Content.assemble(*parts))

    def on_input_submitted(self) -> None:
        """Search for it."""
        if not self._wrong:
            self.dismiss(Asked(self._hits, self._only))

    def action_only(self) -> None:
        """Show only the hits, or all calls with the hits marked."""
        self._only = not self._only
        self._count()

    def action_cancel(self) -> None:
        """Leave the search as it was."""
        self.dismiss(None)
