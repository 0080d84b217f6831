"""Small questions before something far-reaching: choices in lines, one note, Enter to do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from loopguard_console.render import safe


@dataclass(frozen=True)
class Choice:
    """One line of a dialog: a name and its options; ``at`` is the one chosen first."""

    name: str
    options: tuple[str, ...]
    at: int = 0


@dataclass(frozen=True)
class Answer:
    """What was chosen: the place in each line's options, and the note."""

    picked: tuple[int, ...]
    note: str


class Dialog(ModalScreen[Answer | None]):
    """Asks *choices* and a note about *what*. ``None`` is no.

    ``broad`` names the options (line, option) that let a lot happen: for these Enter is pressed twice.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        Binding("enter", "confirm", "do it"),
        Binding("up", "line(-1)", "line", priority=True),
        Binding("down", "line(1)", "line", priority=True),
        Binding("left", "option(-1)", "option"),
        Binding("right", "option(1)", "option"),
    ]

    def __init__(
        self,
        title: str,
        what: str,
        *,
        choices: tuple[Choice, ...] = (),
        note: str = "",
        notes: tuple[str, ...] = (),
        does: str = "",
        broad: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        super().__init__()
        self._title = title
        self._what = what
        self._choices = choices
        self._picked = [choice.at for choice in choices]
        self._note = note
        self._notes = notes
        self._used = -1
        self._does = does
        self._broad = broad
        self._line = 0
        self._sure = False

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content.assemble((self._title, "bold"), f"  {safe(self._what, 60)}"))
            yield Static(id="choices", markup=False)
            if self._note:
                yield Input(
                    placeholder=self._note, id="note", max_length=2000, select_on_focus=False
                )
            yield Static(id="says", markup=False)

    def on_mount(self) -> None:
        if self._note and not self._choices:
            self._line = len(self._choices)
        self.query_one("#choices").display = bool(self._choices)
        self._draw()

    def _lines(self) -> int:
        return len(self._choices) + bool(self._note)

    def _draw(self) -> None:
        parts = []
        for number, choice in enumerate(self._choices):
            here = number == self._line
            line = [(f"{'›' if here else ' '} {choice.name:<9}", "bold" if here else "$dim")]
            for place, option in enumerate(choice.options):
                chosen = place == self._picked[number]
                style = ("bold reverse" if here else "bold underline") if chosen else "$dim"
                line.append((f"‹{option}›" if chosen else f" {option} ", style))
            parts.append(Content.assemble(*line))
        self.query_one("#choices", Static).update(Content("\n").join(parts))
        keys = "Enter does it · Esc leaves it"
        if self._choices:
            keys = ("↑ ↓ line · " if self._lines() > 1 else "") + "← → choose · " + keys
        elif self._notes:
            keys = "↑ ↓ notes used before · " + keys
        words: list[tuple[str, str]] = [
            (f"{self._does}\n" if self._does else "", ""),
            (keys, "$dim"),
        ]
        if self._sure:
            words = [
                ("This lets a lot happen. Enter once more if you are sure.", "bold $text-error")
            ]
        self.query_one("#says", Static).update(Content.assemble(*words))
        if self._note:
            note = self.query_one("#note", Input)
            if self._line >= len(self._choices):
                self.set_focus(note)
            elif note.has_focus:
                self.set_focus(None)

    def on_key(self, event: events.Key) -> None:
        """Words typed on a line of choices are meant for the note, a space among them too."""
        if event.is_printable and event.character:
            self._into_note(event.character, event)

    def on_paste(self, event: events.Paste) -> None:
        """So are words that are pasted there."""
        self._into_note(" ".join(event.text.split()), event)

    def _into_note(self, text: str, event: events.Event) -> None:
        """What reaches the dialog itself was typed before the note had the focus."""
        if self._note:
            event.stop()
            event.prevent_default()
            self._line = len(self._choices)
            self._sure = False
            self._draw()
            self.query_one("#note", Input).insert_text_at_cursor(text)

    def on_input_submitted(self) -> None:
        """Enter in the note. The note's own key, so that everything typed before is in it."""
        self.action_confirm()

    def action_line(self, by: int) -> None:
        """Up or down; in a lone note, through the notes used before."""
        if not self._choices and self._notes:
            self._used = (self._used + by) % len(self._notes)
            self.query_one("#note", Input).value = self._notes[self._used]
            return
        self._sure = False
        self._line = max(0, min(self._lines() - 1, self._line + by))
        self._draw()

    def action_option(self, by: int) -> None:
        """Another option of the line."""
        if self._line < len(self._choices):
            options = self._choices[self._line].options
            self._picked[self._line] = (self._picked[self._line] + by) % len(options)
            self._sure = False
            self._draw()

    def action_confirm(self) -> None:
        """Do it; what is broad asks once more."""
        if self._broad & set(enumerate(self._picked)) and not self._sure:
            self._sure = True
            self._draw()
            return
        note = self.query_one("#note", Input).value if self._note else ""
        self.dismiss(Answer(tuple(self._picked), note.strip()))

    def action_cancel(self) -> None:
        """Leave it."""
        self.dismiss(None)
