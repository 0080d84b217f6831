"""Breakpoints, notes and labels, and what other policies would have done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from loopguard_console import rules
from loopguard_console.exporting import KINDS, ExportError, export
from loopguard_console.rules import Edit, RuleError
from loopguard_console.screens.change import ChangeScreen
from loopguard_console.screens.deciding import DecidingScreen
from loopguard_console.screens.dialogs import Answer, Choice, Dialog
from loopguard_console.screens.rule import RuleScreen
from loopguard_console.screens.whatif import Chosen, WhatIf
from loopguard_console.viewing.query import Query, QueryError
from loopguard_console.whatif import parse
from loopguard_core.policies.options import PolicyError
from loopguard_core.recording.labels import LABELS

if TYPE_CHECKING:
    from loopguard_console.viewing.view import View


class Debugging(DecidingScreen):
    """The actions of a debugger."""

    def __init__(self) -> None:
        super().__init__()
        self._undo: Edit | None = None

    @property
    def view(self) -> View | None:
        """The chain on the screen."""
        raise NotImplementedError

    async def action_whatif(self) -> None:
        """What other policies would have done."""
        view = self.view
        if view is None or not len(view.recording):
            self.console_app.hint("There is no call to ask about yet.")
            return

        def answer(chosen: Chosen | None) -> None:
            if chosen is not None and chosen.write:
                self._propose_policy(view, chosen.policy)
            elif chosen is not None:
                self.console_app.judge_with(view, chosen.policy)

        await self.console_app.open_screen(WhatIf(view, view.recording.guard.traits), answer)

    def _propose_policy(self, view: View, policy: str) -> None:
        """Show what would change in the settings of the session's project."""
        app = self.console_app
        if app.desk.live and app.decider is None:
            self.console_app.hint(app.why_not)
            return

        def answer(edit: Edit | None) -> None:
            if edit is not None:
                self._write_rule(edit, "Written", "{undo_rule} takes it back.")

        try:
            edit = rules.propose_policy(self._folder(view), *parse(policy))
        except (RuleError, PolicyError) as error:
            app.say(str(error), True)
            return
        app.push_screen(ChangeScreen(f"Policy  {policy}", edit), answer)

    def _folder(self, view: View) -> str:
        """Where the session ran, if that folder is here; else where the console was started."""
        start = view.recording.start
        cwd = start.text("cwd") if start is not None else ""
        return cwd if cwd and Path(cwd).is_dir() else str(Path.cwd())

    # -- breakpoints -------------------------------------------------------------------------------

    async def action_hold(self) -> None:
        """Set a breakpoint: in a live session it holds calls, in a recording playing stops there."""
        view, app = self.view, self.console_app
        if view is None:
            return
        if app.desk.live and app.decider is None:
            self.console_app.hint(app.why_not)
            return

        def answer(given: Answer | None) -> None:
            if given is None or not given.note:
                return
            try:
                Query(given.note)
            except QueryError as error:
                self.notify(str(error), severity="error", markup=False)
                return
            view.held = given.note
            if app.desk.live:
                self._do(lambda decider: decider.hold(view.recording.session, given.note))
            else:
                self.console_app.hint(
                    self.console_app.names.say("Playing stops there. {holds} takes it away.")
                )

        live = "Calls that meet this wait for you before they run, whatever the guard says."
        replay = "Playing stops at calls that meet this."
        dialog = Dialog(
            "Break",
            "at calls like",
            note="tool:bash /rm -rf/",
            notes=(view.held,) if view.held else (),
            does=live if app.desk.live else replay,
        )
        await app.open_screen(dialog, answer)

    def action_holds(self) -> None:
        """All breakpoints of the session off, or the last one on again."""
        view, app = self.view, self.console_app
        if view is None:
            return
        if not app.desk.live:
            view.held, view.dropped = view.dropped, view.held
            self.console_app.hint(f"Stops at {view.held}" if view.held else "No breakpoint.")
            return
        if app.decider is None:
            self.console_app.hint(app.why_not)
            return
        session = view.recording.session
        standing = list(view.recording.guard.controls.breakpoints.values())
        if standing:
            view.held = standing[-1].condition
            names = [b.breakpoint for b in standing]
            self._do(lambda decider: decider.release(session, names))
        elif view.held:
            condition = view.held
            self._do(lambda decider: decider.hold(session, condition))
        else:
            self.console_app.hint(
                self.console_app.names.say("No breakpoint was set here. {hold} sets one.")
            )

    # -- export ------------------------------------------------------------------------------------

    async def action_export(self) -> None:
        """Write this session to a file."""
        view = self.view
        if view is None or not len(view.recording):
            self.console_app.hint("There is no call to export yet.")
            return

        def answer(given: Answer | None) -> None:
            if given is not None:
                folder = Path(given.note).expanduser() if given.note else Path.cwd()
                self._export(view, KINDS[given.picked[0]], folder)

        dialog = Dialog(
            "Export",
            self.console_app.title_of(view.recording.session),
            choices=(Choice("As", ("HTML report", "Markdown", "JSON Lines", "pytest test")),),
            note=f"folder ({Path.cwd()})",
            does="A test fails while the guard does not catch this loop. Nothing is replaced.",
        )
        await self.console_app.open_screen(dialog, answer)

    @work(thread=True, exit_on_error=False, group="export")
    def _export(self, view: View, kind: str, folder: Path) -> None:
        try:
            said, bad = f"written: {export(view.recording, kind, folder)[0]}", False
        except ExportError as error:
            said, bad = str(error), True
        self.app.call_from_thread(self.console_app.say, said, bad)

    # -- rules -------------------------------------------------------------------------------------

    async def action_rule(self) -> None:
        """Write a rule about the tool of the selected call."""
        view, app = self.view, self.console_app
        if view is None or view.cursor < 0:
            self.console_app.hint("Select a call first.")
            return
        if app.desk.live and app.decider is None:
            self.console_app.hint(app.why_not)
            return
        row = view.recording.row(view.cursor)

        def answer(edit: Edit | None) -> None:
            if edit is not None:
                self._write_rule(edit, "Written", "{undo_rule} takes it back.")

        args = view.recording.args(view.cursor)
        policies = view.recording.guard.policy.name.split("+")
        await app.open_screen(RuleScreen(row.tool, args, self._folder(view), policies), answer)

    def action_undo_rule(self) -> None:
        """Take the last rule back."""
        if self._undo is None:
            self.console_app.hint(
                self.console_app.names.say("No rule was written here. {rule} writes one.")
            )
        else:
            self._write_rule(self._undo, "Taken back", "{undo_rule} writes it again.")

    def _write_rule(self, edit: Edit, done: str, undo: str) -> None:
        """Write the file, and put it in force where sessions run under it: a person decided so."""
        undo = self.console_app.names.say(undo)
        try:
            self._undo = rules.write(edit)
        except RuleError as error:
            self.console_app.say(str(error), True)
            return
        if self.console_app.decider is None:
            self.console_app.say(f"{done}. It holds for what starts from now on; {undo}", False)
        else:
            self._do(lambda decider: f"{done}. {decider.configured(str(edit.path))}; {undo}")

    # -- notes and labels --------------------------------------------------------------------------

    async def action_note(self) -> None:
        """A note on the selected call."""
        on = self._on()
        if on is None:
            return
        session, call = on

        def answer(given: Answer | None) -> None:
            if given is not None and given.note:
                self._do(lambda decider: decider.remark(session, "note", call, given.note))

        dialog = Dialog("Note", "on this call", note="what you want to find again")
        await self.console_app.open_screen(dialog, answer)

    async def action_label(self) -> None:
        """A label: was the agent stuck here?"""
        on = self._on()
        if on is None:
            return
        session, call = on

        def answer(given: Answer | None) -> None:
            if given is not None:
                text = LABELS[given.picked[0]]
                self._do(lambda decider: decider.remark(session, "label", call, text))

        dialog = Dialog("Label", "this call", choices=(Choice("It was", LABELS),))
        await self.console_app.open_screen(dialog, answer)

    def _on(self) -> tuple[str, str] | None:
        """Session and call that are selected, where something can be written."""
        view, app = self.view, self.console_app
        if app.decider is None:
            self.console_app.hint(app.why_not)
            return None
        if view is None or view.cursor < 0:
            self.console_app.hint("Select a call first.")
            return None
        start = view.recording.events_of(view.cursor)[0]
        return view.recording.session, start.text("call") if start is not None else ""
