"""Sessions in the list: filter, pin, rename, delete."""

from __future__ import annotations

from loopguard_console.render import counted
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.dialogs import Answer, Dialog


class Managing(DecidingScreen):
    """The actions on whole sessions."""

    async def action_filter(self) -> None:
        """Show only the sessions that match some words."""
        app = self.console_app

        def answer(given: Answer | None) -> None:
            if given is not None:
                app.desk.arrange(filter=given.note)
                self.redraw()

        does = "Words of the agent, the name, the folder or the state; empty shows all."
        dialog = Dialog("Filter", "sessions", note=app.desk.filter or "live claude", does=does)
        await app.open_screen(dialog, answer)

    def action_sort(self) -> None:
        """The list of sessions in the next order."""
        orders = self.console_app.desk.orders
        self.sort_by(orders[(orders.index(self.console_app.desk.order) + 1) % len(orders)])

    def sort_by(self, order: str) -> None:
        """The list of sessions in *order*, from now on."""
        app = self.console_app
        app.desk.arrange(order=order)
        app.remembered.keep("sort", order)
        app.hint(f"Sessions sorted: {order}.")
        self.redraw()

    def action_pin(self) -> None:
        """Keep a session at the top, or let it go."""
        app = self.console_app
        if app.desk.current:
            pinned = app.remembered.pin(app.desk.current)
            app.desk.arrange()
            self.console_app.hint("Pinned." if pinned else "No longer pinned.")
            self.redraw()

    async def action_rename(self) -> None:
        """Call a session by a name of one's own."""
        app = self.console_app
        session = app.desk.current
        if not session:
            return

        def answer(given: Answer | None) -> None:
            if given is not None:
                app.remembered.rename(session, given.note)
                app.desk.arrange()
                self.redraw()

        does = "Only this console shows the name; an empty one gives it back its own."
        dialog = Dialog("Rename", app.title_of(session), note="a name", does=does)
        await app.open_screen(dialog, answer)

    async def action_delete(self) -> None:
        """Delete a session with all its events, after a second step."""
        app = self.console_app
        session = app.desk.current
        if app.decider is None:
            self.console_app.hint(app.why_not)
            return
        if not session:
            return
        known = app.desk.session(session)
        if app.desk.state.get(session) in ("live", "quiet"):
            self.console_app.hint("It still runs; halt it or wait until it ends.")
            return

        def answer(given: Answer | None) -> None:
            if given is not None:
                app.remembered.forget(session)
                self._do(lambda decider: decider.delete(session))
                app.gone(session)

        calls = known.calls if known is not None else 0
        does = (
            f"It is removed for good with {counted(calls, 'call')} and all that was said about it."
        )
        await app.open_screen(Dialog("Delete", app.title_of(session), does=does), answer)
