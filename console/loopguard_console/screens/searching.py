"""Searching: in one chain, of which only the hits may be shown, and over all sessions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from loopguard_console.render import safe
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.everywhere import Everywhere
from loopguard_console.screens.search import Asked, SearchBox
from loopguard_core.store.index import Hit

if TYPE_CHECKING:
    from textual.timer import Timer

    from loopguard_console.viewing.view import View

#: Seconds of looking for hits, and of letting keys through, in turn.
PIECE = 0.01
PAUSE = 0.005
#: Seconds between two looks of the person at what has been found so far.
TELL_EVERY = 0.3


class Searching(DecidingScreen):
    """The actions that search."""

    def __init__(self) -> None:
        super().__init__()
        self._looking: Timer | None = None
        self._drawn_hits = 0.0

    @property
    def view(self) -> View | None:
        """The chain on the screen."""
        raise NotImplementedError

    def moved(self) -> None:
        """Draw what depends on the cursor."""
        raise NotImplementedError

    async def action_search(self) -> None:
        """Ask what to search for."""
        view = self.view
        if view is not None:
            await self._ask(view, only=view.filtered)

    async def action_only_hits(self) -> None:
        """Show only the hits of the search, or all calls again; ask for a search where there is none."""
        view = self.view
        if view is None:
            return
        if view.hits is None:
            await self._ask(view, only=True)
            return
        view.filter(not view.filtered)
        self.moved()

    async def _ask(self, view: View, *, only: bool) -> None:
        def answer(asked: Asked | None) -> None:
            if asked is None:
                return
            view.find(asked.hits)
            view.filter(asked.only)
            if view.hits is not None and not asked.only:
                self._hit(1, here=True)
            self.moved()
            self.look_on()

        await self.console_app.open_screen(SearchBox(view, only=only), answer)

    # -- looking for hits a piece at a time --------------------------------------------------------

    def look_on(self) -> None:
        """Go on looking for hits, if there are calls left to look at."""
        view = self.view
        if self._looking is not None or view is None or view.hits is None:
            return
        if view.sought or not view.hits.done:
            self._looking = self.set_timer(PAUSE, self._look)

    def _look(self) -> None:
        self._looking = None
        view = self.view
        if view is None or view.hits is None:
            return
        sought = view.sought
        done = view.look(PIECE)
        if sought and not view.sought:
            self._hit(sought)
        if done or time.monotonic() - self._drawn_hits >= TELL_EVERY:
            self._drawn_hits = time.monotonic()
            self.moved()
        self.look_on()

    # -- from hit to hit ---------------------------------------------------------------------------

    def action_next_hit(self) -> None:
        """The next hit."""
        self._hit(1)

    def action_previous_hit(self) -> None:
        """The hit before."""
        self._hit(-1)

    def _hit(self, by: int, *, here: bool = False) -> None:
        view = self.view
        if view is None or view.hits is None:
            self.console_app.hint(
                self.console_app.names.say("Search for something first: {search}")
            )
            return
        before = view.cursor
        found = view.to_hit(by, here=here)
        if found is None:
            view.sought = by
            self.look_on()
        elif not found:
            self.console_app.hint(f"No call matches {safe(view.hits.query.text, 40)}.")
        elif view.cursor == before and not here:
            self.console_app.hint("This is the only hit.")
        self.moved()

    # -- over all sessions -------------------------------------------------------------------------

    async def action_search_all(self) -> None:
        """Search all sessions of the store."""
        app = self.console_app
        if app.store is None:
            self.console_app.hint(
                self.console_app.names.say("A recording is searched with {search}.")
            )
            return

        def found(hit: Hit | None) -> None:
            if hit is not None:
                app.go_to_event(hit.session, hit.seq)

        await app.open_screen(Everywhere(app.store), found)
