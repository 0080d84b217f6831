"""A few named numbers to be changed, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import Input, Label

from loopguard_console.render import safe
from loopguard_console.thresholds import shown


class Numbers(VerticalScroll):
    """Asks for numbers by name. Posts ``Filled`` with what was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "line(-1)", "line", show=False),
        Binding("down", "line(1)", "line", show=False),
    ]
    can_focus = False

    class Filled(Message):
        """Enter was pressed. ``typed``: the text beside each name."""

        def __init__(self, typed: dict[str, str]) -> None:
            super().__init__()
            self.typed = typed

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []

    def ask(self, what: str, values: Mapping[str, int | list[int]]) -> None:
        """Show *values* of *what* with their names."""
        self.remove_children()
        self._names = list(values)
        width = max(len(name) for name in values)
        self.mount(Label(safe(f"{what}: the counts at which each begins"), markup=False))
        self.mount_all(
            Horizontal(
                Label(safe(name).ljust(width), markup=False),
                Input(shown(value), compact=True, select_on_focus=False, max_length=60),
            )
            for name, value in values.items()
        )

    def line(self, number: int) -> None:
        """Put the cursor into a line."""
        self.call_after_refresh(lambda: self._inputs()[number].focus())

    def _inputs(self) -> list[Input]:
        return list(self.query(Input))

    def action_line(self, by: int) -> None:
        """The line above or below."""
        inputs = self._inputs()
        at = next((n for n, box in enumerate(inputs) if box.has_focus), 0)
        inputs[max(0, min(len(inputs) - 1, at + by))].focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in any line."""
        event.stop()
        typed = [box.value for box in self._inputs()]
        self.post_message(self.Filled(dict(zip(self._names, typed, strict=True))))
