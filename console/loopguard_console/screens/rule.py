"""Write a rule from a call: choose it, see the change of the file, write it, take it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from loopguard_console.render import safe
from loopguard_console.rules import TRAITS, Edit, Rule, RuleError, field_rules, propose
from loopguard_console.screens.change import painted
from loopguard_console.thresholds import Thresholds, rule_of, thresholds_for
from loopguard_console.widgets.numbers import Numbers

_CHOOSE = "Enter shows what would change in the file · Esc leaves it"
_FILL = "↑ ↓ line · Enter shows what would change in the file · Esc goes back"


class RuleScreen(ModalScreen[Edit | None]):
    """The answer is the change that the person confirmed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back"),
        Binding("enter", "write", "write it"),
    ]

    def __init__(self, tool: str, args: object, cwd: str, policies: Sequence[str] = ()) -> None:
        super().__init__()
        self._tool = tool
        self._cwd = cwd
        self._rules: list[Rule | Thresholds] = [
            *TRAITS,
            *thresholds_for(cwd, tool, policies),
            *field_rules(args),
        ]
        self._edit: Edit | None = None
        self._filling: Thresholds | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content.assemble(("Rule", "bold"), f"  for {safe(self._tool, 50)}"))
            yield OptionList(*[Option(Content(safe(rule.words, 90))) for rule in self._rules])
            yield Numbers()
            with VerticalScroll(id="diff"):
                yield Static(id="change", markup=False)
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        self._choose()

    def _show(self, says: str) -> None:
        edit, filling = self._edit, self._filling
        self.query_one(OptionList).display = edit is None and filling is None
        self.query_one(Numbers).display = edit is None and filling is not None
        self.query_one("#diff").display = edit is not None
        if edit is not None:
            self.query_one("#change", Static).update(painted(edit))
        self.query_one("#says", Static).update(safe(says))

    def _choose(self) -> None:
        self._filling = None
        self._show(_CHOOSE)
        self.set_focus(self.query_one(OptionList))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A rule was chosen: show the change; for thresholds ask for the numbers first."""
        rule = self._rules[event.option_index]
        if isinstance(rule, Rule):
            self._propose(rule)
            return
        self._filling = rule
        self.query_one(Numbers).ask(rule.policy, rule.values)
        self._show(_FILL)
        self.query_one(Numbers).line(0)

    def on_numbers_filled(self, event: Numbers.Filled) -> None:
        """The numbers were typed: show the change."""
        if self._filling is None:
            return
        try:
            rule = rule_of(self._filling, event.typed)
        except RuleError as error:
            self._show(str(error))
        else:
            self._propose(rule)

    def _propose(self, rule: Rule) -> None:
        try:
            self._edit = propose(self._cwd, self._tool, rule)
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
        """From the change to the numbers or the rules, from there away."""
        if self._edit is not None and self._filling is not None:
            self._edit = None
            self._show(_FILL)
            self.query_one(Numbers).line(0)
        elif self._edit is not None or self._filling is not None:
            self._edit = None
            self._choose()
        else:
            self.dismiss(None)
