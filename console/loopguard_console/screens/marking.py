"""Bookmarks: mark a call, go from one to the next, list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_console.screens.bookmarks import BookmarkList
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.viewing.places import places

if TYPE_CHECKING:
    from loopguard_console.viewing.view import View


class Marking(DecidingScreen):
    """The actions on bookmarks. They are the person's own: the session does not change."""

    @property
    def view(self) -> View | None:
        """The chain on the screen."""
        raise NotImplementedError

    def moved(self) -> None:
        """Draw what depends on the cursor."""
        raise NotImplementedError

    def action_bookmark(self) -> None:
        """Mark the selected call, or take its mark away."""
        view = self.view
        if view is not None and view.cursor >= 0:
            marked = view.bookmarks.toggle(view.recording, view.cursor)
            number = f"call {view.cursor + 1}"
            on = self.console_app.names.say(
                "{next_bookmark} goes to the next, {bookmarks} lists them"
            )
            said = f"Bookmark on {number}: {on}."
            self.console_app.hint(said if marked else f"No bookmark on {number} any more.")
            self.moved()

    def action_next_bookmark(self) -> None:
        """To the next bookmark, around the end."""
        self._to_bookmark(1)

    def action_previous_bookmark(self) -> None:
        """To the bookmark before, around the end."""
        self._to_bookmark(-1)

    def _to_bookmark(self, by: int) -> None:
        view = self.view
        before = -1 if view is None else view.cursor
        if view is not None and view.to_bookmark(by):
            if view.cursor == before:
                self.console_app.hint(
                    self.console_app.names.say("This is the only bookmark: {bookmarks} lists it.")
                )
            self.moved()
        else:
            self.console_app.hint(
                self.console_app.names.say("No bookmark is set here: {bookmark} sets one.")
            )

    async def action_bookmarks(self) -> None:
        """All places that a person marked."""
        view = self.view
        if view is None:
            return

        def answer(row: int | None) -> None:
            if row is not None:
                view.seek(row)
                self.moved()

        found = places(view.recording, view.bookmarks)
        await self.console_app.open_screen(
            BookmarkList(view.recording, found, self.console_app.names), answer
        )
