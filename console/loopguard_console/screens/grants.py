"""The grants in force, with what is left of each; one can be taken back."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from loopguard_console.keys.keynames import USUAL, KeyNames
from loopguard_console.render import counted, safe, span
from loopguard_core.controls import Grant


class Grants(ModalScreen[str | None]):
    """The answer is the grant to revoke, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", "close"),
        Binding("d,delete", "revoke", "revoke"),
    ]

    def __init__(self, grants: list[Grant], now: float, names: KeyNames = USUAL) -> None:
        super().__init__()
        self._grants = grants
        self._now = now
        self._names = names

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Grants in force", markup=False, classes="heading")
            if self._grants:
                yield OptionList(*[Option(self._words(g), id=g.grant) for g in self._grants])
                yield Static(
                    "d revokes the one selected · Esc leaves them", id="says", markup=False
                )
            else:
                yield Static(
                    self._names.say("None. {override} on a call gives one. · Esc closes"),
                    id="says",
                    markup=False,
                )

    def _words(self, grant: Grant) -> Content:
        key = grant.key if grant.scope == "tool" else grant.key.rpartition(":")[0]
        what = "everything" if grant.scope == "session" else safe(key, 24)
        if grant.scope == "signature":
            what += " with the same arguments"
        left = (
            "any number of calls" if grant.left is None else f"{counted(grant.left, 'call')} left"
        )
        time = f", {span(grant.expires - self._now)} left" if grant.expires is not None else ""
        until = {"turn": ", until the turn ends", "result": ", until the result changes"}
        note = f"  {safe(grant.note, 40)}" if grant.note else ""
        return Content.assemble(
            (f"{safe(grant.grant, 10):<10} ", "$dim"),
            (what, "bold"),
            f"  {left}{time}{until.get(grant.until, '')}",
            (note, "$dim"),
        )

    def action_revoke(self) -> None:
        """Take the selected one back."""
        options = self.query(OptionList)
        if options and options.first().highlighted is not None:
            self.dismiss(self._grants[options.first().highlighted or 0].grant)

    def action_cancel(self) -> None:
        """Leave them."""
        self.dismiss(None)
