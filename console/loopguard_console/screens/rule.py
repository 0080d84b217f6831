"""Write a rule from a call: choose it, see the change of the file, write it, take it back."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from loopguard_console.render import safe
from loopguard_console.rules import Edit, Rule, RuleError, propose, rules_for


class RuleScreen(ModalScreen[Edit | None]):
    """The answer is the change that the person confirmed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back"),
        Binding("enter", "write", "write it"),
    ]

    def __init__(self, tool: str, args: object, cwd: str) -> None:
        super().__init__()
        self._tool = tool
        self._cwd = cwd
        self._rules: list[Rule] = rules_for(tool, args)
        self._edit: Edit | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content.assemble(("Rule", "bold"), f"  for {safe(self._tool, 50)}"))
            yield OptionList(*[Option(Content(safe(rule.words, 90))) for rule in self._rules])
            with VerticalScroll(id="diff"):
                yield Static(id="change", markup=False)
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(OptionList))
        self._show("Enter shows what would change in the file · Esc leaves it")

    def _show(self, says: str) -> None:
        edit = self._edit
        self.query_one(OptionList).display = edit is None
        self.query_one("#diff").display = edit is not None
        if edit is not None:
            styles = {"+": "$text-success", "-": "$text-error", "@": "$dim"}
            lines = [
                Content.assemble((safe(line), styles.get(line[:1], "")))
                for line in edit.diff().split("\n")
            ]
            self.query_one("#change", Static).update(Content("\n").join(lines))
        self.query_one("#says", Static).update(safe(says))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A rule was chosen: show the change."""
        try:
            self._edit = propose(self._cwd, self._tool, self._rules[event.option_index])
        except RuleError as error:
            self._show(str(error))
            return
        self.set_focus(None)
        self._show(f"Enter writes {self._edit.path} · Esc goes back")

    def action_write(self) -> None:
        """Confirm the change that is shown."""
        if self._edit is not None:
            self.dismiss(self._edit)

    def action_back(self) -> None:
        """From the change to the rules, from there away."""
        if self._edit is None:
            self.dismiss(None)
            return
        self._edit = None
        self.set_focus(self.query_one(OptionList))
        self._show("Enter shows what would change in the file · Esc leaves it")
