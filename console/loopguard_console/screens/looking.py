"""Moving and looking on the main screen: what the keys of the groups Move, Look and Step through do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard_console.render import as_json, counted, pretty, safe
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.grants import Grants
from loopguard_console.screens.inbox import InboxScreen
from loopguard_console.widgets.chain import Chain
from loopguard_console.widgets.inspector import Inspector
from loopguard_console.widgets.sessions import SessionList

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from loopguard_console.viewing.view import View

_FASTEST = 32.0


class Looking(DecidingScreen):
    """The actions that change nothing but the view."""

    def __init__(self) -> None:
        super().__init__()
        self.playing = False
        self.speed = 4.0
        self._ticker: Timer | None = None

    @property
    def view(self) -> View | None:
        """The chain on the screen."""
        raise NotImplementedError

    def moved(self) -> None:
        """Draw what depends on the cursor."""
        raise NotImplementedError

    # -- moving ------------------------------------------------------------------------------------

    def _move(self, by: int) -> None:
        view = self.view
        if isinstance(self.focused, SessionList):
            self._beside(by)
        elif isinstance(self.focused, Inspector):
            self._scroll(by)
        elif view is not None:
            self._to(view, lambda: view.move(by), by)

    def _to(self, view: View, move: Callable[[], object], by: int) -> None:
        """Move the cursor and draw it; where it stays, the chain ends there."""
        before = view.cursor, view.following
        move()
        self.moved()
        if (view.cursor, view.following) == before:
            self._ends(by)

    def _ends(self, by: int) -> None:
        self.console_app.hint(f"This is the {'last' if by > 0 else 'first'} call.")

    def _beside(self, by: int) -> None:
        """Another session of the list."""
        app = self.console_app
        other = app.desk.neighbour(by)
        if other == app.desk.current:
            app.hint("There is no other session.")
        app.select(other)

    def action_down(self) -> None:
        """The next line of what has the focus."""
        self._move(1)

    def action_up(self) -> None:
        """The line before."""
        self._move(-1)

    def action_page_down(self) -> None:
        """A page further."""
        self._move(self._page())

    def action_page_up(self) -> None:
        """A page back."""
        self._move(-self._page())

    def _page(self) -> int:
        return max(1, self.query_one(Chain).size.height - 1)

    def action_first(self) -> None:
        """The first call."""
        view = self.view
        if view is not None:
            self._to(view, lambda: view.seek(0), -1)

    def action_last(self) -> None:
        """The last call; in a live session, follow."""
        view = self.view
        if view is not None:
            self._to(view, view.follow, 1)

    def action_follow(self) -> None:
        """Follow, or stop following."""
        if self.view is not None:
            if self.view.following:
                self.view.following = False
            else:
                self.view.follow()
            self.moved()

    def action_waiting(self) -> None:
        """The next request that waits."""
        selected = self.selected()
        request = self.console_app.desk.next_waiting(selected.request if selected else "")
        if request is None:
            self.console_app.hint("Nothing waits for you.")
        else:
            self.console_app.go_to(request)

    def action_next_session(self) -> None:
        """The next session in the list."""
        self._beside(1)

    def action_previous_session(self) -> None:
        """The session before it."""
        self._beside(-1)

    async def action_inbox(self) -> None:
        """All requests that wait."""
        await self.console_app.open_screen(InboxScreen())

    async def action_grants(self) -> None:
        """The grants in force in this session."""
        view, app = self.view, self.console_app
        if view is None:
            return
        grants = [g for g in view.recording.guard.controls.grants if g.left != 0]

        def answer(grant: str | None) -> None:
            if grant:
                self._do(lambda decider: decider.revoke(view.recording.session, grant))

        await self.console_app.open_screen(Grants(grants, app.desk.now, app.names), answer)

    def action_mute(self) -> None:
        """Bell on or off."""
        self.console_app.action_mute()

    def action_sessions(self) -> None:
        """To the list of sessions and back."""
        there = isinstance(self.focused, SessionList)
        self.set_class(not there, "-sessions")
        self.query_one(Chain if there else SessionList).focus()

    def action_back_to_chain(self) -> None:
        """Back to the chain; from there, away from the search."""
        chain = self.query_one(Chain)
        view = self.view
        if chain.has_focus and not self.has_class("-sessions") and view is not None:
            view.find(None)
            self.moved()
        self.remove_class("-sessions")
        chain.focus()

    # -- stepping ----------------------------------------------------------------------------------

    def action_step(self) -> None:
        """One call further."""
        self._step(1)

    def action_back(self) -> None:
        """One call back."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if self.view is not None and self.view.step(by):
            self.moved()
        else:
            self._ends(by)

    def action_next_tier(self) -> None:
        """The next tier change."""
        self._jump(self.view is not None and self.view.change(1), "No tier change after this call.")

    def action_previous_tier(self) -> None:
        """The tier change before."""
        self._jump(
            self.view is not None and self.view.change(-1), "No tier change before this call."
        )

    def action_next_failure(self) -> None:
        """The next call that failed."""
        found = self.view is not None and self.view.failure(1)
        if found:
            self.moved()
        else:
            self.console_app.hint("No failed call after this one.")

    def action_card_down(self) -> None:
        """The card further down."""
        self._scroll(self._card_page())

    def action_card_up(self) -> None:
        """The card further up."""
        self._scroll(-self._card_page())

    def _card_page(self) -> int:
        return max(1, self.query_one(Inspector).scrollable_content_region.height - 1)

    def _scroll(self, by: int) -> None:
        """Scroll the card by lines."""
        card = self.query_one(Inspector)
        before = card.scroll_y
        card.scroll_relative(y=by, animate=False, immediate=True)
        if card.scroll_y == before:
            end = (
                self.console_app.names.say("to its end: {pager} shows all of the call")
                if by > 0
                else "to its beginning"
            )
            self.console_app.hint(f"The card is scrolled {end}.")

    def _jump(self, found: bool, otherwise: str) -> None:
        if found:
            self.moved()
        else:
            view = self.view
            if view is not None and not view.recording.worst:
                otherwise = self.console_app.names.say(self._nowhere())
            self.console_app.hint(otherwise)

    def _nowhere(self) -> str:
        """That the guard steps in nowhere here, and where else it does."""
        desk = self.console_app.desk
        others = sum(1 for s in desk.sessions if s.worst and s.session != desk.current)
        if not others:
            return "The guard steps in nowhere in this session: {whatif} asks other policies."
        where = counted(others, "other session")
        there = "{next_session} goes to the next, {sessions} lists them"
        return f"The guard steps in nowhere in this session, but in {where}: {there}."

    def action_play(self) -> None:
        """Play or pause."""
        self.playing = not self.playing
        self._restart()
        self.redraw()

    def action_faster(self) -> None:
        """Twice the speed."""
        self.speed = min(_FASTEST, self.speed * 2)
        self._restart()
        self.redraw()

    def action_slower(self) -> None:
        """Half the speed."""
        self.speed = max(0.5, self.speed / 2)
        self._restart()
        self.redraw()

    def _restart(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        if self.playing:
            self._ticker = self.set_interval(1 / self.speed, self._tick)

    def _tick(self) -> None:
        view = self.view
        if view is None or not view.step(1) or view.stops_here():
            self.playing = False
            self._restart()
        self.redraw()

    # -- looking -----------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Open or close what is folded here; in the list of sessions, go to the chain."""
        if isinstance(self.focused, SessionList):
            self.action_sessions()
        elif self.view is not None and self.view.toggle_fold():
            self.redraw()
        else:
            self.console_app.hint(
                self.console_app.names.say("This call is not folded: {pager} shows it in full.")
            )

    def action_fold_all(self) -> None:
        """Fold, or show every call."""
        if self.view is not None:
            self.view.fold_all()
            folds = "Runs and cycles are folded: {fold_all} shows every call."
            shows = "Every call is shown: {fold_all} folds."
            self.console_app.hint(self.console_app.names.say(folds if self.view.fold else shows))
            self.redraw()

    def action_pager(self) -> None:
        """The call in full in a pager."""
        view = self.view
        if view is not None and view.cursor >= 0:
            recording = view.recording
            row = recording.row(view.cursor)
            result = pretty(recording.result(view.cursor))
            if row.outcome in ("running", "pending"):
                result = "(no result yet)" if row.outcome == "running" else "(no result)"
            text = f"{row.tool}\n\n{pretty(recording.args(view.cursor))}\n\n{result}\n"
            self.console_app.page(safe(text, lines=True))

    def action_copy(self) -> None:
        """The arguments to the clipboard."""
        view = self.view
        if view is not None and view.cursor >= 0:
            args = view.recording.args(view.cursor)
            self.app.copy_to_clipboard(args if isinstance(args, str) else as_json(args))
            self.console_app.hint("Arguments copied.")
